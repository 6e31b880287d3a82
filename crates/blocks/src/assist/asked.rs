//! A requester that knows what its replies are for.

use crate::bus::{Access, BusError, Data, Reference, Requester};
use kernel::Ports;
use std::collections::VecDeque;

/// A port to a memory and what was asked there, in order; replies come in that order. One reference a cycle.
pub(super) struct Asked<T> {
    port: Requester,
    under_way: VecDeque<T>,
    most: usize,
    next_id: u32,
    asked_at: Option<u64>,
}

impl<T> Asked<T> {
    /// With up to `most` references under way.
    pub fn new(port: Requester, most: usize) -> Asked<T> {
        Asked { port, under_way: VecDeque::new(), most, next_id: 0, asked_at: None }
    }

    /// Whether a reference can be sent in cycle `now`.
    pub fn is_free(&self, now: u64) -> bool {
        self.asked_at != Some(now) && self.under_way.len() < self.most && self.port.references.has_room()
    }

    /// Sends a reference; ask [`Asked::is_free`] first.
    pub fn ask(&mut self, now: u64, addr: u64, access: Access, what: T) {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.asked_at = Some(now);
        self.under_way.push_back(what);
        self.port.references.send(Reference { id, addr, access });
    }

    /// The next reply and what it is for.
    pub fn answer(&mut self) -> Option<(T, Result<Data, BusError>)> {
        let reply = self.port.replies.take()?;
        let what = self.under_way.pop_front().expect("a memory answers what it was asked");
        Some((what, reply.result))
    }

    /// Whether a reference went out in cycle `now`: there may be another to send in the next.
    pub fn has_asked(&self, now: u64) -> bool {
        self.asked_at == Some(now)
    }

    pub fn port(&self, name: &str, ports: &mut Ports) {
        self.port.port(name, ports);
    }
}
