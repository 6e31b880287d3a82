//! The entry of an engine: packets to its lanes.

use crate::protocol::Flit;
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Deals packets to lanes in turn.
///
/// Timing:  a flit passes in the cycle in which it comes, if the FIFO of its lane has room.
/// Source:  assumed: packets leave in order of arrival, so whoever is next in turn to give one out is next in turn to get one.
pub(super) struct Entry {
    input: Rx<Flit>,
    lanes: Vec<Tx<Flit>>,
    /// The lane that gets the packet that is passing, or the next.
    lane: usize,
}

impl Entry {
    pub(super) fn new(input: Rx<Flit>, lanes: Vec<Tx<Flit>>) -> Entry {
        Entry { input, lanes, lane: 0 }
    }
}

impl Component for Entry {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let lane = &self.lanes[self.lane];
        if !self.input.has_item() || !lane.has_room() {
            return Activity::Idle;
        }
        let flit = self.input.take().expect("a flit is there");
        let is_last = matches!(flit, Flit::Tail);
        lane.send(flit);
        if is_last {
            self.lane = (self.lane + 1) % self.lanes.len();
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
        for (i, lane) in self.lanes.iter().enumerate() {
            ports.output(&format!("lane[{i}]"), lane);
        }
    }
}
