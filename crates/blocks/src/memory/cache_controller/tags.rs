//! Tags of a cache: which lines it holds, and in which slots.

use super::CacheControllerParams;
use crate::policy::{AccessSpan, Replacer};
use kernel::RandomStream;
use std::ops::RangeInclusive;

/// The tags of all cached lines. A line is numbered by its address divided by the line size; a slot is a way of a set.
pub struct CacheTags {
    line_bytes: u64,
    sets: usize,
    ways: usize,
    /// The line in each slot.
    tags: Vec<Option<u64>>,
    replacer: Replacer,
}

impl CacheTags {
    /// An empty cache; `draws` is the stream for random replacement.
    pub fn new(params: &CacheControllerParams, draws: RandomStream) -> CacheTags {
        let (sets, ways) = (params.sets as usize, params.ways as usize);
        CacheTags {
            line_bytes: u64::from(params.line_bytes),
            sets,
            ways,
            tags: vec![None; sets * ways],
            replacer: Replacer::new(params.replacement, sets, ways, draws),
        }
    }

    /// The line that contains an address.
    pub fn of(&self, addr: u64) -> u64 {
        addr / self.line_bytes
    }

    /// The lines that a reference touches.
    pub fn touched(&self, span: AccessSpan) -> RangeInclusive<u64> {
        let last = span.addr.saturating_add(u64::from(span.bytes.max(1) - 1));
        self.of(span.addr)..=self.of(last)
    }

    /// Memory address of a line's first byte.
    pub fn addr(&self, line: u64) -> u64 {
        line * self.line_bytes
    }

    /// Address of a memory byte in the data memory.
    pub fn slot_addr(&self, slot: usize, addr: u64) -> u64 {
        slot as u64 * self.line_bytes + addr % self.line_bytes
    }

    /// The slot of a line, if it is cached.
    pub fn slot(&self, line: u64) -> Option<usize> {
        let first = self.set(line) * self.ways;
        (first..first + self.ways).find(|&slot| self.tags[slot] == Some(line))
    }

    /// Records a use of a slot for the replacement policy.
    pub fn use_slot(&mut self, slot: usize) {
        self.replacer.used(slot / self.ways, slot % self.ways);
    }

    /// Frees a slot for a line: returns an empty slot, or evicts a line.
    pub fn free_slot(&mut self, line: u64) -> usize {
        let set = self.set(line);
        let first = set * self.ways;
        let free = (first..first + self.ways).find(|&slot| self.tags[slot].is_none());
        let slot = free.unwrap_or_else(|| first + self.replacer.victim(set));
        self.tags[slot] = None;
        slot
    }

    /// Marks a line as present in its slot.
    pub fn put(&mut self, slot: usize, line: u64) {
        self.tags[slot] = Some(line);
        self.use_slot(slot);
    }

    /// Removes these lines. Returns how many of them were cached.
    pub fn invalidate(&mut self, lines: &RangeInclusive<u64>) -> u64 {
        let gone = self.tags.iter_mut().filter_map(|tag| tag.take_if(|line| lines.contains(line)));
        gone.count() as u64
    }

    fn set(&self, line: u64) -> usize {
        (line as usize) & (self.sets - 1)
    }
}
