//! Packet memory in slots of two sizes.

use std::collections::VecDeque;

/// A packet in its slot.
struct Piece<T> {
    offset: u32,
    freed: bool,
    what: T,
}

/// The slots of one size.
struct Kind {
    bytes: u32,
    /// Offsets of free slots, longest free first.
    free: VecDeque<u32>,
    first: u32,
    n: u32,
}

impl Kind {
    fn new(first: u32, bytes: u32, n: u32) -> Self {
        Kind { bytes, free: (0..n).map(|i| first + i * bytes).collect(), first, n }
    }

    fn has(&self, offset: u32) -> bool {
        (self.first..self.first + self.n * self.bytes).contains(&offset)
    }

    fn occupied(&self) -> u32 {
        (self.n - self.free.len() as u32) * self.bytes
    }
}

/// Gives each packet a slot of the smallest size that holds it. A freed slot goes to the end of the FIFO of its size.
///
/// Source:  FPsPIN f5feca1, `pspin_pkt_alloc.v`: large slots from the start of packet memory, small ones behind them; a
///          FIFO of free slots for each size.
/// Differs: if a size has no free slot, the RTL accepts no packet of any size, and the NIC's receive FIFO overflows.
pub struct Slots<T> {
    large: Kind,
    small: Kind,
    /// Packets, oldest first.
    pieces: VecDeque<Piece<T>>,
    /// Number of packets that have left.
    n_left: u64,
}

impl<T> Slots<T> {
    /// Slots of these numbers and sizes.
    pub fn new((n_large, large_bytes): (u32, u32), (n_small, small_bytes): (u32, u32)) -> Self {
        let large = Kind::new(0, large_bytes, n_large);
        let small = Kind::new(n_large * large_bytes, small_bytes, n_small);
        Slots { large, small, pieces: VecDeque::new(), n_left: 0 }
    }

    fn kind(&mut self, offset: u32) -> &mut Kind {
        if self.small.has(offset) { &mut self.small } else { &mut self.large }
    }

    /// Bytes of the largest packet that fits into a slot.
    pub fn most_bytes(&self) -> u32 {
        self.large.bytes
    }

    /// The offset of the slot for a packet of `size` bytes, if one is free.
    pub fn find_room(&self, size: u32) -> Option<u32> {
        let kind = if size <= self.small.bytes { &self.small } else { &self.large };
        kind.free.front().copied().filter(|_| size <= kind.bytes)
    }

    /// Takes the slot at `offset`, which [`Slots::find_room`] has returned.
    pub fn push(&mut self, offset: u32, what: T) {
        let taken = self.kind(offset).free.pop_front();
        assert_eq!(taken, Some(offset), "the slot that has been free for longest is next");
        self.pieces.push_back(Piece { offset, freed: false, what });
    }

    /// The `nth` packet that was pushed, counted from 0. Panics if it has left.
    pub fn get_mut(&mut self, nth: u64) -> &mut T {
        &mut self.pieces[(nth - self.n_left) as usize].what
    }

    /// The packets from the `nth` pushed one on, oldest first.
    pub fn iter_mut_from(&mut self, nth: u64) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().skip((nth - self.n_left) as usize).map(|piece| &mut piece.what)
    }

    /// Bytes of all slots that are not free.
    pub fn occupied(&self) -> u32 {
        self.large.occupied() + self.small.occupied()
    }

    /// Frees the slot of the `nth` pushed packet.
    pub fn free_nth(&mut self, nth: u64) {
        let piece = &mut self.pieces[(nth - self.n_left) as usize];
        piece.freed = true;
        let offset = piece.offset;
        self.kind(offset).free.push_back(offset);
    }

    /// Frees the slot at `offset`. Returns `None` if it is free already.
    pub fn free(&mut self, offset: u32) -> Option<&T> {
        let at = self.position(offset)?;
        self.free_nth(self.n_left + at as u64);
        Some(&self.pieces[at].what)
    }

    /// The packet in the slot at `offset`, if the slot is not free.
    pub fn at(&self, offset: u32) -> Option<&T> {
        self.position(offset).map(|at| &self.pieces[at].what)
    }

    fn position(&self, offset: u32) -> Option<usize> {
        self.pieces.iter().position(|piece| piece.offset == offset && !piece.freed)
    }

    /// Forgets the oldest packets while their slots are free.
    pub fn reclaim(&mut self) {
        while self.pieces.front().is_some_and(|piece| piece.freed) {
            self.pieces.pop_front();
            self.n_left += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Two large slots of 1536 bytes and two small ones of 128. Words: a number is the size of a packet, `-offset` frees a slot.
    fn check(script: &str, want: Expect) {
        let mut slots = Slots::new((2, 1536), (2, 128));
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let step = |word: &str| match word.strip_prefix('-') {
            Some(offset) => {
                let freed = slots.free(number(offset)).copied();
                slots.reclaim();
                freed.map_or("not taken".into(), |size: u32| format!("freed {size}"))
            }
            None => match slots.find_room(number(word)) {
                Some(offset) => {
                    slots.push(offset, number(word));
                    format!("at {offset}, {} occupied", slots.occupied())
                }
                None => "no slot".into(),
            },
        };
        want.assert_eq(&script.split(' ').map(step).collect::<Vec<_>>().join("; "));
    }

    #[test]
    fn a_packet_gets_the_smallest_slot_that_holds_it() {
        check(
            "128 129 1 1536 60 64 1000",
            expect![
                "at 3072, 128 occupied; at 0, 1664 occupied; at 3200, 1792 occupied; at 1536, 3328 occupied; no slot; no slot; no slot"
            ],
        );
        check("1537 1536", expect!["no slot; at 0, 1536 occupied"]);
    }

    #[test]
    fn slots_come_back_in_any_order_and_are_used_again_in_that_order() {
        check(
            "200 200 -1536 300 -0 -0 -1536 400 500",
            expect![
                "at 0, 1536 occupied; at 1536, 3072 occupied; freed 200; at 1536, 3072 occupied; freed 200; not taken; freed 300; at 0, 1536 occupied; at 1536, 3072 occupied"
            ],
        );
    }
}
