//! The driver beside each core: it hands tasks to the core and takes commands from it.

use crate::protocol::{COMMAND_WORDS, Command, CommandId, CommandTarget, Feedback, NO_CONTEXT, PacketId, Stage, Task};
use kernel::Cycle;

/// Bytes of the packet that a driver shows its core (`hpu_handler_task_t`).
#[derive(Clone, Debug)]
pub struct HpuTask {
    /// The task.
    pub task: Task,
    /// Address of the packet's copy in L1.
    pub pkt_ptr: u32,
}

/// The end of a task, which waits in its driver.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// What goes out.
    pub feedback: Feedback,
    /// Which handler it was.
    pub stage: Stage,
    /// Address of the packet's copy in L1, which becomes free.
    pub pkt_ptr: u32,
}

/// What a driver register access comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Granted in this cycle or the given later one; the value read.
    Granted(Cycle, u32),
    /// The core waits, for a task, a command or the end of one.
    Blocked,
}

/// State of the task front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The core has not come yet.
    Init,
    /// Ready for a task from this cycle on.
    Idle(Cycle),
    /// The core's requests are granted from this cycle on.
    Running(Cycle),
    /// The task has ended, but the feedback of the one before has not left.
    Held,
}

// Register offsets. Source: PsPIN RTL a49fec8, `sw/runtime/include/hwsched.h`.
const DOORBELL: u32 = 0x50;
const ERROR: u32 = 0x54;
const CMD_ISSUE: u32 = 0x80;
const CMD_WAIT: u32 = 0x84;
const CMD_TEST: u32 = 0x88;
const CMD_INFO: u32 = 0x8c;
const CMD_WORDS: u32 = 0x90;

/// One HPU driver.
///
/// Timing:  a task accepted in cycle c runs from c + 1. A doorbell in cycle d makes the driver idle from d + 1; its
///          feedback is valid from d + 1, once all transfers and commands of the core are done.
/// Source:  PsPIN RTL a49fec8, `hw/src/pkt_scheduler/hpu_driver.sv`.
/// Differs: the handle that a command issue returns after waiting is that of the command, and `CMD_TEST` answers for
///          the id written to it (the RTL returns stale values in both cases).
pub struct Hpu {
    cluster: u8,
    core: u8,
    n_clusters: u32,
    l1_base: u32,
    l1_stride: u32,
    scratchpad_offset: u32,
    state: State,
    task: Option<HpuTask>,
    /// The 1-deep feedback FIFO, with the cycle from which it is valid.
    done: Option<(Cycle, Done)>,
    /// A feedback that found the FIFO taken.
    held: Option<Done>,
    /// Cluster DMA transfers of the core under way.
    pub transfers: u32,
    /// Commands under way, a bit for each local id.
    commands: u8,
    max_commands: u32,
    words: [u32; COMMAND_WORDS],
    info: u32,
    last_read: u32,
    tested: u32,
    /// Packets whose handlers issued the commands under way.
    command_packets: [(PacketId, CommandTarget); 4],
}

impl Hpu {
    pub fn new(cluster: u32, core: u32, params: &crate::PspinParams) -> Self {
        Hpu {
            cluster: cluster as u8,
            core: core as u8,
            n_clusters: params.n_clusters,
            l1_base: crate::map::L1_BASE,
            l1_stride: crate::map::L1_STRIDE,
            scratchpad_offset: params.cluster.scratchpad_offset,
            state: State::Init,
            task: None,
            done: None,
            held: None,
            transfers: 0,
            commands: 0,
            max_commands: params.cluster.core_commands,
            words: [0; COMMAND_WORDS],
            info: 0,
            last_read: 0,
            tested: 0,
            command_packets: [(PacketId(u64::MAX), CommandTarget::HostDma); 4],
        }
    }

    /// Whether the core has reached its driver.
    pub fn is_active(&self) -> bool {
        self.state != State::Init
    }

    /// Whether the driver takes a task in this cycle.
    pub fn is_ready(&self, now: Cycle) -> bool {
        matches!(self.state, State::Idle(from) if from <= now)
    }

    /// Whether it waits for a task, now or from a coming cycle on.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle(_))
    }

    /// The task it holds.
    pub fn task(&self) -> Option<&HpuTask> {
        self.task.as_ref()
    }

    /// Takes a task. Without a handler the task ends at once and the core sees nothing of it.
    pub fn accept(&mut self, now: Cycle, task: HpuTask) {
        let absent = task.task.handler.addr == 0;
        self.task = Some(task);
        self.state = State::Running(now + 1);
        if absent {
            self.end_task(now + 1);
        }
    }

    /// The first request of the core wakes the driver.
    pub fn first_request(&mut self, now: Cycle) {
        if self.state == State::Init {
            self.state = State::Idle(now + 1);
        }
    }

    /// An access of the core to register `offset`; a command it issues is put into `issued`.
    pub fn access(&mut self, now: Cycle, offset: u32, write: Option<u32>, issued: &mut Option<Command>) -> Answer {
        match offset {
            0..0x80 => self.access_task(now, offset, write),
            0x80..0x100 => self.access_command(now, offset, write, issued),
            _ => Answer::Blocked, // Never granted, as in the RTL: the core hangs.
        }
    }

    fn access_task(&mut self, now: Cycle, offset: u32, write: Option<u32>) -> Answer {
        let State::Running(from) = self.state else { return Answer::Blocked };
        let granted = now.max(from);
        if offset == DOORBELL {
            self.end_task(granted);
            self.last_read = 0;
        } else if write.is_none() {
            self.last_read = self.task_register(offset).unwrap_or(self.last_read);
        }
        Answer::Granted(granted, self.last_read)
    }

    /// A register of the task front end; `None` where nothing is, and the last value read shows again.
    fn task_register(&self, offset: u32) -> Option<u32> {
        let HpuTask { task, pkt_ptr } = self.task.as_ref()?;
        let context = &task.context;
        let scratchpad = |i: u32| context.scratchpads.get(i as usize).copied().unwrap_or_default();
        Some(match offset {
            0x00 => task.handler.addr,
            0x04 => task.handler.size,
            0x08 => context.handler_mem.addr,
            0x0c => context.handler_mem.size,
            0x10 => *pkt_ptr,
            0x14 => task.pkt_size,
            0x18 | 0x1c | 0x20 | 0x24 => {
                let i = (offset - 0x18) / 4;
                self.l1_base + i * self.l1_stride + self.scratchpad_offset + scratchpad(i).addr
            }
            0x28 | 0x2c | 0x30 | 0x34 => scratchpad((offset - 0x28) / 4).size,
            0x38 => (context.host_mem_addr >> 32) as u32,
            0x3c => context.host_mem_addr as u32,
            0x40 => context.host_mem_size,
            0x44 => task.pkt_addr,
            0x48 => u32::from(task.msgid) % self.n_clusters,
            0x4c => u32::from(task.msgid) & 0xff,
            ERROR => 0,
            _ => return None,
        })
    }

    fn end_task(&mut self, now: Cycle) {
        let HpuTask { task, pkt_ptr } = self.task.take().expect("a task that runs");
        let feedback = Feedback {
            packet: task.packet,
            msgid: task.msgid,
            pkt_addr: task.pkt_addr,
            pkt_size: task.pkt_size,
            trigger_feedback: task.trigger_feedback,
        };
        let done = Done { feedback, stage: task.stage, pkt_ptr };
        if self.done.is_none() {
            self.done = Some((now + 1, done));
            self.state = State::Idle(now + 1);
        } else {
            self.held = Some(done);
            self.state = State::Held;
        }
    }

    /// Whether a feedback may leave in cycle `at`.
    pub fn may_leave(&self, at: Cycle) -> bool {
        self.transfers == 0 && self.commands == 0 && self.done.is_some_and(|(valid, _)| valid <= at)
    }

    /// Whether a feedback waits, for its time or for work of its core.
    pub fn has_done(&self) -> bool {
        self.done.is_some()
    }

    /// The feedback leaves in cycle `at`; one that was held takes its place.
    pub fn leave(&mut self, at: Cycle) -> Done {
        let (_, done) = self.done.take().expect("a feedback that may leave");
        if let Some(held) = self.held.take() {
            self.done = Some((at + 1, held));
            self.state = State::Idle(at + 1);
        }
        done
    }

    fn access_command(&mut self, now: Cycle, offset: u32, write: Option<u32>, issued: &mut Option<Command>) -> Answer {
        let granted = Answer::Granted(now, self.last_read);
        match (offset, write) {
            (CMD_ISSUE, None) => {
                // The next handler's commands wait until the feedback of the one before has left.
                let free = (0..self.max_commands).find(|id| self.commands >> id & 1 == 0);
                match free {
                    Some(id) if self.done.is_none() => {
                        *issued = Some(self.issue(id as u8));
                        self.last_read = id;
                        Answer::Granted(now, id)
                    }
                    _ => Answer::Blocked,
                }
            }
            (CMD_WAIT, Some(id)) => match self.commands >> (id & 3) & 1 {
                0 => granted,
                _ => Answer::Blocked,
            },
            (CMD_TEST, Some(id)) => {
                self.tested = id & 3;
                granted
            }
            (CMD_TEST, None) => {
                self.last_read = u32::from(self.commands >> self.tested & 1 == 0);
                Answer::Granted(now, self.last_read)
            }
            (CMD_INFO, Some(info)) => {
                self.info = info;
                granted
            }
            (CMD_WORDS.., Some(word)) => {
                if let Some(slot) = self.words.get_mut(((offset - CMD_WORDS) / 4) as usize) {
                    *slot = word;
                }
                granted
            }
            _ => granted,
        }
    }

    fn issue(&mut self, local: u8) -> Command {
        let target = match self.info >> 1 & 3 {
            0 => CommandTarget::HostDma,
            1 => CommandTarget::NicSend,
            _ => CommandTarget::HostDirect,
        };
        let nobody = (PacketId(u64::MAX), NO_CONTEXT);
        let (packet, context) = self.task.as_ref().map_or(nobody, |held| (held.task.packet, held.task.context.id));
        self.commands |= 1 << local;
        self.command_packets[usize::from(local)] = (packet, target);
        let id = CommandId { cluster: self.cluster, core: self.core, local };
        Command { packet, context, id, target, generate_event: self.info & 1 != 0, words: self.words }
    }

    /// A command is done; which packet's handler issued it, and for which unit.
    pub fn command_done(&mut self, local: u8) -> (PacketId, CommandTarget) {
        self.commands &= !(1 << local);
        self.command_packets[usize::from(local)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Context, Region};
    use std::rc::Rc;

    fn params() -> crate::PspinParams {
        toml::from_str(include_str!("../../../../presets/pspin.toml")).unwrap()
    }

    fn task(handler: u32) -> HpuTask {
        let context = Context { scratchpads: vec![Region { addr: 0x40, size: 0x80 }; 4], ..Context::default() };
        let task = Task {
            packet: PacketId(7),
            stage: Stage::Payload,
            msgid: 0x106,
            handler: Region { addr: handler, size: 4096 },
            context: Rc::new(context),
            pkt_addr: 0x1c40_0000,
            pkt_size: 64,
            trigger_feedback: true,
        };
        HpuTask { task, pkt_ptr: 0x1000_4400 }
    }

    #[test]
    fn a_task_is_seen_from_the_next_cycle_and_ends_at_the_doorbell() {
        let mut hpu = Hpu::new(0, 0, &params());
        let mut none = None;
        assert_eq!(hpu.access(3, 0, None, &mut none), Answer::Blocked);
        hpu.first_request(3);
        assert!(!hpu.is_ready(3) && hpu.is_ready(4));
        hpu.accept(10, task(0x1d00_0100));
        assert_eq!(hpu.access(10, 0, None, &mut none), Answer::Granted(11, 0x1d00_0100));
        assert_eq!(hpu.access(12, 0x1c, None, &mut none), Answer::Granted(12, 0x1040_0000 + 0x14400 + 0x40));
        assert_eq!(hpu.access(13, 0x48, None, &mut none), Answer::Granted(13, 2));
        assert_eq!(hpu.access(14, 0x4c, None, &mut none), Answer::Granted(14, 6));
        assert_eq!(hpu.access(20, DOORBELL, None, &mut none), Answer::Granted(20, 0));
        assert!(!hpu.may_leave(20) && hpu.may_leave(21));
        assert!(hpu.is_ready(21) && !hpu.is_ready(20));
    }

    #[test]
    fn a_task_without_a_handler_ends_by_itself() {
        let mut hpu = Hpu::new(0, 0, &params());
        hpu.first_request(0);
        hpu.accept(10, task(0));
        assert!(hpu.may_leave(12) && !hpu.may_leave(11));
    }

    #[test]
    fn commands_hold_the_feedback_back_and_the_feedback_holds_commands_back() {
        let mut hpu = Hpu::new(1, 3, &params());
        let mut issued = None;
        hpu.first_request(0);
        hpu.accept(5, task(0x1d00_0100));
        hpu.access(8, CMD_INFO, Some(2), &mut issued);
        hpu.access(9, CMD_WORDS + 8, Some(0x1000_4400), &mut issued);
        assert_eq!(hpu.access(10, CMD_ISSUE, None, &mut issued), Answer::Granted(10, 0));
        let command = issued.take().unwrap();
        assert_eq!((command.target, command.words[2], command.id.core), (CommandTarget::NicSend, 0x1000_4400, 3));
        assert_eq!(hpu.access(11, CMD_WAIT, Some(0), &mut issued), Answer::Blocked);
        hpu.access(12, DOORBELL, Some(0), &mut issued);
        assert!(!hpu.may_leave(30));
        hpu.accept(13, task(0x1d00_0100));
        assert_eq!(hpu.access(15, CMD_ISSUE, None, &mut issued), Answer::Blocked);
        assert_eq!(hpu.command_done(0), (PacketId(7), CommandTarget::NicSend));
        assert!(hpu.may_leave(30));
        hpu.leave(30);
        assert_eq!(hpu.access(31, CMD_ISSUE, None, &mut issued), Answer::Granted(31, 0));
    }

    #[test]
    fn a_second_doorbell_waits_for_the_first_feedback() {
        let mut hpu = Hpu::new(0, 0, &params());
        let mut issued = None;
        hpu.first_request(0);
        hpu.transfers = 1;
        for start in [10, 20] {
            hpu.accept(start, task(0x1d00_0100));
            hpu.access(start + 5, DOORBELL, None, &mut issued);
        }
        assert!(!hpu.is_ready(100));
        hpu.transfers = 0;
        hpu.leave(100);
        assert!(hpu.is_ready(101) && hpu.may_leave(101));
    }
}
