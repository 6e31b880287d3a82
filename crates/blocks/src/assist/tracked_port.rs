//! A memory port that tracks the purpose of each outstanding reference.

use crate::bus::{Access, BusError, Data, Planned, Reference, Requester, Stream};
use kernel::{Cycle, Ports};
use std::collections::VecDeque;
use std::rc::Rc;

/// Maximum number of planned references.
pub(super) const MOST_PLANNED: usize = 32;

/// A memory port with the purpose of each outstanding reference, in order; replies come in the same order. It sends
/// at most one reference per cycle. If the memory offers a [`Stream`], it can plan references.
pub(super) struct TrackedPort<T> {
    port: Requester,
    /// Purpose of each outstanding reference, and the epoch in which it was sent.
    under_way: VecDeque<(T, u32)>,
    most: usize,
    next_id: u32,
    sent_at: Option<Cycle>,
    /// Number of resets so far.
    epoch: u32,
    /// The memory's stream, if [`TrackedPort::start_planning`] has found one.
    stream: Option<Rc<Stream>>,
    has_asked: bool,
    /// References are planned in this tick.
    is_planning: bool,
}

/// A reply and the purpose of its reference.
pub(super) struct TrackedReply<T> {
    pub what: T,
    pub result: Result<Data, BusError>,
    /// True if the reference was sent since the last reset.
    pub is_current: bool,
    /// The cycle from which the reply is visible.
    pub at: Cycle,
}

impl<T> TrackedPort<T> {
    /// A port with at most `most` outstanding references.
    pub fn new(port: Requester, most: usize) -> TrackedPort<T> {
        let (under_way, sent_at, stream) = (VecDeque::new(), None, None);
        let (next_id, epoch, has_asked, is_planning) = (0, 0, false, false);
        TrackedPort { port, under_way, most, next_id, sent_at, epoch, stream, has_asked, is_planning }
    }

    /// Decides whether references are planned in this tick: if the user `wants` it and the memory has a stream. Returns the
    /// decision.
    pub fn start_planning(&mut self, wants: bool) -> bool {
        if wants && !self.has_asked && self.under_way.is_empty() {
            let (room, latency) = self.port.references.size();
            // At most `room` references are in the connection, and one is at the memory. So the limit `most` is never reached.
            let is_usual = room > 1 && latency == 1 && self.most > room && self.port.replies.latency() == 1;
            self.stream = if is_usual { self.port.references.offered::<Stream>() } else { None };
            self.stream.iter().for_each(|stream| stream.open(room));
            self.has_asked = true;
        }
        self.is_planning = wants && self.stream.is_some();
        self.is_planning
    }

    /// Returns true if references are planned in this tick.
    #[inline]
    pub fn is_planning(&self) -> bool {
        self.is_planning
    }

    /// Cancels the planned references that were not sent before cycle `now`. Returns their purposes, those of the last one first.
    pub fn take_back(&mut self, now: Cycle) -> impl Iterator<Item = T> + use<T> {
        let n = self.stream.as_ref().map_or(0, |stream| stream.take_back(now));
        let taken = self.under_way.split_off(self.under_way.len() - n);
        taken.into_iter().rev().map(|(what, _)| what)
    }

    /// Number of planned references that are sent in cycle `from` or later.
    pub fn n_planned(&self, from: Cycle) -> usize {
        self.stream.as_ref().map_or(0, |stream| stream.n_planned(from))
    }

    /// Purposes of the planned references that are sent in cycle `from` or later, those of the last one first.
    pub fn planned(&self, from: Cycle) -> impl Iterator<Item = &T> {
        self.under_way.iter().rev().take(self.n_planned(from)).map(|(what, _)| what)
    }

    /// Wakes the port's user when a planned reference is sent: the one that is followed by `behind` others.
    pub fn wake_when_sent(&self, now: Cycle, behind: usize) {
        if let Some(cycle) = self.stream.as_ref().and_then(|stream| stream.wake_when_sent(behind)) {
            self.wake(cycle.max(now + 1));
        }
    }

    /// Wakes the user in a later cycle.
    fn wake(&self, cycle: Cycle) {
        self.port.references.wake_sender(cycle);
    }

    /// Returns true if a reference can be planned, or, without planning, sent in cycle `now`.
    #[inline]
    pub fn is_free(&self, now: Cycle) -> bool {
        match &self.stream {
            Some(stream) if self.is_planning => self.can_plan_more(stream, now),
            Some(stream) => {
                let room = stream.room_from(now);
                room.into_iter().filter(|&cycle| cycle > now).for_each(|cycle| self.wake(cycle));
                room.is_some_and(|cycle| cycle <= now)
            }
            None => self.sent_at != Some(now) && self.under_way.len() < self.most && self.port.references.has_room(),
        }
    }

    /// Returns true if another reference can be planned. If not, the user is woken when most planned references have been sent.
    #[inline]
    fn can_plan_more(&self, stream: &Stream, now: Cycle) -> bool {
        if stream.n_untaken() < MOST_PLANNED {
            return true;
        }
        let n = stream.n_planned(now);
        if n >= MOST_PLANNED {
            self.wake_when_sent(now, MOST_PLANNED / 4);
        }
        n < MOST_PLANNED
    }

    /// Plans a reference, or, without planning, sends it. [`TrackedPort::is_free`] must be true.
    pub fn ask(&mut self, now: Cycle, addr: u64, access: Access, what: T) {
        self.plan(now, Planned::new(now, addr, access), what);
    }

    /// Like [`TrackedPort::ask`]. If the reference is planned, `planned` also says when it may be sent and whether its reply wakes the
    /// user.
    #[inline]
    pub fn plan(&mut self, now: Cycle, mut planned: Planned, what: T) {
        self.under_way.push_back((what, self.epoch));
        if !self.is_planning {
            self.sent_at = Some(now);
            planned.is_quiet = false;
        }
        if let Some(stream) = &self.stream {
            stream.plan(planned).into_iter().for_each(|cycle| self.port.references.wake_receiver(cycle));
            return;
        }
        let Planned { addr, access, .. } = planned;
        self.port.references.send(Reference { id: self.next_id, addr, access });
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Selects whether all replies wake the user, including those to quiet references.
    pub fn reply_aloud(&self, is_aloud: bool) {
        self.stream.iter().for_each(|stream| stream.reply_aloud(is_aloud));
    }

    /// The cycle from which the next reply is visible; `None` if the memory has sent none.
    pub fn reply_due(&self) -> Option<Cycle> {
        self.stream.as_ref()?.reply_due()
    }

    /// The next reply that has arrived by cycle `now`.
    #[inline(always)]
    pub fn answer(&mut self, now: Cycle) -> Option<TrackedReply<T>> {
        if let Some(stream) = &self.stream {
            let reply = stream.reply(now)?;
            return Some(self.tracked(reply.at, reply.result));
        }
        if self.port.replies.is_due(now) { self.take_answer(now) } else { None }
    }

    fn take_answer(&mut self, now: Cycle) -> Option<TrackedReply<T>> {
        let result = self.port.replies.take_due(now)?.result;
        Some(self.tracked(now, result))
    }

    #[inline]
    fn tracked(&mut self, at: Cycle, result: Result<Data, BusError>) -> TrackedReply<T> {
        let (what, epoch) = self.under_way.pop_front().expect("a memory answers what it was asked");
        TrackedReply { what, result, is_current: epoch == self.epoch, at }
    }

    /// Resets the user of the port: replies to earlier references become stale. Planned references must have been sent or
    /// cancelled.
    pub fn reset(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Returns true if a reference was sent in cycle `now` and another may follow in the next one, before any reply.
    pub fn may_follow(&self, now: Cycle) -> bool {
        self.has_sent(now) && self.under_way.len() < self.most
    }

    /// Returns true if a reference was sent in cycle `now`, so that another one may follow in the next cycle. False if the reference
    /// was planned.
    pub fn has_sent(&self, now: Cycle) -> bool {
        self.sent_at == Some(now)
    }

    pub fn port(&self, name: &str, ports: &mut Ports) {
        self.port.port(name, ports);
    }
}
