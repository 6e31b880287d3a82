//! Where a core spends its time, by program counter.

use super::code::Slot;
use super::locking::{Locking, Locks, Touch};
use super::state::Asked;

/// What was spent on one instruction of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Cycles from the end of the instruction before it to its own.
    pub cycles: u64,
    /// How often it was executed.
    pub instructions: u64,
    /// Those of the cycles that went on locks.
    pub lock_cycles: u64,
}

impl Line {
    /// Adds what was spent on another.
    pub fn add(&mut self, other: &Line) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.lock_cycles += other.lock_cycles;
    }
}

/// Counts over some ranges of code; what runs elsewhere is counted together.
#[derive(Clone, Debug)]
pub struct Profile {
    ranges: Vec<(u32, Vec<Line>)>,
    elsewhere: Line,
    locking: Locking,
}

impl Profile {
    /// Counts for these ranges of code: first address and bytes of each.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Profile {
        let lines = |(base, bytes): (u32, u32)| (base, vec![Line::default(); bytes.div_ceil(4) as usize]);
        Profile {
            ranges: ranges.into_iter().map(lines).collect(),
            elsewhere: Line::default(),
            locking: Locking::new(None),
        }
    }

    /// The ranges: first address, and a line for each word.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, &[Line])> {
        self.ranges.iter().map(|(base, lines)| (*base, lines.as_slice()))
    }

    /// What was spent outside of all ranges.
    pub fn elsewhere(&self) -> Line {
        self.elsewhere
    }

    /// All that was spent.
    pub fn total(&self) -> Line {
        let lines = self.ranges.iter().flat_map(|(_, lines)| lines).chain([&self.elsewhere]);
        lines.fold(Line::default(), |mut sum, line| {
            sum.add(line);
            sum
        })
    }

    /// Attempts to take a lock, and those of them that were in vain.
    pub fn lock_attempts(&self) -> (u64, u64) {
        (self.locking.attempts, self.locking.vain)
    }

    /// These are locks.
    pub(super) fn set_locks(&mut self, locks: Option<Locks>) {
        self.locking = Locking::new(locks);
    }

    /// The register whose value an instruction that is about to execute shows to [`Profile::retired`].
    #[inline(always)]
    pub(super) fn looks_at(&self, slot: &Slot) -> Option<u8> {
        if self.locking.is_free() { None } else { self.locking.looks_at(slot) }
    }

    /// What an instruction that asks for this has to do with locks.
    pub(super) fn touch(&self, asked: Asked) -> Touch {
        self.locking.touch(asked)
    }

    /// What was under way is forgotten.
    pub(super) fn forget(&mut self) {
        self.locking.forget();
    }

    /// The instruction at `pc`, or its annulled place, took `cycles`.
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

/// The line of an instruction.
#[inline]
fn line<'a>(ranges: &'a mut [(u32, Vec<Line>)], elsewhere: &'a mut Line, pc: u32) -> &'a mut Line {
    for (base, lines) in ranges {
        if let Some(line) = lines.get_mut((pc.wrapping_sub(*base) / 4) as usize) {
            return line;
        }
    }
    elsewhere
}
