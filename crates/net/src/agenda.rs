//! Items in order of time.

use crate::ordered::Ordered;
use kernel::Time;

/// The position of an item in the order. Items are often large, and a queue moves its entries, so the queue holds only positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<R> {
    at: Time,
    rank: R,
    /// Number among all items that were added.
    number: u64,
    /// Index of the item in the table.
    slot: u32,
}

/// Items, each due at a time. Items of one time are in the order of their ranks, and those of one rank in the order in which they
/// were added.
pub(crate) struct Agenda<R, T> {
    places: Ordered<Place<R>>,
    items: Vec<Option<T>>,
    free: Vec<u32>,
    number: u64,
}

impl<R: Ord + Copy, T> Default for Agenda<R, T> {
    fn default() -> Self {
        Agenda { places: Ordered::default(), items: Vec::new(), free: Vec::new(), number: 0 }
    }
}

impl<R: Ord + Copy, T> Agenda<R, T> {
    /// Adds an item that is due at `at`.
    pub fn push(&mut self, at: Time, rank: R, item: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = Some(item);
                slot
            }
            None => {
                self.items.push(Some(item));
                (self.items.len() - 1) as u32
            }
        };
        self.places.push(Place { at, rank, number: self.number, slot });
        self.number += 1;
    }

    /// The time of the first item.
    pub fn next(&self) -> Option<Time> {
        self.places.first().map(|place| place.at)
    }

    /// Takes the first item, with its time, if it is due at `until` or before.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, T)> {
        if self.next().is_none_or(|at| at > until) {
            return None;
        }
        let Place { at, slot, .. } = self.places.pop()?;
        self.free.push(slot);
        self.items[slot as usize].take().map(|item| (at, item))
    }

    /// Returns true if it has no items.
    pub fn is_empty(&self) -> bool {
        self.places.len() == 0
    }

    /// All items, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_comes_first_then_rank_then_the_order_of_adding() {
        let mut agenda = Agenda::default();
        for (at, rank, name) in [(5, 1, "a"), (5, 0, "b"), (3, 9, "c"), (5, 1, "d"), (4, 0, "e")] {
            agenda.push(Time::from_ns(at), rank, name);
        }
        let mut take = |until| {
            let until = Time::from_ns(until);
            std::iter::from_fn(|| agenda.pop_until(until)).map(|(_, name)| name).collect::<String>()
        };
        assert_eq!([take(2), take(4), take(9)], ["", "ce", "bad"]);
    }

    #[test]
    fn a_slot_is_used_again() {
        let mut agenda = Agenda::default();
        for i in 0..100 {
            agenda.push(Time::from_ns(i), (), i);
            agenda.push(Time::from_ns(i + 1000), (), i);
            assert_eq!(agenda.pop_until(Time::from_ns(i)), Some((Time::from_ns(i), i)));
        }
        assert_eq!((agenda.iter().count(), agenda.items.len()), (100, 101));
    }
}
