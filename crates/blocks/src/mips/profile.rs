//! Profile of a core's time by program counter.

use super::code::Slot;
use super::locking::{LockTracker, Locks, Touch};
use super::state::Request;

/// Counts of one instruction of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstructionCounts {
    /// Cycles from the end of the previous instruction to its own end.
    pub cycles: u64,
    /// Number of executions.
    pub instructions: u64,
    /// Cycles spent on locks, included in `cycles`.
    pub lock_cycles: u64,
}

impl InstructionCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &InstructionCounts) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.lock_cycles += other.lock_cycles;
    }
}

/// Counts for some ranges of code; all other code is counted together.
#[derive(Clone, Debug)]
pub struct Profile {
    ranges: Vec<(u32, Vec<InstructionCounts>)>,
    elsewhere: InstructionCounts,
    locking: LockTracker,
}

impl Profile {
    /// Counts for these ranges: first address and bytes of each.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Profile {
        let lines = |(base, bytes): (u32, u32)| (base, vec![InstructionCounts::default(); bytes.div_ceil(4) as usize]);
        Profile {
            ranges: ranges.into_iter().map(lines).collect(),
            elsewhere: InstructionCounts::default(),
            locking: LockTracker::new(None),
        }
    }

    /// The ranges: first address, and the counts of each word.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, &[InstructionCounts])> {
        self.ranges.iter().map(|(base, lines)| (*base, lines.as_slice()))
    }

    /// Counts outside all ranges.
    pub fn elsewhere(&self) -> InstructionCounts {
        self.elsewhere
    }

    /// Sum of all counts.
    pub fn total(&self) -> InstructionCounts {
        let lines = self.ranges.iter().flat_map(|(_, lines)| lines).chain([&self.elsewhere]);
        lines.fold(InstructionCounts::default(), |mut sum, line| {
            sum.add(line);
            sum
        })
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

    /// Records that the instruction at `pc`, or its annulled slot, took `cycles`.
    #[inline]
    pub(super) fn retired(&mut self, pc: u32, cycles: u64, instructions: u64, touch: Touch, tested: Option<u32>) {
        let Profile { ranges, elsewhere, locking } = self;
        let line = line(ranges, elsewhere, pc);
        line.cycles += cycles;
        line.instructions += instructions;
        if !locking.is_free() || !matches!(touch, Touch::Nothing | Touch::Other) {
            let spend = |pc, cycles| self::line(ranges, elsewhere, pc).lock_cycles += cycles;
            locking.retired(pc, cycles, touch, tested, spend);
        }
    }
}

/// The counts of an instruction.
#[inline]
fn line<'a>(
    ranges: &'a mut [(u32, Vec<InstructionCounts>)],
    elsewhere: &'a mut InstructionCounts,
    pc: u32,
) -> &'a mut InstructionCounts {
    for (base, lines) in ranges {
        if let Some(line) = lines.get_mut((pc.wrapping_sub(*base) / 4) as usize) {
            return line;
        }
    }
    elsewhere
}
