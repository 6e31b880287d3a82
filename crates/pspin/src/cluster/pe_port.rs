//! Single accesses of a cluster's cores to the rest of the card.

use crate::pe::{PeReply, PeRequest};
use blocks::policy::RotatingTree;
use kernel::trace::Counter;
use kernel::{Cycle, Ports, Rx, Tx, members};

/// The port to the PE interconnect.
///
/// Timing: sends one request a cycle, at the earliest in the cycle after the core's request. Cores take turns.
/// Source: PsPIN RTL a49fec8, `pe_noc.sv`.
pub(super) struct PePort {
    link: (Tx<PeRequest>, Rx<PeReply>),
    /// For each core, its last request and the cycle of it.
    requests: Vec<(Cycle, Option<PeRequest>)>,
    /// Bit set of the cores whose request has not been sent, and the arbiter's turn.
    requesting: u32,
    turn: RotatingTree,
    /// Accesses to unmapped addresses, which the interconnect answers itself.
    pub unmapped: Counter,
}

impl PePort {
    pub fn new(n_cores: u32, link: (Tx<PeRequest>, Rx<PeReply>)) -> Self {
        PePort {
            link,
            requests: vec![(0, None); n_cores as usize],
            requesting: 0,
            turn: RotatingTree::new(n_cores),
            unmapped: Counter::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("pe_requests", &self.link.0);
        ports.input("pe_replies", &self.link.1);
    }

    /// Returns true if it may act in the next cycle.
    pub fn is_pressing(&self, now: Cycle) -> bool {
        self.requesting != 0 || self.link.1.is_due(now)
    }

    /// A core requests an access.
    pub fn request(&mut self, now: Cycle, request: PeRequest) {
        self.requests[request.core as usize] = (now, Some(request));
        self.requesting |= 1 << request.core;
    }

    /// Sends a request.
    pub fn send(&mut self, now: Cycle) {
        if self.requesting == 0 || !self.link.0.has_room() {
            return;
        }
        let waiting = members(self.requesting.into()).filter(|&core| self.requests[core as usize].0 < now);
        let waiting = waiting.fold(0, |set, core| set | 1 << core);
        if let Some(core) = self.turn.take(waiting) {
            self.requesting &= !(1 << core);
            self.link.0.send(self.requests[core as usize].1.take().expect("a core that requests an access"));
        }
    }

    /// Takes a response. The core's grant follows one cycle later.
    pub fn take(&self, now: Cycle) -> Option<PeReply> {
        if self.link.1.is_due(now) { self.link.1.take() } else { None }
    }
}
