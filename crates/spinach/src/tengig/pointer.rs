//! Descriptor counts since reset, and the corresponding ring positions.

use kernel::Tx;
use std::collections::VecDeque;
use std::mem::discriminant;

/// A descriptor count, updated from an assist's ring position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    entries: u32,
    count: u32,
}

impl Pointer {
    /// For a ring of `entries`, a power of two.
    pub fn new(entries: u32) -> Pointer {
        assert!(entries.is_power_of_two(), "the number of entries must be a power of two");
        Pointer { entries, count: 0 }
    }

    /// Advances to a ring position, by less than a whole ring.
    pub fn move_to(&mut self, place: u32) {
        let on = place.wrapping_sub(self.count) & (self.entries - 1);
        self.count = self.count.wrapping_add(on);
    }

    /// Descriptors since reset, modulo 2^32.
    pub fn count(self) -> u32 {
        self.count
    }
}

/// Orders to an assist: only the latest of each kind is kept, in the order in which the kinds first appeared.
pub(super) struct Outbox<O> {
    pub tx: Tx<O>,
    waiting: VecDeque<O>,
}

impl<O> Outbox<O> {
    /// No orders yet.
    pub fn new(tx: Tx<O>) -> Outbox<O> {
        Outbox { tx, waiting: VecDeque::new() }
    }

    /// Adds an order; replaces an unsent one of the same kind.
    pub fn push(&mut self, order: O) {
        match self.waiting.iter_mut().find(|old| discriminant(*old) == discriminant(&order)) {
            Some(old) => *old = order,
            None => self.waiting.push_back(order),
        }
    }

    /// Sends as many orders as there is room for.
    pub fn send(&mut self) {
        while !self.waiting.is_empty() && self.tx.has_room() {
            self.waiting.pop_front().into_iter().for_each(|order| self.tx.send(order));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_positions_become_counts() {
        let mut pointer = Pointer::new(8);
        let counts: Vec<u32> = [3, 3, 7, 0, 6, 5].map(|place| (pointer.move_to(place), pointer.count()).1).to_vec();
        assert_eq!(counts, [3, 3, 7, 8, 14, 21]);
        pointer.count = u32::MAX;
        pointer.move_to(2);
        assert_eq!(pointer.count(), 2);
    }
}
