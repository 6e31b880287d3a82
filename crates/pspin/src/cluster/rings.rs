//! The packet buffer in L1: a few rings of 64-byte slots.

use crate::params::ClusterParams;
use std::collections::VecDeque;

const SLOT_BYTES: u32 = 64;

/// One ring. Packets take contiguous slots at the tail; slots are freed in any order and reused in order.
struct Ring {
    n_slots: u32,
    /// Bookings from oldest to newest: first slot, number of slots, and whether they are free again.
    booked: VecDeque<(u32, u32, bool)>,
    tail: u32,
}

impl Ring {
    /// Where `slots` contiguous slots can begin, if there are any.
    fn fit(&self, slots: u32) -> Option<u32> {
        let Some(&(head, ..)) = self.booked.front() else { return (slots <= self.n_slots).then_some(0) };
        if head < self.tail {
            let to_end = self.n_slots - self.tail;
            if slots <= to_end { Some(self.tail) } else { (slots <= head).then_some(0) }
        } else {
            // The bookings wrap around; where head and tail meet the ring is full.
            (slots <= head - self.tail).then_some(self.tail)
        }
    }

    fn largest(&self) -> u32 {
        let Some(&(head, ..)) = self.booked.front() else { return self.n_slots };
        if head < self.tail { head.max(self.n_slots - self.tail) } else { head - self.tail }
    }

    fn book(&mut self, slots: u32) -> Option<u32> {
        let first = self.fit(slots)?;
        self.booked.push_back((first, slots, false));
        // A tail at the very end stays there: the next packet wraps, and head < tail still tells full from empty.
        self.tail = first + slots;
        Some(first)
    }

    fn free(&mut self, first: u32) {
        let booking = self.booked.iter_mut().find(|(slot, _, free)| *slot == first && !free);
        booking.expect("a packet that was booked").2 = true;
        while self.booked.front().is_some_and(|&(.., free)| free) {
            self.booked.pop_front();
        }
        if self.booked.is_empty() {
            self.tail = 0;
        }
    }
}

/// The rings of a cluster; a packet goes to the first that has room.
///
/// Source:  PsPIN RTL a49fec8, `cluster_rb_shim.sv`, `cluster_rb.sv`.
/// Differs: a packet that fills the gap before the head exactly is booked like any other (the RTL loses track of it).
///          Freed slots are usable in the next cycle.
pub struct PacketRings {
    rings: Vec<Ring>,
    ring_bytes: u32,
}

impl PacketRings {
    pub fn new(params: &ClusterParams) -> Self {
        let ring_bytes = params.packet_buffer_bytes / params.packet_buffer_rings;
        let ring = || Ring { n_slots: ring_bytes / SLOT_BYTES, booked: VecDeque::new(), tail: 0 };
        PacketRings { rings: (0..params.packet_buffer_rings).map(|_| ring()).collect(), ring_bytes }
    }

    /// Whether a packet of this size has room somewhere.
    pub fn has_room(&self, bytes: u32) -> bool {
        let slots = bytes.div_ceil(SLOT_BYTES);
        self.rings.iter().any(|ring| ring.largest() >= slots)
    }

    /// Books room; the offset in the packet buffer. No bytes take no room, at offset 0.
    pub fn book(&mut self, bytes: u32) -> Option<u32> {
        let slots = bytes.div_ceil(SLOT_BYTES);
        if slots == 0 {
            return Some(0);
        }
        let mut rings = self.rings.iter_mut().enumerate();
        rings.find_map(|(i, ring)| Some(i as u32 * self.ring_bytes + ring.book(slots)? * SLOT_BYTES))
    }

    /// Frees what [`PacketRings::book`] gave for a packet of at least one byte.
    pub fn free(&mut self, offset: u32) {
        self.rings[(offset / self.ring_bytes) as usize].free(offset % self.ring_bytes / SLOT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rings(n: u32, slots: u32) -> PacketRings {
        let ring = || Ring { n_slots: slots, booked: VecDeque::new(), tail: 0 };
        PacketRings { rings: (0..n).map(|_| ring()).collect(), ring_bytes: slots * SLOT_BYTES }
    }

    #[test]
    fn a_packet_wraps_into_the_gap_that_it_fills_exactly() {
        let mut buffer = rings(1, 8);
        assert_eq!([buffer.book(256), buffer.book(192)], [Some(0), Some(256)]);
        assert_eq!(buffer.book(128), None);
        buffer.free(0);
        assert_eq!(buffer.book(256), Some(0));
        assert_eq!(buffer.book(64), None);
        assert!(!buffer.has_room(64));
    }

    proptest! {
        /// No two packets overlap, and everything can be freed.
        #[test]
        fn bookings_never_overlap(steps in prop::collection::vec((0u32..700, any::<u8>()), 1..200)) {
            let mut buffer = rings(2, 16);
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (bytes, choice) in steps {
                if choice & 1 == 0 && bytes > 0 {
                    prop_assert_eq!(buffer.has_room(bytes), buffer.rings.iter().any(|r| r.fit(bytes.div_ceil(64)).is_some()));
                    if let Some(at) = buffer.book(bytes) {
                        for &(other, size) in &held {
                            prop_assert!(at >= other + size || other >= at + bytes, "{at}+{bytes} meets {other}+{size}");
                        }
                        prop_assert!(at / 1024 == (at + bytes - 1) / 1024, "{at}+{bytes} leaves its ring");
                        held.push((at, bytes));
                    }
                } else if !held.is_empty() {
                    let (at, _) = held.swap_remove(usize::from(choice) % held.len());
                    buffer.free(at);
                }
            }
            held.into_iter().for_each(|(at, _)| buffer.free(at));
            prop_assert!(buffer.has_room(1024));
        }
    }
}
