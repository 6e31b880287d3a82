//! Packets inside a card and the parts of their time, in one form for all kinds of cards.
//!
//! A card gives each packet a number when it enters ([`Inside`]) and records the milestones that it passes. Each milestone ends one part
//! of the packet's time ([`Parts`]). [`Latency`] sums the parts of all packets.

use crate::histogram::Histogram;
use crate::summary::{LatencySummary, Split};
use kernel::{Clock, Cycle};
use std::collections::VecDeque;

/// Packets inside a card, by number. Numbers count up from 0 in order of entry.
#[derive(Clone, Debug)]
pub struct Inside<T> {
    /// From the oldest packet that is inside to the newest; `None` for those that have left.
    packets: VecDeque<Option<T>>,
    /// Number of the first entry of `packets`.
    first: u64,
    count: u64,
}

impl<T> Default for Inside<T> {
    fn default() -> Self {
        Inside { packets: VecDeque::new(), first: 0, count: 0 }
    }
}

impl<T> Inside<T> {
    /// A packet enters. Returns its number.
    pub fn enter(&mut self, packet: T) -> u64 {
        let number = self.next();
        self.packets.push_back(Some(packet));
        self.count += 1;
        number
    }

    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Number of packets inside.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A packet that is inside.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.packets.get(number.checked_sub(self.first)? as usize)?.as_ref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.packets.get_mut(number.checked_sub(self.first)? as usize)?.as_mut()
    }

    /// A packet leaves; `None` if it is not inside.
    pub fn leave(&mut self, number: u64) -> Option<T> {
        let packet = self.packets.get_mut(number.checked_sub(self.first)? as usize)?.take()?;
        self.count -= 1;
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(packet)
    }

    /// Packets inside with their numbers, in order of entry.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        (self.first..).zip(&self.packets).filter_map(|(number, packet)| Some((number, packet.as_ref()?)))
    }

    /// All packets leave, in order of entry.
    pub fn drain(&mut self) -> Vec<T> {
        self.first += self.packets.len() as u64;
        self.count = 0;
        self.packets.drain(..).flatten().collect()
    }
}

/// Cycles of a packet, by part. `N` is the number of parts that its kind of card knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<const N: usize> {
    /// Cycles in each part.
    pub cycles: [Cycle; N],
    /// Time of the last milestone.
    last: Cycle,
}

impl<const N: usize> Default for Parts<N> {
    fn default() -> Self {
        Parts::from(0)
    }
}

impl<const N: usize> Parts<N> {
    /// A packet whose first milestone is at this time.
    pub fn from(start: Cycle) -> Self {
        Parts { cycles: [0; N], last: start }
    }

    /// A milestone at which `part` ends. Returns the cycles since the last milestone. If the packet never passed this
    /// milestone, or passed it before the last one, the part takes no time.
    pub fn end(&mut self, part: usize, at: Option<Cycle>) -> Cycle {
        let cycles = self.pass(at);
        self.cycles[part] += cycles;
        cycles
    }

    /// A milestone that ends no part: the time before it is not counted.
    pub fn pass(&mut self, at: Option<Cycle>) -> Cycle {
        let at = at.unwrap_or(self.last).max(self.last);
        at - std::mem::replace(&mut self.last, at)
    }

    /// Moves at most `cycles` cycles from part `from` to part `to`.
    pub fn shift(&mut self, from: usize, to: usize, cycles: Cycle) {
        let cycles = cycles.min(self.cycles[from]);
        self.cycles[from] -= cycles;
        self.cycles[to] += cycles;
    }
}

/// Times of packets in a card, and of each part.
#[derive(Clone, Debug)]
pub struct Latency<const N: usize> {
    /// Cycles of each packet.
    whole: Histogram,
    /// Cycles of each packet in each part.
    parts: [Histogram; N],
}

impl<const N: usize> Default for Latency<N> {
    fn default() -> Self {
        Latency { whole: Histogram::default(), parts: std::array::from_fn(|_| Histogram::default()) }
    }
}

impl<const N: usize> Latency<N> {
    /// Adds a packet.
    pub fn add(&mut self, whole: Cycle, parts: &[Cycle; N]) {
        self.whole.add(whole);
        self.parts.iter_mut().zip(parts).for_each(|(part, &cycles)| part.add(cycles));
    }

    /// The row of the summary: parts with these names, without empty ones. `None` without packets.
    pub(crate) fn summary(&self, clock: Clock, names: [&'static str; N]) -> Option<LatencySummary> {
        LatencySummary::of(clock, &self.whole, Split::of(clock, names.into_iter().zip(&self.parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_packets_leave_in_another_order() {
        let mut inside = Inside::default();
        assert_eq!(["a", "b", "c"].map(|packet| inside.enter(packet)), [0, 1, 2]);
        assert_eq!((inside.leave(1), inside.leave(1), inside.count()), (Some("b"), None, 2));
        assert_eq!((inside.leave(0), inside.get(0), inside.get(2)), (Some("a"), None, Some(&"c")));
        assert_eq!(inside.iter().collect::<Vec<_>>(), [(2, &"c")]);
        assert_eq!((inside.enter("d"), inside.drain(), inside.count()), (3, vec!["c", "d"], 0));
        assert_eq!((inside.leave(3), inside.leave(9), inside.enter("e")), (None, None, 4));
    }

    #[test]
    fn parts_add_up_from_the_first_milestone_to_the_last() {
        let mut parts = Parts::<3>::from(10);
        let ends = [(0, Some(14)), (1, None), (2, Some(20)), (0, Some(19)), (1, Some(23))];
        assert_eq!(ends.map(|(part, at)| parts.end(part, at)), [4, 0, 6, 0, 3]);
        assert_eq!((parts.cycles, parts.cycles.iter().sum::<Cycle>()), ([4, 3, 6], 23 - 10));
        parts.shift(2, 0, 2);
        parts.shift(1, 0, 100);
        assert_eq!(parts.cycles, [9, 0, 4]);
        assert_eq!((parts.pass(Some(30)), parts.end(2, Some(31)), parts.cycles), (7, 1, [9, 0, 5]));
    }
}
