//! Memory of the plain machine.

use super::ExecError;
use crate::elf::Elf;
use blocks::cpu::{FetchLines, PresentLines, Program};
use isa::riscv::Isa;

/// Maximum size of a program's memory, in bytes. Each byte takes about twelve bytes of host memory.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// Zeros after a segment, in bytes.
const SLACK: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// Fetch lines that are always present. There are enough for the program's longest range.
pub(super) struct AlwaysThere(Vec<u8>);

impl FetchLines for AlwaysThere {
    #[inline]
    fn present(&self, _addr: u32) -> bool {
        true
    }

    #[inline]
    fn there(&self) -> &[u8] {
        &self.0
    }
}

/// A mapped range of addresses.
pub(super) struct Range {
    pub base: u32,
    pub size: u64,
    pub program: Program,
}

impl Range {
    pub fn holds(&self, addr: u32, bytes: u32) -> bool {
        let at = u64::from(addr.wrapping_sub(self.base));
        addr >= self.base && at + u64::from(bytes) <= self.size
    }
}

/// All mapped ranges, in order of addresses.
pub(super) struct Memory {
    pub ranges: Vec<Range>,
    pub lines: AlwaysThere,
}

impl Memory {
    /// The program's memory: its segments rounded to pages, with slack; adjacent ranges are merged.
    pub fn new(elf: &Elf, isa: Isa) -> Result<Self, ExecError> {
        let mut segments: Vec<_> = elf.segments.iter().collect();
        segments.sort_by_key(|segment| segment.addr);
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for segment in &segments {
            let first = u64::from(segment.addr) / PAGE * PAGE;
            let end = (segment.end().next_multiple_of(PAGE) + SLACK).min(1 << 32);
            match spans.last_mut() {
                Some((_, last)) if *last >= first => *last = end.max(*last),
                _ => spans.push((first, end)),
            }
        }
        let found: u64 = spans.iter().map(|(first, end)| end - first).sum();
        if found > MAX_BYTES {
            return Err(ExecError::TooLarge { file: elf.file.clone(), found });
        }
        let range = |(first, end): (u64, u64)| {
            let mut bytes = vec![0; (end - first) as usize];
            for segment in segments.iter().filter(|s| u64::from(s.addr) >= first && u64::from(s.addr) < end) {
                let at = (u64::from(segment.addr) - first) as usize;
                bytes[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
            }
            Range { base: first as u32, size: end - first, program: Program::new(isa, first as u32, &bytes) }
        };
        let ranges: Vec<Range> = spans.into_iter().map(range).collect();
        let longest = ranges.iter().map(|range| range.size).max().unwrap_or(0);
        Ok(Memory { ranges, lines: AlwaysThere(vec![PresentLines::MOST; (longest / 16 + 2) as usize]) })
    }

    /// Address after the last byte.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| u64::from(range.base) + range.size)
    }

    /// The range that contains `bytes` bytes at `addr`.
    pub fn around(&self, addr: u32, bytes: u32) -> Option<&Range> {
        self.ranges.iter().find(|range| range.holds(addr, bytes))
    }

    /// A number of at most 4 bytes, or `None` if the address is unmapped.
    pub fn load(&self, addr: u32, bytes: u32) -> Option<u32> {
        let range = self.around(addr, bytes)?;
        let at = addr.wrapping_sub(range.base) as usize;
        let mut word = [0; 4];
        word[..bytes as usize].copy_from_slice(&range.program.bytes()[at..at + bytes as usize]);
        Some(u32::from_le_bytes(word))
    }

    /// Writes the low bytes of a number; does nothing if the address is unmapped.
    pub fn store(&mut self, addr: u32, value: u32, bytes: u32) {
        if let Some(range) = self.ranges.iter_mut().find(|range| range.holds(addr, bytes)) {
            range.program.write(addr, &value.to_le_bytes()[..bytes as usize]);
        }
    }

    /// The bytes from an address on, which must lie in one range.
    pub fn read(&self, addr: u32, bytes: u32) -> Option<Vec<u8>> {
        if bytes == 0 {
            return Some(Vec::new());
        }
        let range = self.around(addr, bytes)?;
        let at = (addr - range.base) as usize;
        Some(range.program.bytes()[at..at + bytes as usize].to_vec())
    }
}
