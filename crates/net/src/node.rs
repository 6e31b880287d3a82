//! Nodes: everything that has ends of links. The engine runs them; they meet through links only.

use crate::address::Directory;
use crate::capture::Captured;
use crate::frame::{Arrival, Frame, FrameId};
use crate::line::{Framing, Line, Rate, Slot};
use crate::observe::{DropReason, Ledger, MessageEvent, MessageKey, Row, Tally, What};
use crate::{LinkId, NodeId, PortId};
use kernel::Time;
use std::any::Any;
use std::error::Error;
use std::sync::Arc;

/// The error of a node, as its kind makes it.
pub type NodeFailure = Box<dyn Error + Send + Sync>;

/// A node at the level of the lines: it decides when each frame is on its lines. [`crate::device::Attached`] makes one of a device that only
/// hands frames over.
///
/// A node lives on one thread. The engine may slice time and distribute nodes in any way without changing a result, if each node
/// keeps two rules: it acts only on frames that it received, and two calls of `run_until` do the same as one call with the later
/// time.
pub trait Node: Any {
    /// A frame arrives. `arrival.head` is later than all that is simulated. Calls are in order of (head, link, number on the link). The node
    /// must not act before `head`, and not before `tail` on anything that the end of the frame decides.
    fn receive(&mut self, port: PortId, arrival: Arrival, out: &mut Output);

    /// Simulates all that happens up to `until`, `until` included.
    fn run_until(&mut self, until: Time, out: &mut Output) -> Result<(), NodeFailure>;

    /// The next time at which it acts by itself, with what it has received; `None` if it waits for frames.
    fn next_event(&self) -> Option<Time>;

    /// Frames that wait in it: entered or received, and neither sent, delivered nor dropped. Pause frames do not count.
    fn inside(&self) -> Tally;

    /// The digest of everything that it did so far.
    fn digest(&self) -> String;

    /// Counters by name.
    fn counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Allows a downcast to the type of the node.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// Builds a node on the thread where it lives.
pub type BuildNode = Box<dyn FnOnce(&Place) -> Result<Box<dyn Node>, NodeFailure> + Send>;

/// An end of a link, as its node sees it.
#[derive(Clone, Debug)]
pub struct PortPlace {
    /// The link.
    pub link: LinkId,
    /// The node at the other end, and its port.
    pub peer: (NodeId, PortId),
    /// Rate of this end's transmitter.
    pub rate: Rate,
    /// Rate of the other end's transmitter.
    pub peer_rate: Rate,
    /// Bits that its line adds to frames.
    pub framing: Framing,
    /// Delay of the link, from this end to the other.
    pub delay: Time,
    /// Longest frame that it carries, without FCS, in bytes.
    pub max_frame: usize,
    /// Time from the last bit of a pause frame until the transmitter obeys it.
    pub pause_reaction: Time,
}

impl PortPlace {
    /// The idle line of its transmitter.
    pub fn line(&self) -> Line {
        Line::new(self.rate, self.framing)
    }
}

/// A node's place in the network.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its number.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its ports, in order of their numbers. A port without a link is `None`.
    pub ports: Vec<Option<PortPlace>>,
    /// Addresses of all nodes.
    pub directory: Arc<Directory>,
    /// Seed of the run. Streams are named after the node.
    pub seed: u64,
}

impl Place {
    /// Numbers the frames that enter here.
    pub fn origin(&self) -> Origin {
        Origin { node: self.node, next: 0, directory: Arc::clone(&self.directory) }
    }
}

/// Makes frames where they enter the network.
#[derive(Clone, Debug)]
pub struct Origin {
    node: NodeId,
    next: u64,
    directory: Arc<Directory>,
}

impl Origin {
    /// A new frame. `class` overrides the class that its headers state.
    pub fn frame(&mut self, bytes: impl Into<Arc<[u8]>>, class: Option<u8>) -> Frame {
        let id = FrameId { node: self.node, number: self.next };
        self.next += 1;
        Frame::new(bytes, id, class, &self.directory)
    }

    /// Frames made so far.
    pub fn count(&self) -> u64 {
        self.next
    }
}

/// A frame on its way out of a node.
#[derive(Clone, Debug)]
pub struct Transmission {
    /// Its port.
    pub port: PortId,
    /// Its times on the line.
    pub slot: Slot,
    /// The frame.
    pub frame: Frame,
}

/// Collects what a node does: transmissions, and what happens to frames.
#[derive(Debug, Default)]
pub struct Output {
    pub(crate) node: NodeId,
    pub(crate) sent: Vec<Transmission>,
    pub(crate) ledger: Ledger,
    pub(crate) captured: Vec<Captured>,
    pub(crate) rows: Option<Vec<Row>>,
    pub(crate) next_row: u64,
}

impl Output {
    /// Sends a frame. `slot.start` is within the time that is simulated now, and no earlier than that of the last call for the port.
    pub fn transmit(&mut self, port: PortId, slot: Slot, frame: Frame) {
        self.sent.push(Transmission { port, slot, frame });
    }

    /// A frame entered the network here.
    pub fn entered(&mut self, at: Time, frame: &Frame) {
        if !frame.is_control {
            self.ledger.entered.add(frame);
            self.row(at, frame, What::Entered);
        }
    }

    /// The node took a frame for its own use. `at` is the time of its first bit.
    pub fn delivered(&mut self, at: Time, tail: Time, frame: &Frame) {
        if !frame.is_control {
            self.ledger.delivered.add(frame);
            self.row(at, frame, What::Delivered { tail });
        }
    }

    /// The node dropped a frame.
    pub fn dropped(&mut self, at: Time, frame: &Frame, reason: DropReason) {
        if !frame.is_control {
            self.ledger.dropped[reason as usize].add(frame);
            self.row(at, frame, What::Dropped { reason });
        }
    }

    /// A frame that has just entered carries a part of a message between hosts.
    pub fn carries(&mut self, at: Time, frame: &Frame, message: MessageKey) {
        let MessageKey { to, kind, number, .. } = message;
        self.row(at, frame, What::Carries { to, kind, number });
    }

    /// Events of messages at the node's host.
    pub fn messages(&mut self, events: impl IntoIterator<Item = MessageEvent>) {
        for MessageEvent { at, message, len, what } in events {
            let frame = FrameId { node: message.from, number: message.number.into() };
            self.add_row(at, (frame, len, 0, 0), what);
        }
    }

    /// The node made a copy of a frame.
    pub fn copied(&mut self, frame: &Frame) {
        self.ledger.copied.add(frame);
    }

    /// Returns true if the network has an observer.
    pub fn is_observed(&self) -> bool {
        self.rows.is_some()
    }

    /// Adds a row, if the network has an observer.
    pub fn row(&mut self, at: Time, frame: &Frame, what: What) {
        self.add_row(at, (frame.id, frame.len() as u32, frame.hops, frame.class), what);
    }

    fn add_row(&mut self, at: Time, (frame, bytes, hops, class): (FrameId, u32, u16, u8), what: What) {
        if let Some(rows) = &mut self.rows {
            let number = self.next_row;
            self.next_row += 1;
            rows.push(Row { at, node: self.node, number, frame, bytes, hops, class, what });
        }
    }
}
