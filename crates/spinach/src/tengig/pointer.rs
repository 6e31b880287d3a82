//! Numbers of descriptors since reset, and the places in rings that they stand for.

use kernel::Tx;
use std::collections::VecDeque;
use std::mem::discriminant;

/// How many descriptors an assist has passed, told as places in a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    entries: u32,
    count: u32,
}

impl Pointer {
    /// Into a ring of so many entries, a power of two.
    pub fn new(entries: u32) -> Pointer {
        assert!(entries.is_power_of_two(), "places follow from numbers");
        Pointer { entries, count: 0 }
    }

    /// The assist is at this place now: less than a whole round on.
    pub fn move_to(&mut self, place: u32) {
        let on = place.wrapping_sub(self.count) & (self.entries - 1);
        self.count = self.count.wrapping_add(on);
    }

    /// Descriptors since reset, modulo 2^32.
    pub fn count(self) -> u32 {
        self.count
    }
}

/// Orders on their way to an assist: of each kind the latest, in the order of their kinds' first.
pub(super) struct Outbox<O> {
    pub tx: Tx<O>,
    waiting: VecDeque<O>,
}

impl<O> Outbox<O> {
    /// To an assist that has heard nothing.
    pub fn new(tx: Tx<O>) -> Outbox<O> {
        Outbox { tx, waiting: VecDeque::new() }
    }

    /// Gives an order, in place of one of its kind that has not left.
    pub fn push(&mut self, order: O) {
        match self.waiting.iter_mut().find(|old| discriminant(*old) == discriminant(&order)) {
            Some(old) => *old = order,
            None => self.waiting.push_back(order),
        }
    }

    /// Sends what there is room for.
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
    fn places_become_numbers() {
        let mut pointer = Pointer::new(8);
        let counts: Vec<u32> = [3, 3, 7, 0, 6, 5].map(|place| (pointer.move_to(place), pointer.count()).1).to_vec();
        assert_eq!(counts, [3, 3, 7, 8, 14, 21]);
        pointer.count = u32::MAX;
        pointer.move_to(2);
        assert_eq!(pointer.count(), 2);
    }
}
