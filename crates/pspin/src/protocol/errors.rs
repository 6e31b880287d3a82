//! Error records for the host.

/// Record in host memory of a handler that ended with an exception: eight little-endian words, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorRecord {
    /// Exception code as in `mcause`; [`WATCHDOG_CAUSE`] if the watchdog ended the handler.
    pub cause: u32,
    /// Address of the access, or the illegal instruction word (`mtval` of the privileged specification).
    pub address: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address of the handler's first instruction.
    pub handler: u32,
    /// Identity of the message.
    pub msgid: u32,
    /// The [`super::Stage`], from 0.
    pub stage: u32,
    /// Global index of the HPU: `cluster * n_cores + core`.
    pub hpu: u32,
    /// Number of errors reported by this HPU, including this one; never 0, so a reader can detect a record.
    pub count: u32,
}

impl ErrorRecord {
    /// The words in memory order.
    pub fn words(&self) -> [u32; 8] {
        let ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count } = *self;
        [cause, address, pc, handler, msgid, stage, hpu, count]
    }

    /// Parses a record.
    pub fn from_words([cause, address, pc, handler, msgid, stage, hpu, count]: [u32; 8]) -> Self {
        ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count }
    }
}

/// Exception code of a handler that the watchdog ended.
///
/// assumed: the first code that the privileged specification leaves to implementations; the others follow it.
pub const WATCHDOG_CAUSE: u32 = 24;
/// Code for a message that timed out.
pub const TIMEOUT_CAUSE: u32 = 25;
/// Code for a message that was killed.
pub const KILLED_CAUSE: u32 = 26;
/// Exception code with which the runtime clears a core before a handler of another context runs there.
///
/// assumed: the paper isolates handlers in space, and does not say what happens to registers and stack.
pub const CONTEXT_CAUSE: u32 = 27;
/// Code for a message whose queue was reclaimed by another tenant.
pub const EVICTED_CAUSE: u32 = 28;
/// HPU index in records that do not come from an HPU.
pub const NO_HPU: u32 = u32::MAX;

/// An error record that the card itself sends to the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRecord {
    /// Physical address in host memory.
    pub addr: u64,
    /// The record.
    pub record: ErrorRecord,
}
