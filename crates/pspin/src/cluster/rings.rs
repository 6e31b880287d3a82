//! The packet buffer in L1: a few rings of 64-byte slots.

use crate::params::ClusterParams;

const SLOT_BYTES: u32 = 64;

/// One ring. Packets take contiguous slots at the tail; slots are freed in any order and reused in order.
struct Ring {
    /// True for each booked slot.
    booked: Vec<bool>,
    n_booked: u32,
    head: u32,
    tail: u32,
    gaps_misbooked: bool,
}

/// Position of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fit {
    first: u32,
    is_booked: bool,
}

impl Ring {
    fn new(n_slots: u32, gaps_misbooked: bool) -> Self {
        Ring { booked: vec![false; n_slots as usize], n_booked: 0, head: 0, tail: 0, gaps_misbooked }
    }

    fn n_slots(&self) -> u32 {
        self.booked.len() as u32
    }

    fn is_full(&self) -> bool {
        self.head == self.tail && self.n_booked > 0
    }

    /// The first of `slots` contiguous slots, if the ring has them.
    fn fit(&self, slots: u32) -> Option<Fit> {
        let at = |first| Some(Fit { first, is_booked: true });
        if self.largest() < slots {
            None
        } else if self.head > self.tail || self.n_slots() - self.tail >= slots {
            at(self.tail)
        } else if slots == self.head && self.gaps_misbooked {
            Some(Fit { first: self.tail, is_booked: false })
        } else {
            at(0)
        }
    }

    fn largest(&self) -> u32 {
        if self.is_full() {
            0
        } else if self.head <= self.tail {
            self.head.max(self.n_slots() - self.tail)
        } else {
            self.head - self.tail
        }
    }

    fn book(&mut self, slots: u32) -> Option<u32> {
        let Fit { first, is_booked } = self.fit(slots)?;
        if is_booked {
            self.toggle(first, slots);
            self.tail = (first + slots) % self.n_slots();
        }
        Some(first)
    }

    /// Inverts slots: booked ones become free, and free ones booked. If a packet was not booked, its release books
    /// slots that are never freed.
    fn toggle(&mut self, first: u32, slots: u32) {
        for slot in self.booked.iter_mut().skip(first as usize).take(slots as usize) {
            *slot = !*slot;
            self.n_booked = if *slot { self.n_booked + 1 } else { self.n_booked - 1 };
        }
    }

    fn free(&mut self, first: u32, slots: u32) {
        self.toggle(first, slots);
        if self.n_booked == 0 {
            (self.head, self.tail) = (0, 0);
        } else if self.head != self.tail || !self.gaps_misbooked {
            while !self.booked[self.head as usize] {
                self.head = (self.head + 1) % self.n_slots();
                if self.head == self.tail {
                    break;
                }
            }
        }
    }
}

/// The rings of a cluster; a packet goes to the first that has room.
///
/// Source:  PsPIN RTL a49fec8, `cluster_rb_shim.sv`, `cluster_rb.sv`.
/// Mistake: `rtl_mistakes.l1_gaps_misbooked`.
/// Differs: freed slots are usable in the next cycle.
pub struct PacketRings {
    rings: Vec<Ring>,
    ring_bytes: u32,
}

impl PacketRings {
    pub fn new(params: &ClusterParams, gaps_misbooked: bool) -> Self {
        let ring_bytes = params.packet_buffer_bytes / params.packet_buffer_rings;
        let ring = || Ring::new(ring_bytes / SLOT_BYTES, gaps_misbooked);
        PacketRings { rings: (0..params.packet_buffer_rings).map(|_| ring()).collect(), ring_bytes }
    }

    /// Bytes of all slots.
    pub fn bytes(&self) -> u64 {
        u64::from(self.ring_bytes) * self.rings.len() as u64
    }

    /// Bytes of the booked slots.
    pub fn booked_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| u64::from(ring.n_booked) * u64::from(SLOT_BYTES)).sum()
    }

    /// Returns true if one of the rings has room for a packet of this size.
    pub fn has_room(&self, bytes: u32) -> bool {
        let slots = bytes.div_ceil(SLOT_BYTES);
        self.rings.iter().any(|ring| ring.largest() >= slots)
    }

    /// Books room. Returns its offset in the packet buffer. A packet of 0 bytes takes no room and gets offset 0.
    pub fn book(&mut self, bytes: u32) -> Option<u32> {
        let slots = bytes.div_ceil(SLOT_BYTES);
        if slots == 0 {
            return Some(0);
        }
        let mut rings = self.rings.iter_mut().enumerate();
        rings.find_map(|(i, ring)| Some(i as u32 * self.ring_bytes + ring.book(slots)? * SLOT_BYTES))
    }

    /// Frees the room that [`PacketRings::book`] returned for a packet of `bytes` bytes, at least one.
    pub fn free(&mut self, offset: u32, bytes: u32) {
        let slot = offset % self.ring_bytes / SLOT_BYTES;
        self.rings[(offset / self.ring_bytes) as usize].free(slot, bytes.div_ceil(SLOT_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rings(n: u32, slots: u32) -> PacketRings {
        let ring = || Ring::new(slots, false);
        PacketRings { rings: (0..n).map(|_| ring()).collect(), ring_bytes: slots * SLOT_BYTES }
    }

    #[test]
    fn a_packet_wraps_into_the_gap_that_it_fills_exactly() {
        let mut buffer = rings(1, 8);
        assert_eq!([buffer.book(256), buffer.book(192)], [Some(0), Some(256)]);
        assert_eq!(buffer.book(128), None);
        buffer.free(0, 256);
        assert_eq!(buffer.book(256), Some(0));
        assert_eq!(buffer.book(64), None);
        assert!(!buffer.has_room(64));
    }

    #[test]
    fn a_gap_that_is_filled_exactly_is_misbooked_by_the_rtl() {
        let mut buffer = rings(1, 8);
        buffer.rings[0].gaps_misbooked = true;
        assert_eq!([buffer.book(256), buffer.book(192)], [Some(0), Some(256)]);
        buffer.free(0, 256);
        assert_eq!(buffer.book(256), Some(448), "behind the ring's end, and not booked");
        assert_eq!(buffer.book(192), Some(0), "over what it has of the ring");
    }

    #[test]
    fn a_full_ring_of_the_rtl_takes_nothing_until_it_is_empty() {
        for misbooked in [false, true] {
            let mut buffer = rings(1, 8);
            buffer.rings[0].gaps_misbooked = misbooked;
            assert_eq!([buffer.book(256), buffer.book(256)], [Some(0), Some(256)]);
            buffer.free(0, 256);
            assert_eq!(buffer.has_room(64), !misbooked);
            buffer.free(256, 256);
            assert_eq!(buffer.book(512), Some(0));
        }
    }

    proptest! {
        /// Packets do not overlap, and all of them can be freed.
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
                    let (at, size) = held.swap_remove(usize::from(choice) % held.len());
                    buffer.free(at, size);
                }
            }
            held.into_iter().for_each(|(at, size)| buffer.free(at, size));
            prop_assert!(buffer.has_room(1024));
        }
    }
}
