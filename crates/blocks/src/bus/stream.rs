//! Planned references: a requester gives them to the memory in advance, and the memory takes each one at the time at which it would
//! have arrived over a channel.
//!
//! A requester that moves many words knows its next references long before a connection has room for them, and learns nothing from most
//! replies. With a [`Stream`] it need not tick for each word: it plans all references that it knows at once. The stream finds the cycle
//! in which each reference is sent, by the rules of a channel: in order, one in each cycle, and only while the channel has room. There is
//! room while fewer than `room` references have been sent and not been taken by the memory. If the requester must send something else
//! first, it cancels the references that have not been sent.
//!
//! A stream replaces the channels of a connection between a requester and a memory with one clock, if the memory offers it. The memory
//! must serve one reference at a time: then there is always room for its reply.

use super::{Access, BusError, Data};
use kernel::Cycle;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The references and replies of one connection.
pub struct Stream {
    state: RefCell<State>,
    /// The cycle from which the memory sees the next reference. The memory reads it at every tick, so it is not in `state`.
    due: Cell<Cycle>,
    /// A bit set of the memory, and the member in it that says that this stream has references.
    arrivals: (Rc<Cell<u64>>, u64),
    /// All replies wake the requester.
    is_aloud: Cell<bool>,
}

#[derive(Default)]
struct State {
    /// References that the memory has not taken.
    planned: VecDeque<Planned>,
    /// Number of planned references whose cycle is known. They are the first ones.
    n_certain: usize,
    /// Maximum number of references that are sent and not taken.
    room: usize,
    /// First cycle in which the next reference can be sent whose cycle is not known yet.
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
    /// It is not sent before this cycle.
    pub from: Cycle,
    /// True if its reply does not wake the requester, unless it is an error.
    pub is_quiet: bool,
    /// The cycle in which it is sent; [`NEVER`] while that is not known.
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

    /// Sets whether its reply leaves the requester asleep.
    pub fn quiet(self, is_quiet: bool) -> Planned {
        Planned { is_quiet, ..self }
    }

    /// The cycle from which the memory sees it.
    pub fn seen(&self) -> Cycle {
        self.sent + 1
    }
}

impl State {
    /// The cycle from which the memory sees the first reference. It is always known.
    #[inline]
    fn due(&self) -> Cycle {
        self.planned.front().map_or(NEVER, Planned::seen)
    }

    /// Finds the cycles of more references, as far as the times at which the memory took earlier ones determine them. Returns the
    /// first of these cycles in which the requester must tick, if there is one.
    #[inline]
    fn settle(&mut self) -> Option<Cycle> {
        let mut wake = None;
        while self.n_certain < self.room
            && let Some(planned) = self.planned.get_mut(self.n_certain)
        {
            // When the memory takes a reference, another one can be sent in the next cycle.
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
    /// An empty stream. While it has references, `member` is in the set `arrivals`.
    pub fn new(arrivals: &Rc<Cell<u64>>, member: u64) -> Stream {
        let (due, is_aloud) = (Cell::new(NEVER), Cell::new(false));
        Stream { state: RefCell::default(), due, arrivals: (arrivals.clone(), member), is_aloud }
    }

    /// For the requester: sets the maximum number of references that are sent and not taken; at least 2.
    pub fn open(&self, room: usize) {
        self.state.borrow_mut().room = room;
    }

    /// For the requester: plans a reference. If no other one was planned, the memory may be asleep. Then this returns the cycle in
    /// which it must be woken.
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

    /// For the requester: number of planned references that are sent in cycle `from` or later.
    pub fn n_planned(&self, from: Cycle) -> usize {
        let state = self.state.borrow();
        let n_before = state.planned.iter().take(state.n_certain).take_while(|planned| planned.sent < from).count();
        state.planned.len() - n_before
    }

    /// For the requester: cancels the references that were not sent before cycle `now`. Returns their number.
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

    /// For the requester, when all planned references have been sent: the cycle in which it can send another one, `now` or the next
    /// cycle. `None` if there is no room; the memory then wakes it as soon as there is.
    pub fn room_from(&self, now: Cycle) -> Option<Cycle> {
        let mut state = self.state.borrow_mut();
        if state.n_certain >= state.room {
            state.waits = true;
            return None;
        }
        let is_taken_now = state.n_certain + 1 == state.room && state.taken == now;
        Some(if is_taken_now || state.next > now { now + 1 } else { now })
    }

    /// For the requester: it must tick when a certain reference is sent, the one that is followed by `behind` others. Returns the
    /// cycle, if it is known.
    pub fn wake_when_sent(&self, behind: usize) -> Option<Cycle> {
        let mut state = self.state.borrow_mut();
        let at = state.planned.len().checked_sub(behind + 1)?;
        state.planned[at].wakes = true;
        Some(state.planned[at].sent).filter(|&sent| sent != NEVER)
    }

    /// For the requester: selects whether all replies wake it, including those to quiet references.
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

    /// For the memory: takes the next reference, which must be due in cycle `now`. Also returns the cycle in which the requester must
    /// be woken, if it must.
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

    /// For the memory: replies to the reference that it took. The reply is visible from cycle `at` on. Returns true if it wakes the
    /// requester.
    pub fn answer(&self, at: Cycle, result: Result<Data, BusError>, is_quiet: bool) -> bool {
        let wakes = !is_quiet || self.is_aloud.get() || result.is_err();
        self.state.borrow_mut().replies.push_back(StreamReply { at, result });
        wakes
    }
}
