//! The driver of an HPU (`hpu_driver`): it gives tasks to its core and takes commands from it.

mod commands;

use crate::map;
use crate::params::Regions;
use crate::protocol::{
    Command, CommandId, CommandTarget, ErrorRecord, Feedback, NO_CONTEXT, PacketId, Sender, Stage, Task,
};
use commands::Commands;
use kernel::Cycle;

/// A task as a driver shows it to its core (`hpu_handler_task_t`).
#[derive(Clone, Debug)]
pub struct HpuTask {
    /// The task.
    pub task: Task,
    /// Address of the packet's copy in L1.
    pub pkt_ptr: u32,
}

/// The end of a task, pending in its driver.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The feedback to send.
    pub feedback: Feedback,
    /// The stage of its handler.
    pub stage: Stage,
    /// Address of the packet's copy in L1, which becomes free.
    pub pkt_ptr: u32,
}

/// The result of an access to a driver register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The access is granted in this cycle or the given later one, with the value read.
    Granted(Cycle, u32),
    /// The core waits for a task, for a command, or for the end of a command.
    Blocked,
    /// The task has another context than the previous ones. The runtime must clear the core first.
    OtherContext,
}

/// State of the task front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The core has not accessed its driver yet.
    Init,
    /// Ready for a task from this cycle on.
    Idle(Cycle),
    /// The core's requests are granted from this cycle on.
    Running(Cycle),
    /// The task has ended, but the feedback of the previous task has not left.
    Held,
}

/// A trap of the core, as the driver reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trapped {
    /// Address that was accessed, or the illegal instruction word.
    pub value: u32,
    /// Address of the instruction.
    pub pc: u32,
}

// Register offsets. Source: PsPIN RTL a49fec8, `sw/runtime/include/hwsched.h`.
/// Address of the handler; reading it takes the task.
pub const HANDLER: u32 = 0x00;
const DOORBELL: u32 = 0x50;
/// The cause of a handler's exception.
pub const ERROR: u32 = 0x54;
pub use commands::ISSUE;

/// One HPU driver.
///
/// Timing:  a task accepted in cycle c runs from c + 1. A doorbell in cycle d makes the driver idle from d + 1. The
///          feedback is valid from d + 1, once all transfers and commands of the core are done.
/// Errors:  the driver sends the cause that the runtime writes to `ERROR` to the context's error record in host memory,
///          with a command of its own. The feedback waits for this command. A trap between a doorbell and the next read
///          of the handler's address belongs to no task. Until the runtime has rung the doorbell for such a trap too,
///          the driver accepts no task and ends none.
/// Differs: with exact regions, a task may have another context than the previous one. The read of its handler's
///          address then waits until the transfers and commands of the previous context are done. The read ends in an
///          exception ([`crate::protocol::CONTEXT_CAUSE`]), which is not an error. The runtime rings the doorbell for
///          it too.
/// Source:  PsPIN RTL a49fec8, `hw/src/pkt_scheduler/hpu_driver.sv`; errors: Di Girolamo et al., ISCA 2021, III-B.
pub struct HpuDriver {
    n_clusters: u32,
    scratchpad_offset: u32,
    /// Position among all HPUs.
    position: u32,
    state: State,
    task: Option<HpuTask>,
    /// The core has read the address of its task's handler, so its actions belong to the handler.
    is_taken: bool,
    /// The core trapped without a task, and has not rung the doorbell since.
    is_stray: bool,
    /// The context whose data are left in the core, so that the core may run its handlers. `None` before the first
    /// task, or if contexts are not separated.
    context: Option<u32>,
    /// The runtime clears the core, and has not rung the doorbell since.
    is_cleared: bool,
    separates_contexts: bool,
    /// The previous task. A stray trap is attributed to it.
    before: Option<Task>,
    /// The feedback FIFO of depth 1, with the first cycle in which its entry is valid.
    done: Option<(Cycle, Done)>,
    /// A feedback that found the FIFO full.
    held: Option<Done>,
    /// Outstanding cluster DMA transfers of the core.
    pub transfers: u32,
    transfer_count_wraps: bool,
    commands: Commands,
    last_read: u32,
    reports_errors: bool,
    errors: u32,
    /// The cycle since which the core waits for a task. `first_asleep` is the first such cycle, and `slept` counts earlier waits.
    asleep: Option<Cycle>,
    first_asleep: Option<Cycle>,
    slept: u64,
}

impl HpuDriver {
    pub fn new(cluster: u32, core: u32, params: &crate::PspinParams) -> Self {
        HpuDriver {
            n_clusters: params.n_clusters,
            scratchpad_offset: params.cluster.scratchpad_offset,
            position: cluster * params.cluster.n_cores + core,
            state: State::Init,
            task: None,
            is_taken: false,
            is_stray: false,
            context: None,
            is_cleared: false,
            separates_contexts: params.isolation.regions == Regions::Exact,
            before: None,
            done: None,
            held: None,
            transfers: 0,
            transfer_count_wraps: params.rtl_mistakes.transfer_count_wraps,
            commands: Commands::new(CommandId { cluster: cluster as u8, core: core as u8, local: 0 }, params),
            last_read: 0,
            reports_errors: params.isolation.report_errors,
            errors: 0,
            asleep: None,
            first_asleep: None,
            slept: 0,
        }
    }

    /// Returns true if the core has accessed its driver.
    pub fn is_active(&self) -> bool {
        self.state != State::Init
    }

    /// Returns true if the driver accepts a task in this cycle.
    pub fn is_ready(&self, now: Cycle) -> bool {
        matches!(self.state, State::Idle(from) if from <= now) && !self.is_stray
    }

    /// Returns true if the driver waits for a task, now or from a later cycle on.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle(_)) && !self.is_stray
    }

    /// The task that the driver holds.
    pub fn task(&self) -> Option<&HpuTask> {
        self.task.as_ref()
    }

    /// The task whose handler runs.
    pub fn running(&self) -> Option<&HpuTask> {
        self.task.as_ref().filter(|_| self.is_taken)
    }

    /// Accepts a task. A task without a handler ends at once, and the core does not see it.
    pub fn accept(&mut self, now: Cycle, task: HpuTask) {
        let absent = task.task.handler.addr == 0;
        self.task = Some(task);
        self.is_taken = false;
        self.state = State::Running(now + 1);
        if absent {
            self.end_task(now + 1);
        } else if let Some(since) = self.asleep.take() {
            self.slept += now + 1 - since;
        }
    }

    /// The first request of the core activates the driver.
    pub fn first_request(&mut self, now: Cycle) {
        if self.state == State::Init {
            self.state = State::Idle(now + 1);
        }
    }

    /// Cycles from `from` to `now` in which the core waited for a task. Its first task must come after `from`.
    pub fn slept(&self, from: Cycle, now: Cycle) -> u64 {
        let all = self.slept + self.asleep.map_or(0, |since| now.saturating_sub(since));
        let before = self.first_asleep.map_or(0, |since| from.saturating_sub(since));
        all.saturating_sub(before)
    }

    /// An access of the core to register `offset`. A command that it issues is put into `issued`.
    pub fn access(&mut self, now: Cycle, offset: u32, write: Option<u32>, issued: &mut Option<Command>) -> Answer {
        match offset {
            0..0x80 => self.access_task(now, offset, write),
            0x80..0x100 => self.access_command(now, offset, write, issued),
            0x100..0x200 if self.n_clusters > 4 => self.access_task(now, offset, write),
            _ => Answer::Blocked, // Never granted, as in the RTL: the core hangs.
        }
    }

    /// Performs the most frequent accesses: reads of the task's registers after its handler has started, and writes of a command's
    /// words. Nothing outside the driver depends on them. Returns `None`, without effect, for all other accesses.
    pub fn access_words(&mut self, now: Cycle, offset: u32, write: Option<u32>) -> Option<u32> {
        match (offset, write) {
            (HANDLER | DOORBELL, _) => None,
            (0..0x80, None) if self.is_taken && matches!(self.state, State::Running(from) if from <= now) => {
                self.last_read = self.task_register(offset).unwrap_or(self.last_read);
                Some(self.last_read)
            }
            (commands::WORDS..0x100, Some(_)) if self.is_active() => {
                self.commands.access(now, offset, write, self.last_read, false);
                Some(self.last_read)
            }
            _ => None,
        }
    }

    fn access_task(&mut self, now: Cycle, offset: u32, write: Option<u32>) -> Answer {
        if (self.is_stray || self.is_cleared) && offset == DOORBELL {
            (self.is_stray, self.is_cleared) = (false, false);
            return Answer::Granted(now, 0);
        }
        let State::Running(from) = self.state else {
            self.asleep = self.asleep.or(self.is_idle().then_some(now));
            self.first_asleep = self.first_asleep.or(self.asleep);
            return Answer::Blocked;
        };
        if offset == HANDLER
            && let Some(answer) = self.change_context()
        {
            return answer;
        }
        let granted = now.max(from);
        if offset == DOORBELL {
            self.end_task(granted);
            self.last_read = 0;
        } else if write.is_none() {
            self.is_taken |= offset == HANDLER;
            self.last_read = self.task_register(offset).unwrap_or(self.last_read);
        }
        Answer::Granted(granted, self.last_read)
    }

    /// The core reads the address of its task's handler. If the task has another context than the previous ones, their
    /// transfers and commands must be done, and the runtime must have cleared the core. Returns the answer until then.
    fn change_context(&mut self) -> Option<Answer> {
        let next = self.task.as_ref()?.task.context.id;
        if !self.separates_contexts || self.context == Some(next) {
            return None;
        }
        if self.has_done() {
            return Some(Answer::Blocked);
        }
        self.is_cleared = self.context.replace(next).is_some();
        self.is_cleared.then_some(Answer::OtherContext)
    }

    /// After [`Answer::OtherContext`]: the core repeats its access at once, without being cleared.
    pub fn need_not_clear(&mut self) {
        self.is_cleared = false;
    }

    /// Clears the data that a task leaves in the driver's registers.
    pub fn forget_command(&mut self) {
        self.commands.forget();
    }

    /// A register of the task front end. `None` if it does not exist; the access then returns the last value read.
    pub fn task_register(&self, offset: u32) -> Option<u32> {
        let HpuTask { task, pkt_ptr } = self.task.as_ref()?;
        let context = &task.context;
        let scratchpad = |i: u32| context.scratchpads.get(i as usize).copied().unwrap_or_default();
        Some(match offset {
            HANDLER => task.handler.addr,
            0x04 => task.handler.size,
            0x08 => context.handler_mem.addr,
            0x0c => context.handler_mem.size,
            0x10 => *pkt_ptr,
            0x14 => task.pkt_size,
            0x18 | 0x1c | 0x20 | 0x24 => {
                let i = (offset - 0x18) / 4;
                (map::L1_BASE + i * map::L1_STRIDE + self.scratchpad_offset).wrapping_add(scratchpad(i).addr)
            }
            0x28 | 0x2c | 0x30 | 0x34 => scratchpad((offset - 0x28) / 4).size,
            0x38 => (context.host_mem_addr >> 32) as u32,
            0x3c => context.host_mem_addr as u32,
            0x40 => context.host_mem_size,
            0x44 => task.pkt_addr,
            0x48 => u32::from(task.msgid) % self.n_clusters,
            0x4c => task.msgid.into(), // the number of its queue
            ERROR => 0,
            // The same task laid out for 16 clusters: `task_t` with more scratchpads. Not in the RTL, which has 4
            // clusters and no room for more in the window below.
            0x108..0x118 => return self.task_register(offset - 0x100),
            0x118..0x158 => {
                let i = (offset - 0x118) / 4;
                (map::L1_BASE + i * map::L1_STRIDE + self.scratchpad_offset).wrapping_add(scratchpad(i).addr)
            }
            0x158..0x198 => scratchpad((offset - 0x158) / 4).size,
            0x198..0x1b0 => return self.task_register(offset - 0x198 + 0x38),
            _ => return None,
        })
    }

    fn end_task(&mut self, now: Cycle) {
        let HpuTask { task, pkt_ptr } = self.task.take().expect("a task that runs");
        let feedback = Feedback {
            packet: task.packet,
            taken: task.taken,
            msgid: task.msgid,
            pkt_addr: task.pkt_addr,
            pkt_size: task.pkt_size,
            trigger_feedback: task.trigger_feedback,
        };
        let done = Done { feedback, stage: task.stage, pkt_ptr };
        self.before = Some(task);
        self.is_taken = false;
        if self.done.is_none() {
            self.done = Some((now + 1, done));
            self.state = State::Idle(now + 1);
        } else {
            self.held = Some(done);
            self.state = State::Held;
        }
    }

    /// The core trapped in user mode. Without a task, the trap is a stray one.
    pub fn trapped(&mut self) {
        self.is_stray = !self.is_taken && (self.reports_errors || self.separates_contexts);
    }

    /// The runtime reports why a handler ended. The driver reports it to the host, with a command put into `issued`.
    pub fn report(&mut self, now: Cycle, cause: u32, trapped: Trapped, issued: &mut Option<Command>) -> Answer {
        let running = self.task.as_ref().filter(|_| self.is_taken).map(|held| &held.task);
        if self.is_cleared || self.is_stray && !self.reports_errors {
            return Answer::Granted(now, self.last_read);
        }
        if !self.reports_errors || running.is_none() && !self.is_stray {
            return self.access_task(now, ERROR, Some(cause));
        }
        let blamed = running.or(self.before.as_ref());
        let addr = blamed.and_then(|task| task.context.protection.error_addr);
        let (Some(task), Some(addr)) = (blamed, addr) else { return Answer::Granted(now, self.last_read) };
        let record = ErrorRecord {
            cause,
            address: trapped.value,
            pc: trapped.pc,
            handler: task.handler.addr,
            msgid: task.msgid.into(),
            stage: task.stage as u32,
            hpu: self.position,
            count: self.errors.wrapping_add(1).max(1),
        };
        match self.commands.report(task.packet, Sender::from(&*task.context), addr, record.words()) {
            Some(command) => {
                self.errors = record.count;
                *issued = Some(command);
                Answer::Granted(now, self.last_read)
            }
            None => Answer::Blocked,
        }
    }

    /// The first cycle in which the feedback may leave. `None` if there is none, or if it waits for transfers or
    /// commands.
    pub fn leaves_at(&self) -> Option<Cycle> {
        let counted = if self.transfer_count_wraps { self.transfers % 16 } else { self.transfers };
        let &(valid, _) = self.done.as_ref().filter(|_| counted == 0)?;
        Some(valid.max(self.commands.done_from()?))
    }

    /// Returns true if a feedback is pending, because of its time or of work of its core.
    pub fn has_done(&self) -> bool {
        self.done.is_some()
    }

    /// Returns true if a command of its core is not done.
    pub fn has_commands(&self) -> bool {
        self.commands.done_from().is_none()
    }

    /// The packet of the pending feedback.
    pub fn done_packet(&self) -> Option<PacketId> {
        self.done.as_ref().map(|(_, done)| done.feedback.packet)
    }

    /// The feedback leaves in cycle `at`. A held one takes its place a cycle later, when the FIFO shows room.
    pub fn leave(&mut self, at: Cycle) -> Done {
        let (_, done) = self.done.take().expect("a feedback that may leave");
        if let Some(held) = self.held.take() {
            self.done = Some((at + 2, held));
            self.state = State::Idle(at + 2);
        }
        done
    }

    fn access_command(&mut self, now: Cycle, offset: u32, write: Option<u32>, issued: &mut Option<Command>) -> Answer {
        // The next handler's commands wait until the feedback of the previous task has left.
        let answer = self.commands.access(now, offset, write, self.last_read, self.has_done());
        if let Answer::Granted(_, shown) = answer {
            if (offset, write) == (ISSUE, None) {
                let command = self.prepared();
                self.commands.issue(&command);
                *issued = Some(command);
            }
            self.last_read = shown;
        }
        answer
    }

    /// The command that the core's next issue would send.
    pub fn prepared(&self) -> Command {
        let nobody = (PacketId(u64::MAX), NO_CONTEXT, Sender::default());
        let issuer = |held: &HpuTask| (held.task.packet, held.task.context.id, Sender::from(&*held.task.context));
        let issuer = self.task.as_ref().map_or(nobody, issuer);
        self.commands.prepared(issuer)
    }

    /// One more part of a command leaves. It gets its own response.
    pub fn command_split(&mut self, local: u8) {
        self.commands.split(local);
    }

    /// A command or a part of it is done. After the last part, returns the packet whose handler issued the command, and
    /// the command's target.
    pub fn command_done(&mut self, now: Cycle, local: u8) -> Option<(PacketId, CommandTarget)> {
        self.commands.done(now, local)
    }
}

#[cfg(test)]
mod tests;
