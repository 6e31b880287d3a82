//! Races: accesses of two cores to the same bytes that nothing orders.
//!
//! Each core has a vector clock. Accesses are ordered by the program of a core; by atomics, each of which comes after the earlier atomics on its word;
//! by a load of a word, which comes after the earlier atomics on it; and by messages: a message comes after the one before it in its queue, its
//! header handler before its payload handlers, and its completion handler after them.
//!
//! Two unordered accesses race if one of them is a plain store, or both are not atomics and one stores. A plain load beside atomics does not race: a
//! load of a word is one access.

use std::collections::HashMap;

/// A vector clock: for each core, the number of its steps that come before.
#[derive(Clone, Default)]
struct Order(Vec<u32>);

impl Order {
    fn of(&self, core: usize) -> u32 {
        self.0.get(core).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Order) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, &other)| *own = (*own).max(other));
    }

    fn step(&mut self, core: usize) {
        self.0.resize(self.0.len().max(core + 1), 0);
        self.0[core] += 1;
    }
}

/// Type of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A plain load.
    Load,
    /// A plain store.
    Store,
    /// An atomic.
    Atomic,
}

impl Kind {
    fn conflicts(self, other: Kind) -> bool {
        matches!((self, other), (Kind::Store, _) | (_, Kind::Store))
    }
}

/// An access to bytes of a word; `T` says where it was.
#[derive(Clone, Debug)]
struct Access<T> {
    core: usize,
    step: u32,
    kind: Kind,
    /// Bit set of the bytes.
    bytes: u8,
    place: T,
}

/// Orders of a message queue.
#[derive(Default)]
struct Queue {
    /// Number of its message.
    message: Option<(usize, u64)>,
    /// Steps before the message's payload handlers.
    before: Order,
    /// Steps before its completion handler, and before the next message.
    ended: Order,
}

/// The accesses of cores and their order.
pub struct Races<T> {
    cores: Vec<Order>,
    words: HashMap<u32, Vec<Access<T>>>,
    /// Steps before the next atomic on a word.
    atomics: HashMap<u32, Order>,
    queues: HashMap<u16, Queue>,
}

impl<T: Clone> Races<T> {
    /// No accesses of `n` cores.
    pub fn new(n: usize) -> Self {
        let mut cores = vec![Order::default(); n];
        cores.iter_mut().enumerate().for_each(|(core, order)| order.step(core));
        Races { cores, words: HashMap::new(), atomics: HashMap::new(), queues: HashMap::new() }
    }

    /// A core begins a handler of a message in a queue.
    pub fn begin(&mut self, core: usize, queue: u16, message: (usize, u64), is_completion: bool) {
        let queue = self.queues.entry(queue).or_default();
        if queue.message != Some(message) {
            queue.message = Some(message);
            queue.before = queue.ended.clone();
        }
        self.cores[core].join(if is_completion { &queue.ended } else { &queue.before });
    }

    /// A core ends a handler.
    pub fn end(&mut self, core: usize, queue: u16, is_header: bool) {
        let queue = self.queues.entry(queue).or_default();
        queue.ended.join(&self.cores[core]);
        if is_header {
            queue.before.join(&self.cores[core]);
        }
        self.cores[core].step(core);
    }

    /// Forgets the accesses to a range, because it has new contents.
    pub fn forget(&mut self, addr: u32, bytes: u32) {
        for word in addr / 4..(addr.saturating_add(bytes)).div_ceil(4) {
            self.words.remove(&word);
        }
    }

    /// A core starts an atomic on a word. The core's earlier accesses come before later atomics of other cores on this
    /// word.
    pub fn release(&mut self, core: usize, addr: u32) {
        self.atomics.entry(addr / 4).or_default().join(&self.cores[core]);
        self.cores[core].step(core);
    }

    /// A core has the result of an atomic or of a load. Accesses that other cores made before their atomics on this
    /// word come before the core's later accesses.
    pub fn acquire(&mut self, core: usize, addr: u32) {
        if let Some(order) = self.atomics.get(&(addr / 4)) {
            self.cores[core].join(order);
        }
    }

    /// Records an access of at most 4 bytes. Returns the core and the place of an earlier access with which it races.
    pub fn access(&mut self, core: usize, addr: u32, bytes: u32, kind: Kind, place: &T) -> Option<(usize, T)> {
        let mut found = None;
        let mask = ((1u16 << bytes) - 1) << (addr % 4);
        for (word, bytes) in [(addr / 4, mask as u8 & 15), (addr / 4 + 1, (mask >> 4) as u8)] {
            if bytes != 0 {
                found = found.or(self.word(core, word, bytes, kind, place));
            }
        }
        found
    }

    fn word(&mut self, core: usize, word: u32, bytes: u8, kind: Kind, place: &T) -> Option<(usize, T)> {
        let order = &self.cores[core];
        let known = self.words.entry(word).or_default();
        let is_before = |access: &Access<T>| access.core == core || access.step <= order.of(access.core);
        let race =
            known.iter().find(|access| access.bytes & bytes != 0 && access.kind.conflicts(kind) && !is_before(access));
        let found = race.map(|access| (access.core, access.place.clone()));
        // A store replaces all earlier accesses; any other access replaces earlier ones of its core and kind.
        known.retain(|access| {
            let is_same = access.core == core && access.kind == kind || kind == Kind::Store && is_before(access);
            !(is_same && access.bytes & !bytes == 0)
        });
        known.push(Access { core, step: order.of(core), kind, bytes, place: place.clone() });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_without_order_race() {
        let mut races = Races::new(2);
        assert_eq!(races.access(0, 0x100, 4, Kind::Store, &'a'), None);
        assert_eq!(races.access(1, 0x102, 1, Kind::Load, &'b'), Some((0, 'a')));
        assert_eq!(races.access(1, 0x104, 4, Kind::Load, &'c'), None);
        assert_eq!(races.access(0, 0x104, 4, Kind::Load, &'d'), None, "two loads");
        assert_eq!(races.access(0, 0x106, 4, Kind::Store, &'e'), Some((1, 'c')), "across two words");
    }

    #[test]
    fn bytes_beside_each_other_do_not_race() {
        let mut races = Races::new(2);
        assert_eq!(races.access(0, 0x100, 1, Kind::Store, &'a'), None);
        assert_eq!(races.access(1, 0x101, 1, Kind::Store, &'b'), None);
        assert_eq!(races.access(0, 0x101, 1, Kind::Load, &'c'), Some((1, 'b')));
    }

    #[test]
    fn a_lock_orders_what_it_protects() {
        let mut races = Races::new(2);
        races.access(0, 0x100, 4, Kind::Store, &'a');
        races.release(0, 0x200);
        races.acquire(1, 0x200);
        assert_eq!(races.access(1, 0x100, 4, Kind::Store, &'b'), None);
        assert_eq!(races.access(0, 0x100, 4, Kind::Load, &'c'), Some((1, 'b')), "after the lock was released");
    }

    #[test]
    fn atomics_race_with_plain_stores_only() {
        let mut races = Races::new(3);
        assert_eq!(races.access(0, 0x100, 4, Kind::Atomic, &'a'), None);
        assert_eq!(races.access(1, 0x100, 4, Kind::Atomic, &'b'), None);
        assert_eq!(races.access(1, 0x100, 4, Kind::Load, &'c'), None);
        assert_eq!(races.access(2, 0x100, 4, Kind::Store, &'d'), Some((0, 'a')));
    }

    #[test]
    fn handlers_of_a_message_are_ordered_and_payload_handlers_are_not() {
        let (mut races, first, second) = (Races::new(3), (0, 0), (0, 1));
        races.begin(0, 7, first, false);
        races.access(0, 0x100, 4, Kind::Store, &'h');
        races.end(0, 7, true);
        races.begin(1, 7, first, false);
        races.begin(2, 7, first, false);
        assert_eq!(races.access(1, 0x100, 4, Kind::Store, &'p'), None);
        assert_eq!(races.access(2, 0x100, 4, Kind::Store, &'q'), Some((1, 'p')));
        races.end(1, 7, false);
        races.end(2, 7, false);
        races.begin(0, 7, first, true);
        assert_eq!(races.access(0, 0x100, 4, Kind::Store, &'c'), None);
        races.end(0, 7, false);
        races.begin(2, 7, second, false);
        assert_eq!(races.access(2, 0x100, 4, Kind::Load, &'n'), None, "the next message of the queue");
        races.begin(1, 8, (0, 2), false);
        assert_eq!(races.access(1, 0x100, 4, Kind::Load, &'o'), Some((0, 'c')), "a message of another queue");
    }
}
