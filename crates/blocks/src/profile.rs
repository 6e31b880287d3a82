//! Cycles of a core by instruction and cause.

/// Executions and lost cycles of each instruction of some code.
///
/// Each core defines one pipeline stage for this. A cycle is lost if no instruction completes that stage in it; the core names
/// the causes. Executions plus lost cycles are the cycles of the core.
#[derive(Clone, Debug)]
pub struct CodeProfile {
    causes: &'static [&'static str],
    /// Bytes between addresses that are counted apart, as a power of two.
    grain: u32,
    ranges: Vec<Range>,
    /// All code outside the ranges.
    elsewhere: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Range {
    base: u32,
    /// For each address: executions, then lost cycles by cause.
    counts: Vec<u64>,
}

/// The counts of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts<'a> {
    /// Number of executions.
    pub executed: u64,
    /// Lost cycles by cause, in the order of [`CodeProfile::causes`].
    pub lost: &'a [u64],
}

impl Counts<'_> {
    /// Its executions and all its lost cycles.
    pub fn cycles(&self) -> u64 {
        self.lost.iter().fold(self.executed, |sum, &lost| sum.wrapping_add(lost))
    }
}

impl CodeProfile {
    /// Counts for these ranges of code: first address and bytes of each. Instructions begin at multiples of `2^grain` bytes.
    pub fn new(
        causes: &'static [&'static str],
        grain: u32,
        ranges: impl IntoIterator<Item = (u32, u32)>,
    ) -> CodeProfile {
        let width = 1 + causes.len();
        let range = |(base, bytes): (u32, u32)| {
            let n_counts = bytes.div_ceil(1 << grain) as usize * width;
            Range { base, counts: vec![0; n_counts] }
        };
        CodeProfile { causes, grain, ranges: ranges.into_iter().map(range).collect(), elsewhere: vec![0; width] }
    }

    /// Names of the causes of lost cycles.
    pub fn causes(&self) -> &'static [&'static str] {
        self.causes
    }

    /// Counts executions of the instruction at `pc`. The count wraps, so that one can be taken back before it is counted.
    #[inline]
    pub fn executed(&mut self, pc: u32, n: u64) {
        let count = &mut self.at(pc)[0];
        *count = count.wrapping_add(n);
    }

    /// Takes back an execution of the instruction at `pc`.
    pub fn take_back(&mut self, pc: u32) {
        let count = &mut self.at(pc)[0];
        *count = count.wrapping_sub(1);
    }

    /// Counts cycles that the instruction at `pc` lost for this cause. The count wraps, so that cycles can be taken back.
    #[inline]
    pub fn lost(&mut self, pc: u32, cause: usize, cycles: u64) {
        let count = &mut self.at(pc)[1 + cause];
        *count = count.wrapping_add(cycles);
    }

    /// Address and counts of every instruction that executed or lost cycles, by address within each range.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Counts<'_>)> {
        let width = self.width();
        self.ranges.iter().flat_map(move |range| {
            let rows = range.counts.chunks_exact(width).enumerate();
            let rows = rows.filter(|(_, counts)| counts.iter().any(|&count| count != 0));
            rows.map(move |(at, counts)| (range.base + ((at as u32) << self.grain), of(counts)))
        })
    }

    /// Counts of code outside the ranges.
    pub fn elsewhere(&self) -> Counts<'_> {
        of(&self.elsewhere)
    }

    /// All cycles.
    pub fn cycles(&self) -> u64 {
        self.rows().fold(self.elsewhere().cycles(), |sum, (_, counts)| sum.wrapping_add(counts.cycles()))
    }

    fn width(&self) -> usize {
        1 + self.causes.len()
    }

    #[inline]
    fn at(&mut self, pc: u32) -> &mut [u64] {
        let width = self.width();
        for Range { base, counts } in &mut self.ranges {
            let at = (pc.wrapping_sub(*base) >> self.grain) as usize * width;
            if at < counts.len() {
                return &mut counts[at..at + width];
            }
        }
        &mut self.elsewhere
    }
}

fn of(counts: &[u64]) -> Counts<'_> {
    Counts { executed: counts[0], lost: &counts[1..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_address_and_cause() {
        let mut profile = CodeProfile::new(&["fetch", "divider"], 1, [(0x100, 8), (0x200, 4)]);
        profile.executed(0x102, 3);
        profile.lost(0x102, 1, 5);
        profile.lost(0x200, 0, 7);
        profile.executed(0x108, 1); // Behind the first range.
        let rows: Vec<(u32, u64, u64)> = profile.rows().map(|(pc, at)| (pc, at.executed, at.cycles())).collect();
        assert_eq!(rows, [(0x102, 3, 8), (0x200, 0, 7)]);
        assert_eq!((profile.elsewhere().executed, profile.cycles()), (1, 16));
    }
}
