//! References that a requester plans: the memory takes each one in the cycle in which it would have arrived.
//!
//! A requester that moves many words knows its next references long before a connection has room for them, and learns nothing from most
//! replies. With a [`Stream`] it need not tick for each word. It gives all references that it knows at once. The time at which each one
//! is sent follows from the times at which the memory takes those before it, by the rules of a channel: one in each cycle, in order, and
//! only while fewer than `room` are sent and not taken. Where something else must be sent first, the requester takes back what was
//! not sent before.
//!
//! A stream replaces the channels of a connection between a requester and a memory with one clock, if the memory offers it. The memory
//! must serve one reference at a time, because then a reply never waits for room.

use super::{Access, BusError, Data};
use kernel::Cycle;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The references and replies of one connection.
pub struct Stream {
    state: RefCell<State>,
    /// The cycle from which the memory sees the next reference. Read at every tick, so stored apart.
    due: Cell<Cycle>,
    /// The set of the memory to which a stream with references adds a member.
    arrivals: (Rc<Cell<u64>>, u64),
    /// All replies wake the requester.
    is_aloud: Cell<bool>,
}

#[derive(Default)]
struct State {
    /// References that the memory has not taken.
    planned: VecDeque<Planned>,
    /// How many of them have a certain time.
    n_certain: usize,
    /// Number of references that can be sent and not taken.
    room: usize,
    /// First cycle in which the next reference without a certain time can be sent.
    next: Cycle,
    /// Cycle in which the memory took the last reference.
    taken: Cycle,
    /// The requester waits for room.
    waits: bool,
    replies: VecDeque<StreamReply>,
}

/// A planned reference.
pub struct Planned {
    /// Byte address.
    pub addr: u64,
    /// The operation.
    pub access: Access,
    /// The requester would not send it before this cycle.
    pub from: Cycle,
    /// True if its reply does not wake the requester, unless it is an error.
    pub is_quiet: bool,
    /// The cycle in which it is sent, once that is certain.
    sent: Cycle,
    /// True if the requester ticks in the cycle in which it is sent.
    wakes: bool,
}

/// A reply, and the cycle from which it is visible.
pub struct StreamReply {
    /// The first cycle in which the requester sees it.
    pub at: Cycle,
    /// The bytes read (none for a write), or the error.
    pub result: Result<Data, BusError>,
}

/// Not known yet.
const NEVER: Cycle = Cycle::MAX;

impl Planned {
    /// A reference that is not sent before cycle `from`. Its reply wakes the requester.
    pub fn new(from: Cycle, addr: u64, access: Access) -> Planned {
        Planned { addr, access, from, is_quiet: false, sent: NEVER, wakes: false }
    }

    /// The same with a reply that does not wake the requester, if `is_quiet`.
    pub fn quiet(self, is_quiet: bool) -> Planned {
        Planned { is_quiet, ..self }
    }

    /// The cycle from which the memory sees it.
    pub fn seen(&self) -> Cycle {
        self.sent + 1
    }
}

impl State {
    /// The cycle from which the memory sees the first reference, whose time is always certain.
    #[inline]
    fn due(&self) -> Cycle {
        self.planned.front().map_or(NEVER, Planned::seen)
    }

    /// Finds the cycles in which references are sent, as far as they are certain. Returns the first one in which the requester must
    /// tick.
    #[inline]
    fn settle(&mut self) -> Option<Cycle> {
        let mut wake = None;
        while self.n_certain < self.room
            && let Some(planned) = self.planned.get_mut(self.n_certain)
        {
            // The room of a reference can be used in the cycle after it was taken.
            let has_room = if self.n_certain + 1 == self.room { self.taken + 1 } else { 0 };
            planned.sent = self.next.max(planned.from).max(has_room);
            self.next = planned.sent + 1;
            self.n_certain += 1;
            if planned.wakes {
                wake.get_or_insert(planned.sent);
            }
        }
        wake
    }
}

impl Stream {
    /// A stream that adds `member` to `arrivals` when it has references.
    pub fn new(arrivals: &Rc<Cell<u64>>, member: u64) -> Stream {
        let (due, is_aloud) = (Cell::new(NEVER), Cell::new(false));
        Stream { state: RefCell::default(), due, arrivals: (arrivals.clone(), member), is_aloud }
    }

    /// For the requester: sets how many references can be sent and not taken, at least 2.
    pub fn open(&self, room: usize) {
        self.state.borrow_mut().room = room;
    }

    /// For the requester: plans a reference. Returns the cycle from which the memory sees it, if it must be woken for it.
    pub fn plan(&self, planned: Planned) -> Option<Cycle> {
        let mut state = self.state.borrow_mut();
        let is_first = state.planned.is_empty();
        state.planned.push_back(planned);
        state.settle();
        let (set, member) = &self.arrivals;
        set.set(set.get() | member);
        if is_first {
            self.due.set(state.due());
        }
        is_first.then(|| self.due.get())
    }

    /// For the requester: number of references that the memory has not taken.
    #[inline]
    pub fn n_untaken(&self) -> usize {
        self.state.borrow().planned.len()
    }

    /// For the requester: number of references that are sent in cycle `from` or later.
    pub fn n_planned(&self, from: Cycle) -> usize {
        let state = self.state.borrow();
        let n_before = state.planned.iter().take(state.n_certain).take_while(|planned| planned.sent < from).count();
        state.planned.len() - n_before
    }

    /// For the requester: takes back the references that were not sent before cycle `now`. Returns their number.
    pub fn take_back(&self, now: Cycle) -> usize {
        let mut state = self.state.borrow_mut();
        let mut n = 0;
        while state.planned.back().is_some_and(|planned| planned.sent >= now) {
            state.planned.pop_back();
            n += 1;
        }
        state.n_certain = state.n_certain.min(state.planned.len());
        state.next = state.next.min(now);
        self.due.set(state.due());
        n
    }

    /// For the requester, if nothing planned is unsent: the cycle in which it can send another reference, `now` or the next one. If
    /// there is no room, the memory wakes it when there is.
    pub fn room_from(&self, now: Cycle) -> Option<Cycle> {
        let mut state = self.state.borrow_mut();
        if state.n_certain >= state.room {
            state.waits = true;
            return None;
        }
        let is_taken_now = state.n_certain + 1 == state.room && state.taken == now;
        Some(if is_taken_now || state.next > now { now + 1 } else { now })
    }

    /// For the requester: it ticks in the cycle in which the reference is sent that has `behind` others behind it. Returns that cycle, if it
    /// is certain.
    pub fn wake_when_sent(&self, behind: usize) -> Option<Cycle> {
        let mut state = self.state.borrow_mut();
        let at = state.planned.len().checked_sub(behind + 1)?;
        state.planned[at].wakes = true;
        Some(state.planned[at].sent).filter(|&sent| sent != NEVER)
    }

    /// For the requester: selects if all replies wake it.
    pub fn reply_aloud(&self, is_aloud: bool) {
        self.is_aloud.set(is_aloud);
    }

    /// For the requester: the next reply, if it is visible in cycle `now`.
    pub fn reply(&self, now: Cycle) -> Option<StreamReply> {
        let replies = &mut self.state.borrow_mut().replies;
        if replies.front()?.at > now {
            return None;
        }
        replies.pop_front()
    }

    /// For the requester: the cycle from which the next reply is visible, if there is one.
    pub fn reply_due(&self) -> Option<Cycle> {
        self.state.borrow().replies.front().map(|reply| reply.at)
    }

    /// For the memory: the cycle from which it sees the next reference; `Cycle::MAX` if there is none.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.due.get()
    }

    /// For the memory: takes the next reference in cycle `now`, in which it must be due. Also returns the cycle in which the requester must
    /// tick, if there is one.
    #[inline]
    pub fn take(&self, now: Cycle) -> Option<(Planned, Option<Cycle>)> {
        let mut state = self.state.borrow_mut();
        let planned = state.planned.pop_front()?;
        state.n_certain -= 1;
        state.taken = now;
        let wake = state.settle();
        let room = std::mem::take(&mut state.waits).then_some(now + 1);
        self.due.set(state.due());
        if state.planned.is_empty() {
            let (set, member) = &self.arrivals;
            set.set(set.get() & !member);
        }
        Some((planned, wake.or(room)))
    }

    /// For the memory: replies, visible from cycle `at` on. Returns true if the requester must be woken for it.
    pub fn answer(&self, at: Cycle, result: Result<Data, BusError>, is_quiet: bool) -> bool {
        let wakes = !is_quiet || self.is_aloud.get() || result.is_err();
        self.state.borrow_mut().replies.push_back(StreamReply { at, result });
        wakes
    }
}
