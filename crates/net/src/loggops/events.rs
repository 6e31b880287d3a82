//! Events, ordered by time and then by creation; and operations that wait for a processor or a card.

use super::matching::Mix;
use super::record::Cause;
use crate::ordered::Ordered;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The turn of an operation, or of a message at its receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    /// In femtoseconds.
    pub time: u64,
    /// Position in the order of creation. It stays the same when the event is deferred.
    pub number: u64,
    /// The operation; for a message, its send operation.
    pub op: u32,
    /// The rank of the operation, and flags.
    rank: u32,
}

/// The event is a message that arrives.
const MESSAGE: u32 = 1 << 31;
/// The event is the first of a group and represents all events of the group.
const FIRST: u32 = 1 << 30;

impl Event {
    pub fn new(time: u64, number: u64, op: u32, rank: u32, is_message: bool) -> Event {
        Event { time, number, op, rank: rank | if is_message { MESSAGE } else { 0 } }
    }

    pub fn rank(self) -> u32 {
        self.rank & !(MESSAGE | FIRST)
    }

    pub fn is_message(self) -> bool {
        self.rank & MESSAGE != 0
    }
}

/// Events that wait until the same time for the same processor and card. The event that was created first is in front.
struct Group {
    until: u64,
    cause: Cause,
    /// Number, operation, and rank with flags.
    waiting: Ordered<(u64, u32, u32)>,
}

/// The events of a run.
///
/// If an event's processor or card is busy, the event waits until it is free. Many events may wait for one processor, and each
/// time only the first of them has its turn. So events that wait for the same processor and card form a group, and only the first
/// event of a group is in the queue. The cost of an event does not depend on the number of waiting events.
pub struct Events {
    queue: Ordered<Event>,
    groups: HashMap<u64, Vec<Group>, BuildHasherDefault<Mix>>,
}

impl Events {
    pub fn new() -> Events {
        Events { queue: Ordered::default(), groups: HashMap::default() }
    }

    pub fn push(&mut self, event: Event) {
        self.queue.push(event);
    }

    /// Takes the next event. The flag is true if the event waited in a group; then [`Events::is_first`] tells if it is
    /// still the first of the group.
    pub fn pop(&mut self) -> Option<(Event, bool)> {
        let mut event = self.queue.pop()?;
        let waited = event.rank & FIRST != 0;
        event.rank &= !FIRST;
        Some((event, waited))
    }

    /// True if an event that waited is still the first one of its group.
    pub fn is_first(&self, place: u64, event: Event) -> bool {
        let group = self.groups.get(&place).and_then(|groups| groups.iter().find(|group| group.until == event.time));
        group.and_then(|group| group.waiting.first()).is_some_and(|first| first.0 == event.number)
    }

    /// Removes an event from its group, of which it is the first. The next event of the group has its turn at the same
    /// time.
    pub fn leave(&mut self, place: u64, event: Event) -> Option<Cause> {
        let groups = self.groups.get_mut(&place)?;
        let at = groups.iter().position(|group| group.until == event.time)?;
        let group = &mut groups[at];
        group.waiting.pop();
        let cause = group.cause;
        match group.waiting.first() {
            Some((number, op, rank)) => {
                self.queue.push(Event { time: event.time, number, op, rank: rank | FIRST });
            }
            None => {
                groups.swap_remove(at);
                if groups.is_empty() {
                    self.groups.remove(&place);
                }
            }
        }
        Some(cause)
    }

    /// Defers an event that has not waited yet.
    pub fn wait(&mut self, place: u64, event: Event, until: u64, cause: Cause) {
        let groups = self.groups.entry(place).or_default();
        let entry = (event.number, event.op, event.rank);
        let is_first = match groups.iter_mut().find(|group| group.until == until) {
            Some(group) => {
                group.waiting.push(entry);
                group.waiting.first() == Some(entry)
            }
            None => {
                let mut waiting = Ordered::default();
                waiting.push(entry);
                groups.push(Group { until, cause, waiting });
                true
            }
        };
        if is_first {
            self.queue.push(Event { time: until, rank: event.rank | FIRST, ..event });
        }
    }

    /// Postpones a whole group: its first event was due, but must still wait.
    pub fn wait_longer(&mut self, place: u64, event: Event, until: u64, cause: Cause) {
        let Some(groups) = self.groups.get_mut(&place) else { return };
        let Some(at) = groups.iter().position(|group| group.until == event.time) else { return };
        let mut moved = groups.swap_remove(at);
        (moved.until, moved.cause) = (until, cause);
        if let Some(at) = groups.iter().position(|group| group.until == until) {
            let mut other = groups.swap_remove(at);
            if other.waiting.len() > moved.waiting.len() {
                std::mem::swap(&mut other, &mut moved);
            }
            moved.waiting.append(other.waiting);
        }
        if let Some((number, op, rank)) = moved.waiting.first() {
            self.queue.push(Event { time: until, number, op, rank: rank | FIRST });
        }
        groups.push(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::RandomStream;

    #[test]
    fn the_least_item_is_taken_first() {
        for seed in 0..100 {
            let mut random = RandomStream::new(seed, "ordered");
            let (mut ordered, mut plain) = (Ordered::default(), Vec::new());
            let mut other = Ordered::default();
            for step in 0..200 {
                let item = step / 3 + random.below(1 + 20 * (seed % 3));
                match random.below(4) {
                    0 => {
                        let least = plain.iter().min().copied();
                        assert_eq!((ordered.first(), ordered.pop()), (least, least), "seed {seed}");
                        plain.iter().position(|item| Some(*item) == least).map(|at| plain.swap_remove(at));
                    }
                    1 => other.push(item),
                    _ => {
                        ordered.push(item);
                        plain.push(item);
                    }
                }
            }
            while let Some(item) = other.pop() {
                plain.push(item);
                let mut one = Ordered::default();
                one.push(item);
                ordered.append(one);
            }
            assert_eq!(ordered.len(), plain.len());
            plain.sort_unstable();
            assert_eq!(std::iter::from_fn(|| ordered.pop()).collect::<Vec<_>>(), plain, "seed {seed}");
        }
    }
}
