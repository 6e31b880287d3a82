//! The instruction cache that the cores of a cluster share.

use super::refills::Miss;
use crate::params::IcacheParams;
use blocks::cpu::{FetchLines, PresentLines};

/// Bytes of a line.
pub const LINE_BYTES: u32 = 16;

/// The lines of program memory that the cache holds.
///
/// Timing:  all cores may hit in the same cycle.
/// Ways:    a core's controller chooses the way when it misses: the highest empty one, or else the one that its own
///          LFSR gives. If other controllers miss lines of the same set meanwhile, they may choose the same way. The
///          last line stays.
/// Source:  PsPIN RTL a49fec8, `icache_bank_mp_128.sv`; `generic_LFSR_8bit.sv` of the PULP platform's common cells.
pub struct Icache {
    params: IcacheParams,
    base: u32,
    /// The lines of program memory that are present.
    present: PresentLines,
    /// For each set, the line in each way.
    sets: Vec<Vec<Option<u32>>>,
    /// One LFSR for each core.
    lfsrs: Vec<u8>,
}

impl Icache {
    pub fn new(params: &IcacheParams, n_cores: u32, base: u32, program_bytes: u32) -> Self {
        let n_lines = program_bytes / LINE_BYTES;
        let n_sets = params.bytes / LINE_BYTES / params.ways;
        Icache {
            params: params.clone(),
            base,
            present: PresentLines::new(n_lines as usize),
            sets: vec![vec![None; params.ways as usize]; n_sets as usize],
            lfsrs: vec![0; n_cores as usize],
        }
    }

    /// Bytes of program memory.
    pub fn program_bytes(&self) -> u32 {
        self.present.counts().len() as u32 * LINE_BYTES
    }

    pub fn params(&self) -> &IcacheParams {
        &self.params
    }

    /// Invalidates the lines of some bytes of program memory.
    pub fn forget(&mut self, addr: u32, size: u32) {
        let first = addr.wrapping_sub(self.base) / LINE_BYTES;
        let last = (addr + size - 1).wrapping_sub(self.base) / LINE_BYTES;
        let gone = |line: u32| (first..=last).contains(&line);
        self.sets.iter_mut().flatten().filter(|way| way.is_some_and(gone)).for_each(|way| *way = None);
        (first..=last).for_each(|line| self.present.set(line as usize, false));
    }

    /// Invalidates all lines.
    pub fn flush(&mut self) {
        self.present.clear();
        self.sets.iter_mut().for_each(|ways| ways.fill(None));
    }

    /// The way that a core's controller chooses for a line that it misses.
    pub fn choose_way(&mut self, core: usize, addr: u32) -> usize {
        let Some(line) = self.index(addr) else { return 0 };
        let ways = &self.sets[line as usize % self.sets.len()];
        let lfsr = &mut self.lfsrs[core];
        ways.iter().rposition(Option::is_none).unwrap_or_else(|| {
            let way = usize::from(*lfsr >> 1) % ways.len();
            *lfsr = *lfsr << 1 | !(*lfsr >> 7 ^ *lfsr >> 3 ^ *lfsr >> 2 ^ *lfsr >> 1) & 1;
            way
        })
    }

    /// A line enters a way.
    pub fn fill(&mut self, addr: u32, way: usize) {
        let Some(line) = self.index(addr) else { return };
        let set = line as usize % self.sets.len();
        if let Some(old) = self.sets[set][way].replace(line) {
            // Another way may hold the old line too.
            self.present.set(old as usize, self.sets[set].contains(&Some(old)));
        }
        self.present.set(line as usize, true);
    }

    fn index(&self, addr: u32) -> Option<u32> {
        let line = addr.wrapping_sub(self.base) / LINE_BYTES;
        self.present.get(line as usize).map(|_| line)
    }
}

impl FetchLines for Icache {
    #[inline]
    fn present(&self, addr: u32) -> bool {
        let line = addr.wrapping_sub(self.base) / LINE_BYTES;
        // A fetch beyond program memory faults at once and waits for no line.
        self.present.get(line as usize).unwrap_or(true)
    }

    #[inline]
    fn there(&self) -> &[u8] {
        self.present.counts()
    }
}

/// The cache as one core sees it. A line that its own controller misses is absent, even if other cores have it. While
/// the controller prefetches a line, the core checks lines one by one.
pub struct CoreLines<'a> {
    pub cache: &'a Icache,
    pub miss: &'a Option<Miss>,
    /// The line that its prefetch buffer holds from before the cache was turned on.
    pub held: &'a Option<u32>,
}

impl FetchLines for CoreLines<'_> {
    #[inline]
    fn present(&self, addr: u32) -> bool {
        let line = addr & !(LINE_BYTES - 1);
        let misses = self.miss.is_some_and(|miss| miss.addr == line);
        !misses && (self.cache.present(addr) || *self.held == Some(line))
    }

    #[inline]
    fn there(&self) -> &[u8] {
        self.cache.there()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: u32 = 4;

    fn same_set(n: u32) -> u32 {
        0x1d00_0000 + n * 1024
    }

    fn cache() -> Icache {
        Icache::new(&IcacheParams { bytes: 4096, ways: WAYS, miss_cycles: 8 }, 2, 0x1d00_0000, 0x8000)
    }

    #[test]
    fn a_set_holds_as_many_lines_as_ways() {
        let mut cache = cache();
        for n in 0..5 {
            let way = cache.choose_way(0, same_set(n));
            cache.fill(same_set(n), way);
        }
        assert_eq!((0..5).filter(|&n| cache.present(same_set(n))).count(), 4);
        assert!(cache.present(same_set(4)));
        cache.flush();
        assert!(!cache.present(same_set(4)));
    }

    #[test]
    fn empty_ways_are_taken_from_the_highest_and_then_each_core_has_its_own_random_numbers() {
        let mut cache = cache();
        let filled = (0..WAYS).map(|n| {
            let way = cache.choose_way(0, same_set(n));
            cache.fill(same_set(n), way);
            way
        });
        assert_eq!(filled.collect::<Vec<_>>(), [3, 2, 1, 0]);
        // Values of the LFSR: 0, 1, 3, 6, 0xd, 0x1b, 0x37, 0x6f.
        let mut ways = |core| (0..8).map(|_| cache.choose_way(core, same_set(9))).collect::<Vec<_>>();
        assert_eq!((ways(0), ways(1)), (vec![0, 0, 1, 3, 2, 1, 3, 3], vec![0, 0, 1, 3, 2, 1, 3, 3]));
    }

    #[test]
    fn lines_that_are_missed_together_may_push_each_other_out_and_a_line_may_lie_in_two_ways() {
        let mut cache = cache();
        let ways = [1, 2].map(|n| (same_set(n), cache.choose_way(n as usize - 1, same_set(n))));
        ways.iter().for_each(|&(addr, way)| cache.fill(addr, way));
        assert_eq!([1, 2].map(|n| cache.present(same_set(n))), [false, true]);
        cache.fill(same_set(2), 0);
        cache.fill(same_set(3), 3);
        assert_eq!([2, 3].map(|n| cache.present(same_set(n))), [true, true]);
    }
}
