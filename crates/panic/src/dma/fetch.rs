//! Descriptors of a queue's ring, read ahead.

use super::rings::{Buffer, ENTRIES_PER_READ, ENTRY_BYTES, Place};
use std::collections::VecDeque;

/// What the card has of a ring.
pub struct Ring {
    /// Where it is.
    pub place: Place,
    /// Descriptors that the host has put into it so far, as the card knows.
    n_posted: u32,
    /// Those that were asked for.
    n_asked: u32,
    /// Those that are here and not used.
    here: VecDeque<Buffer>,
    /// Those that were used.
    n_used: u32,
    /// Completions so far.
    n_completed: u32,
    most: u32,
    /// It stands in line to have descriptors read.
    pub is_in_line: bool,
}

impl Ring {
    /// An empty ring, of which `most` descriptors are read ahead.
    pub fn new(place: Place, most: u32) -> Ring {
        let (n_posted, n_asked, here, n_used, n_completed, is_in_line) = Default::default();
        Ring { place, n_posted, n_asked, here, n_used, n_completed, most, is_in_line }
    }

    /// A ring that the host has filled with its buffers, and of which `most` were read ahead, before time 0.
    pub fn filled(place: Place, most: u32, slots: u32) -> Ring {
        let here = (0..most).map(|slot| place.buffer(slot)).collect();
        Ring { n_posted: slots, n_asked: most, here, ..Ring::new(place, most) }
    }

    /// A doorbell says that so many descriptors have been put into it.
    pub fn posted(&mut self, total: u32) {
        self.n_posted = total;
    }

    /// Whether the host has put something into it that is not used.
    pub fn has_any(&self) -> bool {
        self.n_posted != self.n_used
    }

    /// How many descriptors to read next, if any: all that are new of a line, when there is room for all.
    pub fn wants(&self) -> u32 {
        let ahead = self.n_asked.wrapping_sub(self.n_used);
        let line = ENTRIES_PER_READ - self.n_asked % ENTRIES_PER_READ;
        let new = line.min(self.n_posted.wrapping_sub(self.n_asked));
        if ahead + new <= self.most { new } else { 0 }
    }

    /// The address and bytes of the next `n` descriptors, which are asked for with this.
    pub fn ask(&mut self, n: u32) -> (u64, u32) {
        let addr = self.place.descriptor(self.n_asked);
        self.n_asked = self.n_asked.wrapping_add(n);
        (addr, n * ENTRY_BYTES)
    }

    /// Descriptors have come.
    pub fn take(&mut self, bytes: &[u8]) {
        let (entries, _) = bytes.as_chunks();
        self.here.extend(entries.iter().map(|&entry| Buffer::from_bytes(entry)));
    }

    /// The next descriptor, if it is here.
    pub fn peek(&self) -> Option<Buffer> {
        self.here.front().copied()
    }

    /// The next descriptor is used.
    pub fn pop(&mut self) {
        self.here.pop_front().expect("it was looked at");
        self.n_used = self.n_used.wrapping_add(1);
    }

    /// The address and the number of the next completion.
    pub fn complete(&mut self) -> (u64, u32) {
        let addr = self.place.completion(self.n_completed);
        self.n_completed = self.n_completed.wrapping_add(1);
        // Never 0, so that the host sees that it is there.
        (addr, self.n_completed.max(1))
    }
}

/// Queues that stand in line, each once.
#[derive(Default)]
pub struct Line(VecDeque<usize>);

impl Line {
    /// Puts a queue at the end of the line if it wants descriptors and is not in it.
    pub fn join(&mut self, queue: usize, ring: &mut Ring) {
        if !ring.is_in_line && ring.wants() > 0 {
            ring.is_in_line = true;
            self.0.push_back(queue);
        }
    }

    /// The first in line leaves it.
    pub fn pop(&mut self) -> Option<usize> {
        self.0.pop_front()
    }
}
