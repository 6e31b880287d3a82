//! The queue in front of the pipeline.

use super::super::queue::Intake;
use crate::protocol::{Descriptor, Flit, Leg, NodeId};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Tx};
use std::collections::VecDeque;

/// First come, first served.
///
/// Ports:  `in[i]`, `out`, one flit a cycle each.
/// Timing: adds 0 cycles; a packet is forwarded while it arrives.
/// Source: 7.3.
pub(super) struct Fifo {
    intake: Intake,
    output: Tx<Flit>,
    /// Places of the packets in the buffer, in order.
    queue: VecDeque<usize>,
}

impl Fifo {
    /// An empty queue.
    pub fn new(intake: Intake, output: Tx<Flit>) -> Fifo {
        Fifo { intake, output, queue: VecDeque::new() }
    }

    fn send(&mut self, now: Cycle) -> bool {
        let Some(&place) = self.queue.front() else { return false };
        if !self.intake.has_flit(now, place) || !self.output.has_room() {
            return false;
        }
        let mut flit = self.intake.read(now, place);
        match &mut flit {
            Flit::Head(message) => (message.to, message.leg) = onward(&message.descriptor),
            Flit::Body => {}
            Flit::Tail => _ = self.queue.pop_front(),
        }
        self.output.send(flit);
        true
    }
}

/// Where a packet goes at the end of the pipeline: to its exit, or back to the queue.
pub(super) fn onward(descriptor: &Descriptor) -> (NodeId, Leg) {
    match descriptor.hop() {
        None => (descriptor.exit, Leg::Exit),
        Some(_) => (descriptor.home, Leg::Entry),
    }
}

impl Component for Fifo {
    fn tick(&mut self, now: Cycle) -> Activity {
        let queue = &mut self.queue;
        let has_received = self.intake.receive(now, |place, _| queue.push_back(place));
        let has_sent = self.send(now);
        if has_received || has_sent { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.intake.ports(ports);
        ports.output("out", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.intake.counters(counters);
    }
}
