//! The exit of an engine: collects packets from its lanes in order of arrival.

use crate::protocol::{Flit, Message, n_flits};
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Takes packets from lanes in round robin and sends them as flits.
///
/// Timing:  a packet that arrives in cycle t leaves at t, its descriptor first, then one flit a cycle; packets follow without a
///          gap.
/// Source:  RTL: a unit's output FIFO holds one packet. assumed: it forwards only whole packets, because a packet that leaves
///          at the engine's slower rate would block the interconnect for others.
pub(super) struct Exit {
    flit_bytes: usize,
    lanes: Vec<Rx<Box<Message>>>,
    output: Tx<Flit>,
    /// The lane of the next packet.
    lane: usize,
    /// Remaining flits of the packet being sent.
    n_left: usize,
}

impl Exit {
    pub(super) fn new(flit_bytes: usize, lanes: Vec<Rx<Box<Message>>>, output: Tx<Flit>) -> Exit {
        Exit { flit_bytes, lanes, output, lane: 0, n_left: 0 }
    }
}

impl Component for Exit {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if self.n_left == 0 && !self.lanes[self.lane].has_item() || !self.output.has_room() {
            return Activity::Idle;
        }
        if self.n_left > 0 {
            self.n_left -= 1;
            self.output.send(if self.n_left == 0 { Flit::Tail } else { Flit::Body });
        } else {
            let message = self.lanes[self.lane].take().expect("a packet must be there");
            self.lane = (self.lane + 1) % self.lanes.len();
            self.n_left = n_flits(message.data.len(), self.flit_bytes) - 1;
            self.output.send(Flit::Head(message));
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, lane) in self.lanes.iter().enumerate() {
            ports.input(&format!("lane[{i}]"), lane);
        }
        ports.output("out", &self.output);
    }
}
