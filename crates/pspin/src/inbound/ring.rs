//! Ring allocator for variable-sized blocks of a memory, freed in any order and reused in order.

use std::collections::VecDeque;

struct Piece<T> {
    offset: u32,
    /// Bytes by which the ring advances when the block leaves.
    moves_by: u32,
    room: u32,
    freed: bool,
    what: T,
}

/// Allocates contiguous blocks in `size` bytes, each behind the previous one.
///
/// Source: PsPIN RTL a49fec8, `NICInbound.hpp`.
pub struct Ring<T> {
    size: u32,
    /// End of the newest block.
    tail: u32,
    /// Blocks, oldest first.
    pieces: VecDeque<Piece<T>>,
    /// Number of blocks that have left.
    n_left: u64,
    /// Address at which the ring waits for a block to be freed, if an earlier block advanced it by more or less than
    /// its size.
    astray: Option<u32>,
}

impl<T> Ring<T> {
    pub fn new(size: u32) -> Self {
        Ring { size, tail: 0, pieces: VecDeque::new(), n_left: 0, astray: None }
    }

    /// Returns the address for a block of `room` bytes: behind the newest, or at the start if it does not fit before
    /// the end.
    pub fn find_room(&self, room: u32) -> Option<u32> {
        let fits_behind = self.size - self.tail >= room;
        let head = match (self.astray, self.pieces.front()) {
            (Some(head), _) => head,
            (None, None) if fits_behind => return Some(self.tail),
            (None, None) => return (room <= self.size).then_some(0),
            (None, Some(oldest)) => oldest.offset,
        };
        match self.tail > head {
            true if fits_behind => Some(self.tail),
            true => (head >= room).then_some(0),
            false => (head - self.tail >= room).then_some(self.tail),
        }
    }

    /// Allocates the block. When it leaves, the ring advances by `moves_by`.
    pub fn push(&mut self, offset: u32, room: u32, moves_by: u32, what: T) {
        self.tail = offset + room;
        self.pieces.push_back(Piece { offset, moves_by, room, freed: false, what });
    }

    /// The `nth` block that was pushed, counted from 0. Panics if it has left.
    pub fn get_mut(&mut self, nth: u64) -> &mut T {
        &mut self.pieces[(nth - self.n_left) as usize].what
    }

    /// The blocks from the `nth` pushed on, oldest first.
    pub fn iter_mut_from(&mut self, nth: u64) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().skip((nth - self.n_left) as usize).map(|piece| &mut piece.what)
    }

    /// Bytes from the oldest block to the newest, including gaps.
    pub fn occupied(&self) -> u32 {
        let Some(oldest) = self.pieces.front() else { return 0 };
        match self.tail > oldest.offset {
            true => self.tail - oldest.offset,
            false => self.size - oldest.offset + self.tail,
        }
    }

    /// Marks the `nth` pushed block as free.
    pub fn free_nth(&mut self, nth: u64) {
        self.pieces[(nth - self.n_left) as usize].freed = true;
    }

    /// Marks the block at `offset` as free. Returns `None` if there is no such block or it is free already.
    pub fn free(&mut self, offset: u32) -> Option<&T> {
        let at = self.position(offset)?;
        self.pieces[at].freed = true;
        Some(&self.pieces[at].what)
    }

    /// The block at `offset`, if it exists and is not free.
    pub fn at(&self, offset: u32) -> Option<&T> {
        self.position(offset).map(|at| &self.pieces[at].what)
    }

    fn position(&self, offset: u32) -> Option<usize> {
        let head = self.pieces.front()?.offset;
        // From the head on, with wrap-around, blocks are in order.
        let ahead = |offset: u32| (offset + self.size - head) % self.size;
        let at = self.pieces.partition_point(|piece| ahead(piece.offset) < ahead(offset));
        self.pieces.get(at).is_some_and(|piece| piece.offset == offset && !piece.freed).then_some(at)
    }

    /// Removes the oldest blocks while they are free.
    pub fn reclaim(&mut self) {
        while let Some(&Piece { offset, moves_by, room, freed: true, .. }) = self.pieces.front()
            && self.astray.is_none_or(|head| head == offset)
        {
            self.pieces.pop_front();
            self.n_left += 1;
            self.astray = (moves_by != room).then_some(offset + moves_by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Blocks never overlap, and an empty ring accepts any block that is not larger than the ring.
        #[test]
        fn pieces_do_not_overlap(steps in prop::collection::vec((1u32..40, 0usize..8), 1..300)) {
            let mut ring = Ring::new(64);
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (room, victim) in steps {
                if let Some(offset) = ring.find_room(room) {
                    prop_assert!(offset + room <= 64);
                    let apart = |&(other, size): &(u32, u32)| offset + room <= other || other + size <= offset;
                    prop_assert!(held.iter().all(apart), "{offset}+{room} in {held:?}");
                    ring.push(offset, room, room, room);
                    held.push((offset, room));
                } else {
                    prop_assert!(!ring.pieces.is_empty());
                }
                if victim < held.len() {
                    let (offset, room) = held.remove(victim);
                    prop_assert_eq!(ring.free(offset), Some(&room));
                    prop_assert_eq!(ring.free(offset), None);
                    ring.reclaim();
                }
            }
        }
    }

    #[test]
    fn room_comes_back_in_order() {
        let mut ring = Ring::new(128);
        ring.push(0, 64, 64, 'a');
        ring.push(64, 64, 64, 'b');
        assert_eq!(ring.find_room(64), None);
        assert_eq!(ring.free(64), Some(&'b'));
        ring.reclaim();
        assert_eq!(ring.find_room(64), None);
        assert_eq!(ring.free(0), Some(&'a'));
        ring.reclaim();
        assert_eq!(ring.find_room(128), Some(0));
    }

    #[test]
    fn a_ring_that_moves_on_by_less_than_a_piece_waits_for_ever() {
        let mut ring = Ring::new(256);
        ring.push(0, 128, 64, 'a');
        ring.push(128, 64, 64, 'b');
        for offset in [0, 128] {
            ring.free(offset);
            ring.reclaim();
        }
        assert_eq!((ring.find_room(64), ring.find_room(128)), (Some(192), None));
        ring.push(192, 64, 64, 'c');
        assert_eq!(ring.find_room(128), None);
    }
}
