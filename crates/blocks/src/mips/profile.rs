//! Where a core spends its time, by program counter.

/// What was spent on one instruction of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Cycles from the end of the instruction before it to its own.
    pub cycles: u64,
    /// How often it was executed.
    pub instructions: u64,
}

/// Counts over some ranges of code; what runs elsewhere is counted together.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    ranges: Vec<(u32, Vec<Line>)>,
    elsewhere: Line,
}

impl Profile {
    /// Counts for these ranges of code: first address and bytes of each.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Profile {
        let lines = |(base, bytes): (u32, u32)| (base, vec![Line::default(); bytes.div_ceil(4) as usize]);
        Profile { ranges: ranges.into_iter().map(lines).collect(), elsewhere: Line::default() }
    }

    /// The ranges: first address, and a line for each word.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, &[Line])> {
        self.ranges.iter().map(|(base, lines)| (*base, lines.as_slice()))
    }

    /// What was spent outside of all ranges.
    pub fn elsewhere(&self) -> Line {
        self.elsewhere
    }

    pub(super) fn add(&mut self, pc: u32, cycles: u64, instructions: u64) {
        let place = |(base, lines): &mut (u32, Vec<Line>)| {
            let at = (pc.wrapping_sub(*base) / 4) as usize;
            (at < lines.len()).then_some(at)
        };
        let mut found = None;
        for range in &mut self.ranges {
            if let Some(at) = place(range) {
                found = Some(&mut range.1[at]);
                break;
            }
        }
        let line = found.unwrap_or(&mut self.elsewhere);
        line.cycles += cycles;
        line.instructions += instructions;
    }
}
