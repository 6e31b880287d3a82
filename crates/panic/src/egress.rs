//! Where packets leave the interconnect for the outside.

use crate::cells::Cells;
use crate::protocol::{Flit, Leg, Message, NodeId, Step};
use crate::world::SharedOutlet;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};

/// Hands packets to the outlet, a flit a cycle.
///
/// Ports:  `in`.
/// Timing: a flit is taken in the cycle in which it is there; a packet has left with its tail.
/// Source: RTL, whose bench takes what comes out at once.
pub struct Egress {
    node: NodeId,
    input: Rx<Flit>,
    outlet: SharedOutlet,
    cells: Option<Cells>,
    message: Option<Box<Message>>,
    packets: Counter,
    bytes: Counter,
}

impl Egress {
    /// The exit at `node`.
    pub fn new(node: NodeId, input: Rx<Flit>, outlet: SharedOutlet) -> Egress {
        let (packets, bytes) = Default::default();
        Egress { node, input, outlet, cells: None, message: None, packets, bytes }
    }

    /// The same, where packets give back their cells.
    pub fn with_cells(self, cells: Option<Cells>) -> Egress {
        Egress { cells, ..self }
    }
}

impl Component for Egress {
    fn tick(&mut self, now: Cycle) -> Activity {
        match self.input.take() {
            None => return Activity::Idle,
            Some(Flit::Head(mut message)) => {
                message.descriptor.trail.mark(now, Step::Leaving, self.node);
                if let Some(cells) = &self.cells {
                    cells.leaves(now, &message);
                }
                self.message = Some(message);
            }
            Some(Flit::Body) => {}
            Some(Flit::Tail) => {
                let mut message = self.message.take().expect("a message begins with its descriptor");
                if let Leg::Dropped(reason) = message.leg {
                    self.outlet.borrow_mut().drop(now, *message, reason);
                    return Activity::Busy;
                }
                message.descriptor.trail.mark(now, Step::Left, self.node);
                self.packets.add(1);
                self.bytes.add(message.data.len() as u64);
                let side = message.descriptor.side;
                self.outlet.borrow_mut().leave(now, side, *message);
            }
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
    }
}
