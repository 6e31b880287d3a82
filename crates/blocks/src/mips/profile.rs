//! Profile of a core's time by program counter.

use super::code::Slot;
use super::locking::{LockTracker, Locks, Touch};
use super::pipeline::CYCLE_NAMES;
use super::state::Request;
use crate::profile::CodeProfile;

/// Bytes of an instruction, as a power of two.
const GRAIN: u32 = 2;

/// Counts for some ranges of code; all other code is counted together. The cycles of an instruction are those from the end of the previous
/// instruction to its own end.
#[derive(Clone, Debug)]
pub struct Profile {
    code: CodeProfile,
    /// Cycles spent on locks; they are among those of `code`.
    locks: CodeProfile,
    locking: LockTracker,
}

impl Profile {
    /// Counts for these ranges: first address and bytes of each.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)> + Clone) -> Profile {
        Profile {
            code: CodeProfile::new(CYCLE_NAMES.split_at(1).1, GRAIN, ranges.clone()),
            locks: CodeProfile::new(&["locks"], GRAIN, ranges),
            locking: LockTracker::new(None),
        }
    }

    /// Executions and lost cycles of each instruction.
    pub fn code(&self) -> &CodeProfile {
        &self.code
    }

    /// Cycles spent on locks by each instruction.
    pub fn locks(&self) -> &CodeProfile {
        &self.locks
    }

    /// Attempts to take a lock, and failed ones.
    pub fn lock_attempts(&self) -> (u64, u64) {
        (self.locking.attempts, self.locking.failed)
    }

    /// Sets the locks to observe.
    pub(super) fn set_locks(&mut self, locks: Option<Locks>) {
        self.locking = LockTracker::new(locks);
    }

    /// The register whose value the next instruction must pass to [`Profile::retired`].
    #[inline(always)]
    pub(super) fn tested_register(&self, slot: &Slot) -> Option<u8> {
        if self.locking.is_free() { None } else { self.locking.tested_register(slot) }
    }

    /// The role in locking of an instruction with this request.
    pub(super) fn touch(&self, request: Request) -> Touch {
        self.locking.touch(request)
    }

    /// Discards outstanding lock state.
    pub(super) fn forget(&mut self) {
        self.locking.forget();
    }

    /// Records an execution of the instruction at `pc`, or of its annulled slot, that lost these cycles.
    #[inline]
    pub(super) fn retired(&mut self, pc: u32, lost: [u64; 4], instructions: u64, touch: Touch, tested: Option<u32>) {
        let Profile { code, locks, locking } = self;
        code.executed(pc, instructions);
        for (cause, lost) in lost.into_iter().enumerate().filter(|&(_, lost)| lost > 0) {
            code.lost(pc, cause, lost);
        }
        if !locking.is_free() || !matches!(touch, Touch::Nothing | Touch::Other) {
            let cycles = instructions + lost.iter().sum::<u64>();
            locking.retired(pc, cycles, touch, tested, |pc, cycles| locks.lost(pc, 0, cycles));
        }
    }
}
