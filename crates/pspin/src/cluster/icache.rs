//! The instruction cache that the cores of a cluster share.

use crate::params::IcacheParams;
use blocks::cpu::{Lines, PresentLines};

/// Bytes of a line.
pub const LINE_BYTES: u32 = 16;

/// Which lines of program memory are there, and which are on their way.
///
/// Timing:  all cores may hit in the same cycle; a line that several miss is fetched once.
/// Source:  PsPIN RTL a49fec8, `hw/deps/icache_mp_128_pf`: an invalid way is filled first (the highest), else an LFSR
///          chooses.
/// Differs: the RTL bypasses the cache until the boot code enables it, here it caches from reset on. The LFSR's polynomial
///          is assumed: an 8-bit maximal one, the file being silent.
pub struct Icache {
    params: IcacheParams,
    base: u32,
    /// Of program memory.
    present: PresentLines,
    /// For each set, the lines it holds, way by way.
    sets: Vec<Vec<Option<u32>>>,
    lfsr: u8,
    /// Lines that were asked for and have not come.
    coming: Vec<u32>,
}

impl Icache {
    pub fn new(params: &IcacheParams, base: u32, program_bytes: u32) -> Self {
        let n_lines = program_bytes / LINE_BYTES;
        let n_sets = params.bytes / LINE_BYTES / params.ways;
        Icache {
            params: params.clone(),
            base,
            present: PresentLines::new(n_lines as usize),
            sets: vec![vec![None; params.ways as usize]; n_sets as usize],
            lfsr: 1,
            coming: Vec::new(),
        }
    }

    pub fn params(&self) -> &IcacheParams {
        &self.params
    }

    /// Forgets the lines of some bytes of program memory.
    pub fn forget(&mut self, addr: u32, size: u32) {
        let first = addr.wrapping_sub(self.base) / LINE_BYTES;
        let last = (addr + size - 1).wrapping_sub(self.base) / LINE_BYTES;
        let gone = |line: u32| (first..=last).contains(&line);
        self.sets.iter_mut().flatten().filter(|way| way.is_some_and(gone)).for_each(|way| *way = None);
        (first..=last).for_each(|line| self.present.set(line as usize, false));
    }

    /// Forgets all lines.
    pub fn flush(&mut self) {
        self.present.clear();
        self.sets.iter_mut().for_each(|ways| ways.fill(None));
    }

    /// A core misses a line: whether it must be asked for, nobody having done so.
    pub fn miss(&mut self, addr: u32) -> bool {
        let new = !self.coming.contains(&addr);
        if new {
            self.coming.push(addr);
        }
        new
    }

    /// Whether lines are on their way, so that some line may have to go soon.
    pub fn refilling(&self) -> bool {
        !self.coming.is_empty()
    }

    /// A line has come.
    pub fn fill(&mut self, addr: u32) {
        self.coming.retain(|&line| line != addr);
        let Some(line) = self.index(addr) else { return };
        let set = line as usize % self.sets.len();
        let n_ways = self.sets[set].len();
        let free = self.sets[set].iter().rposition(Option::is_none);
        let way = free.unwrap_or_else(|| {
            // x^8 + x^6 + x^5 + x^4 + 1.
            let bit = (self.lfsr ^ self.lfsr >> 2 ^ self.lfsr >> 3 ^ self.lfsr >> 4) & 1;
            self.lfsr = self.lfsr >> 1 | bit << 7;
            usize::from(self.lfsr) % n_ways
        });
        if let Some(old) = self.sets[set][way].replace(line) {
            self.present.set(old as usize, false);
        }
        self.present.set(line as usize, true);
    }

    fn index(&self, addr: u32) -> Option<u32> {
        let line = addr.wrapping_sub(self.base) / LINE_BYTES;
        self.present.get(line as usize).map(|_| line)
    }
}

impl Lines for Icache {
    #[inline]
    fn present(&self, addr: u32) -> bool {
        let line = addr.wrapping_sub(self.base) / LINE_BYTES;
        // Beyond program memory a fetch faults at once; no line is waited for.
        self.present.get(line as usize).unwrap_or(true)
    }

    #[inline]
    fn there(&self) -> &[u8] {
        self.present.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_as_many_lines_as_ways() {
        let params = IcacheParams { bytes: 4096, ways: 4, miss_cycles: 8 };
        let mut cache = Icache::new(&params, 0x1d00_0000, 0x8000);
        let same_set = |n: u32| 0x1d00_0000 + n * 1024;
        for n in 0..5 {
            assert!(cache.miss(same_set(n)), "line {n} is asked for once");
            assert!(!cache.miss(same_set(n)));
            cache.fill(same_set(n));
        }
        assert_eq!((0..5).filter(|&n| cache.present(same_set(n))).count(), 4);
        assert!(cache.present(same_set(4)));
        cache.flush();
        assert!(!cache.present(same_set(4)));
    }
}
