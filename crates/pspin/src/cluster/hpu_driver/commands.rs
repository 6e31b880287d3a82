//! The command front end of an HPU driver.

use super::Answer;
use crate::protocol::{COMMAND_WORDS, Command, CommandId, CommandTarget, PacketId, Sender, THE_CARD};
use kernel::Cycle;

// Register offsets. Source: PsPIN RTL a49fec8, `sw/runtime/include/hwsched.h`.
pub const ISSUE: u32 = 0x80;
const WAIT: u32 = 0x84;
const TEST: u32 = 0x88;
const INFO: u32 = 0x8c;
pub const WORDS: u32 = 0x90;

/// Words of a command that a core can write.
const VISIBLE_WORDS: usize = 7;

/// Local id of the driver's own command, which reports an error; a core's commands have ids 0 to 3.
const REPORT: u8 = 4;

/// The outstanding commands of a core, and the command that it prepares.
///
/// Timing:  a command is issued in the cycle of the access. A wait for a command that is done is granted in the same
///          cycle. A wait for an outstanding command is granted in the cycle in which its response is seen. Feedback
///          leaves at the earliest one cycle after that.
/// Source:  PsPIN RTL a49fec8, `hw/src/pkt_scheduler/hpu_driver.sv`.
/// Differs: without `rtl_mistakes.stale_handles` an issue that waits returns its command's handle. Without
///          `tests_handle_0` `CMD_TEST` answers for the handle that was written to it.
pub struct Commands {
    id: CommandId,
    n_commands: u32,
    /// Outstanding commands: a bit for each local id.
    under_way: u8,
    /// Cycle in which the last command ended.
    ended: Cycle,
    /// For each command, the number of parts without a response.
    parts: [u32; REPORT as usize + 1],
    words: [u32; VISIBLE_WORDS],
    info: u32,
    tested: u32,
    /// While an issue waits: the lowest handle that was free in its first cycle.
    first_free: Option<u32>,
    stale_handles: bool,
    tests_handle_0: bool,
    /// For each outstanding command, the packet whose handler issued it, and its target.
    issuers: [(PacketId, CommandTarget); REPORT as usize + 1],
}

impl Commands {
    /// The front end of the core that `id` names.
    pub fn new(id: CommandId, params: &crate::PspinParams) -> Self {
        Commands {
            id,
            n_commands: params.cluster.core_commands,
            under_way: 0,
            ended: 0,
            parts: [0; REPORT as usize + 1],
            words: [0; VISIBLE_WORDS],
            info: 0,
            tested: 0,
            first_free: None,
            stale_handles: params.rtl_mistakes.stale_handles,
            tests_handle_0: params.rtl_mistakes.tests_handle_0,
            issuers: [(PacketId(u64::MAX), CommandTarget::HostDma); REPORT as usize + 1],
        }
    }

    /// Discards the command that the core prepares.
    pub fn forget(&mut self) {
        (self.words, self.info, self.tested) = ([0; VISIBLE_WORDS], 0, 0);
    }

    /// The first cycle in which the driver sees no outstanding command: one after the last response. `None` if one is
    /// outstanding.
    pub fn done_from(&self) -> Option<Cycle> {
        (self.under_way == 0).then_some(self.ended + 1)
    }

    /// An access to register `offset`; registers without a value of their own return `last_read`. An issue waits while
    /// `is_held`.
    pub fn access(&mut self, now: Cycle, offset: u32, write: Option<u32>, last_read: u32, is_held: bool) -> Answer {
        let mut shown = last_read;
        let first_free = self.first_free.take();
        match (offset, write) {
            (ISSUE, None) => {
                let free = self.free_id();
                let first = first_free.or(free).unwrap_or(self.n_commands - 1);
                match free {
                    Some(id) if !is_held => shown = if self.stale_handles { first } else { id },
                    _ => {
                        self.first_free = Some(first);
                        return Answer::Blocked;
                    }
                }
            }
            (WAIT, Some(id)) if self.under_way >> (id & 3) & 1 == 1 => return Answer::Blocked,
            (TEST, Some(id)) if !self.tests_handle_0 => self.tested = id & 3,
            (TEST, None) => shown = u32::from(self.under_way >> self.tested & 1 == 0),
            (INFO, Some(info)) => self.info = info,
            (WORDS.., Some(word)) => {
                if let Some(slot) = self.words.get_mut(((offset - WORDS) / 4) as usize) {
                    *slot = word;
                }
            }
            _ => {}
        }
        Answer::Granted(now, shown)
    }

    fn free_id(&self) -> Option<u32> {
        (0..self.n_commands).find(|id| self.under_way >> id & 1 == 0)
    }

    /// The command that an issue would send now, for a handler of this packet, context and tenant.
    pub fn prepared(&self, (packet, context, sender): (PacketId, u32, Sender)) -> Command {
        let target = match self.info >> 1 & 3 {
            0 => CommandTarget::HostDma,
            1 => CommandTarget::NicSend,
            _ => CommandTarget::HostDirect,
        };
        let local = self.free_id().unwrap_or_default() as u8;
        let mut words = [0; COMMAND_WORDS];
        words[..VISIBLE_WORDS].copy_from_slice(&self.words);
        let id = CommandId { local, ..self.id };
        Command { packet, context, sender, id, target, generate_event: self.info & 1 != 0, words }
    }

    /// Marks a command that was just prepared as outstanding.
    pub fn issue(&mut self, command: &Command) {
        let local = command.id.local;
        self.under_way |= 1 << local;
        self.parts[usize::from(local)] = 1;
        self.issuers[usize::from(local)] = (command.packet, command.target);
    }

    /// Issues the driver's own command, which writes an error record to `addr` in host memory and raises an event.
    /// `None` while the previous one is outstanding.
    pub fn report(&mut self, packet: PacketId, sender: Sender, addr: u64, record: [u32; 8]) -> Option<Command> {
        if self.under_way >> REPORT & 1 == 1 {
            return None;
        }
        let mut words = [0; COMMAND_WORDS];
        words[..3].copy_from_slice(&[addr as u32, (addr >> 32) as u32, 32 << 1 | 1]);
        words[3..].copy_from_slice(&record);
        let id = CommandId { local: REPORT, ..self.id };
        let (context, target) = (THE_CARD, CommandTarget::HostDirect);
        let command = Command { packet, context, sender, id, target, generate_event: true, words };
        self.issue(&command);
        Some(command)
    }

    /// One more part of a command leaves.
    pub fn split(&mut self, local: u8) {
        self.parts[usize::from(local)] += 1;
    }

    /// A part of a command is done. After the last part, returns the packet whose handler issued the command, and the
    /// command's target.
    pub fn done(&mut self, now: Cycle, local: u8) -> Option<(PacketId, CommandTarget)> {
        let parts = &mut self.parts[usize::from(local)];
        *parts -= 1;
        if *parts > 0 {
            return None;
        }
        self.under_way &= !(1 << local);
        self.ended = now;
        Some(self.issuers[usize::from(local)])
    }
}
