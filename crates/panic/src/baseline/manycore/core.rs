//! A core of the manycore NIC: carries packets between units.

use super::CoreParams;
use crate::drops::DropReason;
use crate::protocol::{Flit, Leg, Message, NodeId, PacketStep, n_flits};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The ports of a [`Core`].
pub(super) struct CoreWiring {
    /// From the interconnect: new packets and those that return from units.
    pub input: Rx<Flit>,
    /// To the interconnect.
    pub output: Tx<Flit>,
    /// To the balancer: a packet has left.
    pub done: Tx<()>,
}

/// Receives whole packets, works on one at a time in order of arrival, and sends each to its next service or exit.
///
/// Ports:  `in` and `out`, one flit a cycle each; `done`.
/// Timing: a packet whose tail arrives in cycle t while the core is idle is sent at t + `work_cycles` + `wait_cycles`.
/// Source: 2.2.2: a core orchestrates every step, because the network on chip does not know where packets go.
pub(super) struct Core {
    params: CoreParams,
    node: NodeId,
    flit_bytes: usize,
    /// The units of each service, and which is next.
    units: Vec<(Vec<NodeId>, usize)>,
    wires: CoreWiring,
    /// The packet whose tail has not arrived.
    incoming: Option<Box<Message>>,
    waiting: VecDeque<Box<Message>>,
    /// When the core is free.
    free: Cycle,
    /// Packets whose work is done, and the cycle from which each can leave.
    finished: VecDeque<(Cycle, Box<Message>)>,
    /// Remaining flits of the packet being sent, and whether it leaves the core for good.
    sending: Option<(usize, bool)>,
    visits: Counter,
    busy_cycles: Counter,
}

impl Core {
    /// An idle core.
    pub fn new(
        params: CoreParams,
        node: NodeId,
        number: usize,
        flit_bytes: usize,
        units: &[Vec<NodeId>],
        wires: CoreWiring,
    ) -> Core {
        // Cores start with different units, so that cores that start together use different units.
        let units = units.iter().map(|units| (units.clone(), number % units.len())).collect();
        let (incoming, waiting, finished, visits, busy_cycles) = Default::default();
        Core {
            params,
            node,
            flit_bytes,
            units,
            wires,
            incoming,
            waiting,
            free: 0,
            finished,
            sending: None,
            visits,
            busy_cycles,
        }
    }

    fn receive(&mut self, now: Cycle) -> bool {
        match self.wires.input.take() {
            None => return false,
            Some(Flit::Head(mut message)) => {
                message.descriptor.trail.mark(now, PacketStep::Taken, self.node);
                self.incoming = Some(message);
            }
            Some(Flit::Body) => {}
            Some(Flit::Tail) => {
                self.waiting.push_back(self.incoming.take().expect("a message must begin with its descriptor"));
            }
        }
        true
    }

    /// Starts the next packet if one waits and the core is free.
    fn work(&mut self, now: Cycle) {
        if self.free > now {
            return;
        }
        let Some(mut message) = self.waiting.pop_front() else { return };
        message.descriptor.trail.mark(now, PacketStep::Begun, self.node);
        (message.to, message.leg) = self.onward(&message);
        self.visits.add(1);
        self.busy_cycles.add(self.params.work_cycles.into());
        self.free = now + Cycle::from(self.params.work_cycles);
        self.finished.push_back((self.free + Cycle::from(self.params.wait_cycles), message));
    }

    /// The packet's next node and kind of message.
    fn onward(&mut self, message: &Message) -> (NodeId, Leg) {
        let exit = message.descriptor.exit;
        let hop = match (message.leg, message.descriptor.hop()) {
            (dropped @ Leg::Dropped(_), _) => return (exit, dropped),
            (_, None) => return (exit, Leg::Exit),
            (_, Some(hop)) => usize::from(hop.service),
        };
        // Chains are checked on entry, but a unit's program may name a service that does not exist.
        let Some((units, turn)) = self.units.get_mut(hop) else {
            return (exit, Leg::Dropped(DropReason::BadDescriptor));
        };
        let unit = units[*turn];
        *turn = (*turn + 1) % units.len();
        (unit, Leg::Paid)
    }

    /// Sends a flit if possible.
    fn send(&mut self, now: Cycle) -> bool {
        let is_ready = self.finished.front().is_some_and(|&(ready, _)| ready <= now);
        if self.sending.is_none() && !is_ready || !self.wires.output.has_room() {
            return false;
        }
        let Some((rest, is_out)) = self.sending.take() else {
            let (_, mut message) = self.finished.pop_front().expect("a packet must be ready");
            message.descriptor.trail.mark(now, PacketStep::Done, self.node);
            self.sending = Some((n_flits(message.data.len(), self.flit_bytes) - 1, message.leg != Leg::Paid));
            self.wires.output.send(Flit::Head(message));
            return true;
        };
        if rest > 1 {
            self.sending = Some((rest - 1, is_out));
        } else if is_out {
            self.wires.done.send(());
        }
        self.wires.output.send(if rest > 1 { Flit::Body } else { Flit::Tail });
        true
    }
}

impl Component for Core {
    fn tick(&mut self, now: Cycle) -> Activity {
        let has_sent = self.send(now);
        let has_received = self.receive(now);
        self.work(now);
        if has_sent || has_received {
            return Activity::Busy;
        }
        let next_work = (!self.waiting.is_empty()).then_some(self.free);
        // A packet that is ready waits for room.
        let next_ready = self.finished.front().map(|&(ready, _)| ready).filter(|&ready| ready > now);
        match [next_work, next_ready].into_iter().flatten().min() {
            Some(next) => Activity::Until(next),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.wires.input);
        ports.output("out", &self.wires.output);
        ports.output("done", &self.wires.done);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("visits", self.visits.total());
        counters.busy("busy_cycles", self.busy_cycles.total(), 1, "one packet at a time");
    }
}
