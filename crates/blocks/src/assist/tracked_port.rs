//! A memory port that tracks the purpose of each outstanding reference.

use crate::bus::{Access, BusError, Data, Reference, Requester};
use kernel::Ports;
use std::collections::VecDeque;

/// A memory port with the purpose of each outstanding reference, in order; replies come in the same order. It sends
/// at most one reference per cycle.
pub(super) struct TrackedPort<T> {
    port: Requester,
    /// Purpose of each outstanding reference, and the epoch in which it was sent.
    under_way: VecDeque<(T, u32)>,
    most: usize,
    next_id: u32,
    sent_at: Option<u64>,
    /// Number of resets so far.
    epoch: u32,
}

/// A reply and the purpose of its reference.
pub(super) struct TrackedReply<T> {
    pub what: T,
    pub result: Result<Data, BusError>,
    /// True if the reference was sent since the last reset.
    pub is_current: bool,
}

impl<T> TrackedPort<T> {
    /// A port with at most `most` outstanding references.
    pub fn new(port: Requester, most: usize) -> TrackedPort<T> {
        TrackedPort { port, under_way: VecDeque::new(), most, next_id: 0, sent_at: None, epoch: 0 }
    }

    /// Returns true if a reference can be sent in cycle `now`.
    #[inline]
    pub fn is_free(&self, now: u64) -> bool {
        self.sent_at != Some(now) && self.under_way.len() < self.most && self.port.references.has_room()
    }

    /// Sends a reference; check [`TrackedPort::is_free`] first.
    pub fn ask(&mut self, now: u64, addr: u64, access: Access, what: T) {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.sent_at = Some(now);
        self.under_way.push_back((what, self.epoch));
        self.port.references.send(Reference { id, addr, access });
    }

    /// The next reply that has arrived by cycle `now`.
    #[inline(always)]
    pub fn answer(&mut self, now: u64) -> Option<TrackedReply<T>> {
        if self.port.replies.is_due(now) { self.take_answer(now) } else { None }
    }

    fn take_answer(&mut self, now: u64) -> Option<TrackedReply<T>> {
        let result = self.port.replies.take_due(now)?.result;
        let (what, epoch) = self.under_way.pop_front().expect("a memory answers what it was asked");
        Some(TrackedReply { what, result, is_current: epoch == self.epoch })
    }

    /// Resets the user of the port: replies to earlier references become stale.
    pub fn reset(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Returns true if a reference was sent in cycle `now` and another may follow in the next one, before any reply.
    pub fn may_follow(&self, now: u64) -> bool {
        self.has_sent(now) && self.under_way.len() < self.most
    }

    /// Returns true if a reference was sent in cycle `now`, so that another may follow in the next.
    pub fn has_sent(&self, now: u64) -> bool {
        self.sent_at == Some(now)
    }

    pub fn port(&self, name: &str, ports: &mut Ports) {
        self.port.port(name, ports);
    }
}
