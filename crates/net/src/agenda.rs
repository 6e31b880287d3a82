//! Things to do in order of time.

use crate::ordered::Ordered;
use kernel::Time;

/// Where a thing stands in the order. Things are often large, and a queue moves its items: so it holds only this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<R> {
    at: Time,
    rank: R,
    /// Number among all things that were added.
    number: u64,
    /// Its place in the table of things.
    slot: u32,
}

/// Things to do at times. At one time, the order is that of their ranks, then the order in which they were added.
pub(crate) struct Agenda<R, T> {
    places: Ordered<Place<R>>,
    things: Vec<Option<T>>,
    free: Vec<u32>,
    number: u64,
}

impl<R: Ord + Copy, T> Default for Agenda<R, T> {
    fn default() -> Self {
        Agenda { places: Ordered::default(), things: Vec::new(), free: Vec::new(), number: 0 }
    }
}

impl<R: Ord + Copy, T> Agenda<R, T> {
    /// Adds a thing to do at `at`.
    pub fn push(&mut self, at: Time, rank: R, thing: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.things[slot as usize] = Some(thing);
                slot
            }
            None => {
                self.things.push(Some(thing));
                (self.things.len() - 1) as u32
            }
        };
        self.places.push(Place { at, rank, number: self.number, slot });
        self.number += 1;
    }

    /// The time of the first thing.
    pub fn next(&self) -> Option<Time> {
        self.places.first().map(|place| place.at)
    }

    /// Takes the first thing, with its time, if it is due at `until` or before.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, T)> {
        if self.next().is_none_or(|at| at > until) {
            return None;
        }
        let Place { at, slot, .. } = self.places.pop()?;
        self.free.push(slot);
        self.things[slot as usize].take().map(|thing| (at, thing))
    }

    /// Returns true if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.places.len() == 0
    }

    /// All things, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
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
        assert_eq!((agenda.iter().count(), agenda.things.len()), (100, 101));
    }
}
