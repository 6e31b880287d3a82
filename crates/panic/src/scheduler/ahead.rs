//! Packets that have left their PIFOs and wait for a unit's credit.

use super::Place;
use super::params::AheadParams;
use kernel::Cycle;
use std::collections::VecDeque;

/// For each service, the packets that were popped ahead of its units' credits, in the order in which they go.
pub(super) struct Ahead {
    params: AheadParams,
    /// From when on each may go, and where it lies.
    queues: Vec<VecDeque<(Cycle, Place)>>,
}

impl Ahead {
    /// Nothing was popped, of so many services.
    pub fn new(params: AheadParams, n_services: usize) -> Ahead {
        Ahead { params, queues: vec![VecDeque::new(); n_services] }
    }

    /// How many packets of a service wait.
    pub fn len(&self, service: usize) -> usize {
        self.queues[service].len()
    }

    /// Whether another packet of a service can be popped.
    pub fn has_room(&self, service: usize) -> bool {
        self.len(service) < self.params.slots as usize
    }

    /// A packet is popped.
    pub fn push(&mut self, now: Cycle, service: usize, place: Place) {
        self.queues[service].push_back((now + Cycle::from(self.params.cycles), place));
    }

    /// The packet of a service that goes next, and from when on.
    pub fn first(&self, service: usize) -> Option<(Cycle, Place)> {
        self.queues[service].front().copied()
    }

    /// It goes.
    pub fn pop(&mut self, service: usize) {
        self.queues[service].pop_front();
    }

    /// Gives up the last packet of a service.
    pub fn drop_last(&mut self, service: usize) -> Option<Place> {
        self.queues[service].pop_back().map(|(_, place)| place)
    }
}
