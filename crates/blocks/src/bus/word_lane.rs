//! Accesses to single words over a direct connection: like the channels of a connection, with less work for each access.
//!
//! A core accesses its memory in every third instruction. Over channels, each access is stored, woken for and unpacked several times.
//! A memory can offer a [`WordLane`] ([`kernel::Rx::offer`]) to a requester that is connected to it directly and has the same clock. If
//! the requester opens the lane, it uses only the lane, and the channels stay empty. The times are the same: an access that is sent in
//! cycle *k* is at the memory in cycle *k* + 1, and an answer is visible in the cycle after it was sent.
//!
//! The lane has two more properties, with which a requester can act ahead of its ticks:
//!
//! - The memory says which accesses it never refuses. After such an access, the requester need not wait for the answer.
//! - Answers to writes leave the requester asleep, if it wants that. It takes them at its next tick.

use super::{Access, BusError, Data, Link, Reference, word};
use kernel::{Cycle, Time};
use std::cell::Cell;
use std::rc::Rc;

/// Maximum number of accesses without an answer that was taken.
pub const MOST_WORDS: usize = 4;

/// An access to an aligned word of four bytes, or to a part of it.
#[derive(Clone, Copy, Debug)]
pub enum WordOp {
    /// Reads the whole word.
    Read,
    /// Writes the first `n` of these bytes.
    Write {
        /// Bytes in address order.
        data: [u8; 4],
        /// Number of bytes to write.
        n: u8,
    },
    /// Load linked or store conditional.
    Linked(Link),
}

/// An access on its way to the memory.
#[derive(Clone, Copy, Debug)]
pub struct WordAccess {
    /// The cycle from which the memory sees it.
    pub at: Cycle,
    /// Byte address.
    pub addr: u64,
    /// The operation.
    pub op: WordOp,
}

/// The answer to a [`WordAccess`].
#[derive(Clone, Copy, Debug)]
pub struct WordAnswer {
    /// The cycle from which the requester sees it.
    pub at: Cycle,
    /// The word read and the token of its link, if it has one; or the error.
    pub result: Result<(u32, u32), BusError>,
    /// Time spent waiting for other requesters.
    pub waited: Time,
}

/// A lane between a requester and a memory.
pub struct WordLane {
    /// The range in which the memory refuses no reads and writes of words.
    base: u64,
    bytes: u64,
    /// The memory also accepts writes to parts of words there.
    accepts_parts: bool,
    accesses: Queue<WordAccess>,
    answers: Queue<WordAnswer>,
    is_open: Cell<bool>,
    is_quiet: Cell<bool>,
    /// A set of the memory, and the member in it that says that this lane has accesses.
    arrivals: (Rc<Cell<u64>>, u64),
}

impl WordOp {
    /// Returns true if the access reads.
    pub fn is_read(self) -> bool {
        matches!(self, WordOp::Read | WordOp::Linked(Link::Load))
    }

    /// The same operation as an access over a channel.
    pub fn access(self) -> Access {
        match self {
            WordOp::Read => Access::Read(4),
            WordOp::Write { data, n } => Access::Write(Data::from_slice(&data[..n.into()])),
            WordOp::Linked(link) => Access::Linked(link),
        }
    }
}

impl WordAccess {
    /// The same access over a channel.
    pub fn reference(self) -> Reference {
        Reference { id: 0, addr: self.addr, access: self.op.access() }
    }
}

/// The word that was read and the token of its link, from the bytes of a reply.
pub fn word_and_token(data: &[u8]) -> (u32, u32) {
    let (first, token) = data.split_at(data.len().min(4));
    (word(first), word(token))
}

impl WordLane {
    /// A lane to a memory that refuses no reads and writes of words or their parts in the `bytes` bytes from `base` on. While the lane has accesses,
    /// `member` is in the set `arrivals`.
    pub fn new(base: u64, bytes: u64, arrivals: &Rc<Cell<u64>>, member: u64) -> WordLane {
        WordLane {
            base,
            bytes,
            accepts_parts: true,
            accesses: Queue::default(),
            answers: Queue::default(),
            is_open: Cell::new(false),
            is_quiet: Cell::new(false),
            arrivals: (arrivals.clone(), member),
        }
    }

    /// The same, but the memory may refuse writes to parts of words.
    pub fn of_whole_words(self) -> WordLane {
        WordLane { accepts_parts: false, ..self }
    }

    /// For the requester: from now on, it uses the lane and not the channels.
    pub fn open(&self) {
        self.is_open.set(true);
    }

    /// Returns true if the requester uses the lane.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// For the requester: returns true if the memory will not refuse this access to `addr`.
    #[inline]
    pub fn accepts(&self, addr: u64, op: WordOp) -> bool {
        let is_accepted = match op {
            WordOp::Read => true,
            WordOp::Write { n, .. } => n == 4 || self.accepts_parts,
            WordOp::Linked(_) => false,
        };
        is_accepted && addr.wrapping_sub(self.base) < self.bytes
    }

    /// For the requester: selects whether answers to writes leave it asleep, unless they are errors.
    #[inline]
    pub fn set_quiet(&self, is_quiet: bool) {
        self.is_quiet.set(is_quiet);
    }

    /// For the requester: sends an access. At most [`MOST_WORDS`] may be without an answer that was taken. The memory must be woken in
    /// cycle `at`.
    #[inline]
    pub fn send(&self, access: WordAccess) {
        self.accesses.push(access.at, access);
        let (set, member) = &self.arrivals;
        set.set(set.get() | member);
    }

    /// For the requester: the cycle from which the next answer is visible; `Cycle::MAX` if there is none.
    #[inline]
    pub fn answer_due(&self) -> Cycle {
        self.answers.due.get()
    }

    /// For the requester: the next answer, if it is visible in cycle `now`.
    #[inline]
    pub fn take_answer(&self, now: Cycle) -> Option<WordAnswer> {
        (self.answers.due.get() <= now).then(|| self.answers.pop(|next| next.at))
    }

    /// For the memory: the cycle from which it sees the next access; `Cycle::MAX` if there is none.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.accesses.due.get()
    }

    /// For the memory: the address of the next access, if it is due in cycle `now`.
    #[inline]
    pub fn next_addr(&self, now: Cycle) -> Option<u64> {
        (self.accesses.due.get() <= now).then(|| self.accesses.first().addr)
    }

    /// For the memory: takes the next access, if it is due in cycle `now`.
    #[inline]
    pub fn take(&self, now: Cycle) -> Option<WordAccess> {
        if self.accesses.due.get() > now {
            return None;
        }
        let access = self.accesses.pop(|next| next.at);
        if self.accesses.due.get() == Cycle::MAX {
            let (set, member) = &self.arrivals;
            set.set(set.get() & !member);
        }
        Some(access)
    }

    /// For the memory: answers the oldest access without an answer. Returns true if the requester must be woken in cycle `answer.at`.
    #[inline]
    pub fn answer(&self, answer: WordAnswer, is_write: bool) -> bool {
        self.answers.push(answer.at, answer);
        !(is_write && self.is_quiet.get() && answer.result.is_ok())
    }
}

/// A queue of at most [`MOST_WORDS`] items, and the cycle from which its first item is visible.
struct Queue<T> {
    due: Cell<Cycle>,
    slots: [Cell<Option<T>>; MOST_WORDS],
    first: Cell<usize>,
    n: Cell<usize>,
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue {
            due: Cell::new(Cycle::MAX),
            slots: [const { Cell::new(None) }; MOST_WORDS],
            first: Cell::new(0),
            n: Cell::new(0),
        }
    }
}

impl<T: Copy> Queue<T> {
    /// Adds an item that is visible from cycle `at` on.
    #[inline]
    fn push(&self, at: Cycle, item: T) {
        let n = self.n.get();
        assert!(n < MOST_WORDS, "a requester takes its answers before it sends more accesses");
        if n == 0 {
            self.due.set(at);
        }
        self.slots[(self.first.get() + n) % MOST_WORDS].set(Some(item));
        self.n.set(n + 1);
    }

    #[inline]
    fn first(&self) -> T {
        self.slots[self.first.get() % MOST_WORDS].get().expect("an item is due")
    }

    /// Removes the first item; `at` gives the cycle from which the next one is visible.
    #[inline]
    fn pop(&self, at: impl Fn(&T) -> Cycle) -> T {
        let item = self.first();
        self.first.set((self.first.get() + 1) % MOST_WORDS);
        self.n.set(self.n.get() - 1);
        self.due.set(if self.n.get() == 0 { Cycle::MAX } else { at(&self.first()) });
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> (WordLane, Rc<Cell<u64>>) {
        let arrivals = Rc::new(Cell::new(1));
        (WordLane::new(0x100, 8, &arrivals, 2), arrivals)
    }

    #[test]
    fn accesses_and_answers_come_in_order_and_on_time() {
        let (lane, arrivals) = lane();
        for (at, addr) in [(5, 0x100), (7, 0x104)] {
            lane.send(WordAccess { at, addr, op: WordOp::Read });
        }
        assert_eq!((lane.due(), lane.next_addr(4), lane.next_addr(5)), (5, None, Some(0x100)));
        assert_eq!(lane.take(6).map(|access| access.addr), Some(0x100));
        assert!(lane.take(6).is_none() && arrivals.get() == 3);
        assert_eq!((lane.take(7).map(|access| access.addr), lane.due(), arrivals.get()), (Some(0x104), Cycle::MAX, 1));
        for at in [8, 9] {
            lane.answer(WordAnswer { at, result: Ok((at as u32, 0)), waited: Time::ZERO }, false);
        }
        assert!(lane.take_answer(7).is_none());
        let words: Vec<_> = std::iter::from_fn(|| lane.take_answer(9)).map(|answer| answer.result).collect();
        assert_eq!((words, lane.answer_due()), (vec![Ok((8, 0)), Ok((9, 0))], Cycle::MAX));
    }

    #[test]
    fn only_answers_to_writes_can_be_quiet() {
        let (lane, _) = lane();
        let answer = |result, is_write| {
            let is_awake = lane.answer(WordAnswer { at: 0, result, waited: Time::ZERO }, is_write);
            lane.take_answer(0);
            is_awake
        };
        assert!(answer(Ok((0, 0)), true));
        lane.set_quiet(true);
        assert!(!answer(Ok((0, 0)), true));
        assert!(answer(Ok((0, 0)), false) && answer(Err(BusError::Nowhere(0)), true));
    }

    #[test]
    fn linked_accesses_and_those_outside_may_be_refused() {
        let (lane, _) = lane();
        assert!(lane.accepts(0x100, WordOp::Read) && lane.accepts(0x107, WordOp::Write { data: [0; 4], n: 1 }));
        assert!(!lane.accepts(0xff, WordOp::Read) && !lane.accepts(0x108, WordOp::Read));
        assert!(!lane.accepts(0x100, WordOp::Linked(Link::Load)));
        let (lane, write) = (lane.of_whole_words(), |n| WordOp::Write { data: [0; 4], n });
        assert!(lane.accepts(0x100, WordOp::Read) && lane.accepts(0x100, write(4)) && !lane.accepts(0x100, write(2)));
    }
}
