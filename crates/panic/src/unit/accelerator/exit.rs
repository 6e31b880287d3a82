//! The exit of an engine: packets from its lanes, in the order in which they came.

use crate::protocol::{Flit, Message, n_flits};
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Takes packets from lanes in turn and sends them on as flits.
///
/// Timing:  a packet that comes at cycle t leaves at t, its descriptor first, then a flit a cycle; packets follow each other
///          without a gap.
/// Source:  RTL: the output FIFO of a unit has room for a packet. assumed: it gives on whole packets, for one that leaves as
///          slowly as an engine works would hold up the interconnect for others.
pub(super) struct Exit {
    flit_bytes: usize,
    lanes: Vec<Rx<Box<Message>>>,
    output: Tx<Flit>,
    /// The lane whose packet is next.
    lane: usize,
    /// Flits of the packet that is leaving that have not left.
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
            let message = self.lanes[self.lane].take().expect("a packet is there");
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
