//! A requester that knows what its replies are for.

use crate::bus::{Access, BusError, Data, Reference, Requester};
use kernel::Ports;
use std::collections::VecDeque;

/// A port to a memory and what was asked there, in order; replies come in that order. One reference a cycle.
pub(super) struct Asked<T> {
    port: Requester,
    /// What for, and in which life.
    under_way: VecDeque<(T, u32)>,
    most: usize,
    next_id: u32,
    asked_at: Option<u64>,
    /// How often the asker was reset.
    life: u32,
}

/// A reply and what it is for.
pub(super) struct Answer<T> {
    pub what: T,
    pub result: Result<Data, BusError>,
    /// Whether it was asked since the last reset.
    pub is_wanted: bool,
}

impl<T> Asked<T> {
    /// With up to `most` references under way.
    pub fn new(port: Requester, most: usize) -> Asked<T> {
        Asked { port, under_way: VecDeque::new(), most, next_id: 0, asked_at: None, life: 0 }
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
        self.under_way.push_back((what, self.life));
        self.port.references.send(Reference { id, addr, access });
    }

    /// The next reply.
    pub fn answer(&mut self) -> Option<Answer<T>> {
        let result = self.port.replies.take()?.result;
        let (what, life) = self.under_way.pop_front().expect("a memory answers what it was asked");
        Some(Answer { what, result, is_wanted: life == self.life })
    }

    /// The asker is reset: what is under way is of no use to it any more.
    pub fn forget(&mut self) {
        self.life = self.life.wrapping_add(1);
    }

    /// Whether a reference went out in cycle `now`: there may be another to send in the next.
    pub fn has_asked(&self, now: u64) -> bool {
        self.asked_at == Some(now)
    }

    pub fn port(&self, name: &str, ports: &mut Ports) {
        self.port.port(name, ports);
    }
}
