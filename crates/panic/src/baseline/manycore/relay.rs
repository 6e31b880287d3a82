//! A unit of the manycore NIC: an engine that returns packets to the core that sent them.

use crate::protocol::{Flit, Leg, NodeId, PacketStep};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// The ports of a [`Relay`].
pub(super) struct RelayWiring {
    /// From the interconnect.
    pub input: Rx<Flit>,
    /// To the interconnect.
    pub output: Tx<Flit>,
    pub to_engine: Tx<Flit>,
    pub from_engine: Rx<Flit>,
}

/// First come, first served; packets wait in the interconnect while the engine is full.
///
/// Ports:  `in` and `out`, one flit a cycle each; `to_engine`, `from_engine`.
/// Timing: adds 0 cycles.
/// Source: 2.2.2.
pub(super) struct Relay {
    node: NodeId,
    wires: RelayWiring,
    packets: Counter,
}

impl Relay {
    /// An empty unit.
    pub fn new(node: NodeId, wires: RelayWiring) -> Relay {
        Relay { node, wires, packets: Counter::default() }
    }

    fn receive(&mut self, now: Cycle) -> bool {
        if !self.wires.input.has_item() || !self.wires.to_engine.has_room() {
            return false;
        }
        let mut flit = self.wires.input.take().expect("a flit must be there");
        if let Flit::Head(message) = &mut flit {
            message.descriptor.trail.mark(now, PacketStep::Taken, self.node);
        }
        self.wires.to_engine.send(flit);
        true
    }

    fn send(&mut self, now: Cycle) -> bool {
        if !self.wires.from_engine.has_item() || !self.wires.output.has_room() {
            return false;
        }
        let mut flit = self.wires.from_engine.take().expect("a flit must be there");
        if let Flit::Head(message) = &mut flit {
            message.descriptor.trail.mark(now, PacketStep::Done, self.node);
            message.to = message.descriptor.home;
            if !matches!(message.leg, Leg::Dropped(_)) {
                message.descriptor.advance();
                message.leg = Leg::Entry;
            }
            self.packets.add(1);
        }
        self.wires.output.send(flit);
        true
    }
}

impl Component for Relay {
    fn tick(&mut self, now: Cycle) -> Activity {
        let has_sent = self.send(now);
        let has_received = self.receive(now);
        if has_sent || has_received { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        let RelayWiring { input, output, to_engine, from_engine } = &self.wires;
        ports.input("in", input);
        ports.output("out", output);
        ports.output("to_engine", to_engine);
        ports.input("from_engine", from_engine);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
    }
}
