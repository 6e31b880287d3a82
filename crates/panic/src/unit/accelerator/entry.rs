//! The entry of an engine: distributes packets over its lanes.

use crate::protocol::Flit;
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Distributes packets over lanes in round robin.
///
/// Timing:  a flit passes in the cycle of its arrival, if the FIFO of its lane has room.
/// Source:  assumed: packets leave in order of arrival, so the lane that outputs next also receives next.
pub(super) struct Entry {
    input: Rx<Flit>,
    lanes: Vec<Tx<Flit>>,
    /// The lane of the packet that is passing, or of the next one.
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
        let flit = self.input.take().expect("a flit must be there");
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
