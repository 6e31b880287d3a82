//! Errors as the host reads them.

/// What host memory shows of a handler that ended by an exception: eight little-endian words, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorRecord {
    /// As in `mcause`; [`WATCHDOG_CAUSE`] for a handler that ran too long.
    pub cause: u32,
    /// Address that was accessed, or the word that is no instruction (`mtval` of the privileged specification).
    pub address: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// First instruction of the handler.
    pub handler: u32,
    /// Identity of the message, as the handler's task has it.
    pub msgid: u32,
    /// Which [`super::Stage`], from 0.
    pub stage: u32,
    /// Position of the HPU among all of the NIC: `cluster * n_cores + core`.
    pub hpu: u32,
    /// Errors that this HPU has reported, with this one: never 0, so that a reader sees that a record is there.
    pub count: u32,
}

impl ErrorRecord {
    /// The words as they lie in memory.
    pub fn words(&self) -> [u32; 8] {
        let ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count } = *self;
        [cause, address, pc, handler, msgid, stage, hpu, count]
    }

    /// The record that these words make.
    pub fn from_words([cause, address, pc, handler, msgid, stage, hpu, count]: [u32; 8]) -> Self {
        ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count }
    }
}

/// Cause of the exception by which a watchdog ends a handler.
///
/// assumed: the first of the codes that the privileged specification leaves to implementations; the others follow.
pub const WATCHDOG_CAUSE: u32 = 24;
/// Cause in the record of a message that stopped arriving.
pub const TIMEOUT_CAUSE: u32 = 25;
/// Cause in the record of a message that was killed.
pub const KILLED_CAUSE: u32 = 26;
/// Cause of the exception by which a driver has the runtime clear its core before a handler of another context runs there.
///
/// assumed: the paper isolates handlers in space and says nothing of what one leaves to the next in registers and stack.
pub const CONTEXT_CAUSE: u32 = 27;
/// Cause in the record of a message that left its queue to another tenant.
pub const EVICTED_CAUSE: u32 = 28;
/// Position in records that no HPU made.
pub const NO_HPU: u32 = u32::MAX;

/// An error record on its way to the host that no handler's driver sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRecord {
    /// Physical address in host memory.
    pub addr: u64,
    /// What is written there.
    pub record: ErrorRecord,
}
