//! Prefetch of a queue's descriptors.

use super::rings::{Buffer, ENTRIES_PER_READ, ENTRY_BYTES, QueueLayout};
use std::collections::VecDeque;

/// The card's view of a ring.
pub struct Ring {
    /// Addresses of the ring.
    pub place: QueueLayout,
    /// Number of descriptors that the host has posted, as far as the card knows.
    n_posted: u32,
    /// Number of descriptors requested.
    n_requested: u32,
    /// Prefetched descriptors, not yet used.
    here: VecDeque<Buffer>,
    /// Number of descriptors used.
    n_used: u32,
    /// Number of completions.
    n_completed: u32,
    most: u32,
    /// True while the queue waits for a descriptor read.
    pub is_in_line: bool,
}

impl Ring {
    /// An empty ring with up to `most` prefetched descriptors.
    pub fn new(place: QueueLayout, most: u32) -> Ring {
        let (n_posted, n_requested, here, n_used, n_completed, is_in_line) = Default::default();
        Ring { place, n_posted, n_requested, here, n_used, n_completed, most, is_in_line }
    }

    /// A ring that the host has filled with buffers; `most` descriptors were prefetched before time 0.
    pub fn filled(place: QueueLayout, most: u32, slots: u32) -> Ring {
        let here = (0..most).map(|slot| place.buffer(slot)).collect();
        Ring { n_posted: slots, n_requested: most, here, ..Ring::new(place, most) }
    }

    /// Processes a doorbell: `total` descriptors have been posted so far.
    pub fn posted(&mut self, total: u32) {
        self.n_posted = total;
    }

    /// Returns true if the host has posted descriptors that are not used.
    pub fn has_any(&self) -> bool {
        self.n_posted != self.n_used
    }

    /// Number of descriptors to read next: all new ones of a 64-byte line, if there is room for all; otherwise 0.
    pub fn wants(&self) -> u32 {
        let ahead = self.n_requested.wrapping_sub(self.n_used);
        let line = ENTRIES_PER_READ - self.n_requested % ENTRIES_PER_READ;
        let new = line.min(self.n_posted.wrapping_sub(self.n_requested));
        if ahead + new <= self.most { new } else { 0 }
    }

    /// Requests the next `n` descriptors; returns their address and size.
    pub fn ask(&mut self, n: u32) -> (u64, u32) {
        let addr = self.place.descriptor(self.n_requested);
        self.n_requested = self.n_requested.wrapping_add(n);
        (addr, n * ENTRY_BYTES)
    }

    /// Stores descriptors that were read.
    pub fn take(&mut self, bytes: &[u8]) {
        let (entries, _) = bytes.as_chunks();
        self.here.extend(entries.iter().map(|&entry| Buffer::from_bytes(entry)));
    }

    /// The next descriptor, if it was prefetched.
    pub fn peek(&self) -> Option<Buffer> {
        self.here.front().copied()
    }

    /// Marks the next descriptor as used.
    pub fn pop(&mut self) {
        self.here.pop_front().expect("the descriptor must be there");
        self.n_used = self.n_used.wrapping_add(1);
    }

    /// The address and the number of the next completion.
    pub fn complete(&mut self) -> (u64, u32) {
        let addr = self.place.completion(self.n_completed);
        self.n_completed = self.n_completed.wrapping_add(1);
        // Never 0, so that the host can tell a new completion.
        (addr, self.n_completed.max(1))
    }
}

/// Queues that wait for a descriptor read, each at most once.
#[derive(Default)]
pub struct FetchQueue(VecDeque<usize>);

impl FetchQueue {
    /// Appends a queue if it wants descriptors and does not wait yet.
    pub fn join(&mut self, queue: usize, ring: &mut Ring) {
        if !ring.is_in_line && ring.wants() > 0 {
            ring.is_in_line = true;
            self.0.push_back(queue);
        }
    }

    /// Requests the descriptors that the first queue wants. Returns the queue, and address and size of the read.
    #[inline]
    pub fn ask(&mut self, rings: &mut [Ring]) -> Option<(usize, u64, u32)> {
        if self.0.is_empty() { None } else { self.ask_first(rings) }
    }

    fn ask_first(&mut self, rings: &mut [Ring]) -> Option<(usize, u64, u32)> {
        while let Some(queue) = self.0.pop_front() {
            let ring = &mut rings[queue];
            ring.is_in_line = false;
            // Since the queue joined, a doorbell may have completed a line for which there is no room yet.
            let wanted = ring.wants();
            if wanted > 0 {
                let (addr, bytes) = ring.ask(wanted);
                self.join(queue, ring);
                return Some((queue, addr, bytes));
            }
        }
        None
    }
}
