//! Profile of a core's time by program counter.

use super::code::Slot;
use super::locking::{Locking, Locks, Touch};
use super::state::Asked;

/// Counts of one instruction of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Cycles from the end of the previous instruction to its own end.
    pub cycles: u64,
    /// Number of executions.
    pub instructions: u64,
    /// Cycles spent on locks, included in `cycles`.
    pub lock_cycles: u64,
}

impl Line {
    /// Adds other counts.
    pub fn add(&mut self, other: &Line) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.lock_cycles += other.lock_cycles;
    }
}

/// Counts for some ranges of code; all other code is counted together.
#[derive(Clone, Debug)]
pub struct Profile {
    ranges: Vec<(u32, Vec<Line>)>,
    elsewhere: Line,
    locking: Locking,
}

impl Profile {
    /// Counts for these ranges: first address and bytes of each.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Profile {
        let lines = |(base, bytes): (u32, u32)| (base, vec![Line::default(); bytes.div_ceil(4) as usize]);
        Profile {
            ranges: ranges.into_iter().map(lines).collect(),
            elsewhere: Line::default(),
            locking: Locking::new(None),
        }
    }

    /// The ranges: first address, and the counts of each word.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, &[Line])> {
        self.ranges.iter().map(|(base, lines)| (*base, lines.as_slice()))
    }

    /// Counts outside all ranges.
    pub fn elsewhere(&self) -> Line {
        self.elsewhere
    }

    /// Sum of all counts.
    pub fn total(&self) -> Line {
        let lines = self.ranges.iter().flat_map(|(_, lines)| lines).chain([&self.elsewhere]);
        lines.fold(Line::default(), |mut sum, line| {
            sum.add(line);
            sum
        })
    }

    /// Attempts to take a lock, and failed ones.
    pub fn lock_attempts(&self) -> (u64, u64) {
        (self.locking.attempts, self.locking.vain)
    }

    /// Sets the locks to observe.
    pub(super) fn set_locks(&mut self, locks: Option<Locks>) {
        self.locking = Locking::new(locks);
    }

    /// The register whose value the next instruction must pass to [`Profile::retired`].
    #[inline(always)]
    pub(super) fn looks_at(&self, slot: &Slot) -> Option<u8> {
        if self.locking.is_free() { None } else { self.locking.looks_at(slot) }
    }

    /// The role in locking of an instruction with this request.
    pub(super) fn touch(&self, asked: Asked) -> Touch {
        self.locking.touch(asked)
    }

    /// Discards outstanding lock state.
    pub(super) fn forget(&mut self) {
        self.locking.forget();
    }

    /// Records that the instruction at `pc`, or its annulled slot, took `cycles`.
    #[inline]
    pub(super) fn retired(&mut self, pc: u32, cycles: u64, instructions: u64, touch: Touch, looked: Option<u32>) {
        let Profile { ranges, elsewhere, locking } = self;
        let line = line(ranges, elsewhere, pc);
        line.cycles += cycles;
        line.instructions += instructions;
        if !locking.is_free() || !matches!(touch, Touch::Nothing | Touch::Other) {
            let spend = |pc, cycles| self::line(ranges, elsewhere, pc).lock_cycles += cycles;
            locking.retired(pc, cycles, touch, looked, spend);
        }
    }
}

/// The counts of an instruction.
#[inline]
fn line<'a>(ranges: &'a mut [(u32, Vec<Line>)], elsewhere: &'a mut Line, pc: u32) -> &'a mut Line {
    for (base, lines) in ranges {
        if let Some(line) = lines.get_mut((pc.wrapping_sub(*base) / 4) as usize) {
            return line;
        }
    }
    elsewhere
}
