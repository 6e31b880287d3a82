//! Rows about frames, for the observer of a network. Observing changes no result.

use crate::frame::{Frame, FrameId};
use crate::{LinkId, NodeId, PortId};
use kernel::Time;
use std::error::Error;
use std::fmt;

/// Why a frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// A fault of the link.
    Lost,
    /// Longer than the link carries.
    TooLong,
    /// Its destination address belongs to no node.
    UnknownAddress,
    /// No route leads from the switch to its destination.
    Unreachable,
    /// The switch's buffer is full.
    BufferFull,
    /// Its output queue, or its input's buffer, has reached its limit.
    QueueFull,
    /// Its class is lossless, but the headroom of its input is full.
    HeadroomFull,
    /// The node that received it has no use for it.
    Unwanted,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [DropReason; 8] = [
        DropReason::Lost,
        DropReason::TooLong,
        DropReason::UnknownAddress,
        DropReason::Unreachable,
        DropReason::BufferFull,
        DropReason::QueueFull,
        DropReason::HeadroomFull,
        DropReason::Unwanted,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::Lost => "lost",
            DropReason::TooLong => "too_long",
            DropReason::UnknownAddress => "unknown_address",
            DropReason::Unreachable => "unreachable",
            DropReason::BufferFull => "buffer_full",
            DropReason::QueueFull => "queue_full",
            DropReason::HeadroomFull => "headroom_full",
            DropReason::Unwanted => "unwanted",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of a message between hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MessageKind {
    /// Bytes for the receiver.
    Put,
    /// A request for bytes. It has none itself.
    Get,
    /// The bytes that a request asked for.
    Reply,
}

impl MessageKind {
    /// All kinds.
    pub const ALL: [MessageKind; 3] = [MessageKind::Put, MessageKind::Get, MessageKind::Reply];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Put => "put",
            MessageKind::Get => "get",
            MessageKind::Reply => "reply",
        }
    }
}

/// Identity of a message between hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageKey {
    /// The node that sends it.
    pub from: NodeId,
    /// The node that receives it.
    pub to: NodeId,
    /// Its kind.
    pub kind: MessageKind,
    /// Number that its sender gave it. A reply has the lower 24 bits of its request's number.
    pub number: u32,
}

/// Bits of a request's number that its reply carries.
pub const REPLY_BITS: u32 = 0xff_ffff;

/// An event of a frame, a queue or a message. The last three variants are for messages between hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It entered the network: it waits in the node's transmitter from now on.
    Entered,
    /// It crosses a link. The row's time is the start on the line.
    Crossed {
        /// The link.
        link: LinkId,
        /// First bit at the other end.
        head: Time,
        /// Last bit at the other end.
        tail: Time,
        /// It is a pause frame. These can go on forever while nothing else moves.
        is_pause: bool,
    },
    /// The link made a second copy of it.
    Copied {
        /// The link.
        link: LinkId,
    },
    /// It arrived at a node that uses it. The row's time is that of its first bit.
    Delivered {
        /// Last bit.
        tail: Time,
    },
    /// It was dropped.
    Dropped {
        /// Why.
        reason: DropReason,
    },
    /// A switch marked congestion in it.
    Marked,
    /// Bytes in an output queue of a switch, or in a transmitter's queue of a device, after the frame came or left. In a switch, a frame
    /// leaves the queue with its last bit; in a device, with its first bit.
    Depth {
        /// Output.
        port: PortId,
        /// Class of the queue.
        class: u8,
        /// Bytes.
        bytes: u64,
    },
    /// A switch sent a pause through a port. The row's frame is the pause frame.
    Paused {
        /// Port.
        port: PortId,
        /// Class.
        class: u8,
        /// True for a pause, false for its end.
        is_on: bool,
    },
    /// A host posted a message. The row's frame has the sender and the number of the message, and its length is the message's.
    Posted {
        /// The receiver.
        to: NodeId,
        /// Kind of the message.
        kind: MessageKind,
        /// Tag of the message.
        tag: u64,
        /// When its sender's NIC may have it.
        posted: Time,
    },
    /// The frame, which has just entered the network, carries a part of this message.
    Carries {
        /// The receiver.
        to: NodeId,
        /// Kind of the message.
        kind: MessageKind,
        /// Number of the message.
        number: u32,
    },
    /// All of a message has arrived and has met its matching entry. The row's frame has the sender and the number of the message.
    Received {
        /// Kind of the message.
        kind: MessageKind,
        /// When the host gets it.
        done: Time,
    },
}

impl What {
    /// Returns true for the events of messages, which are not in the table of frames.
    pub fn is_of_message(&self) -> bool {
        matches!(self, What::Posted { .. } | What::Carries { .. } | What::Received { .. })
    }
}

/// An event of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// When.
    pub at: Time,
    /// The node where it happened; for links, the sender.
    pub node: NodeId,
    /// Number among the rows of the run.
    pub number: u64,
    /// The frame.
    pub frame: FrameId,
    /// Its length without FCS, in bytes.
    pub bytes: u32,
    /// Links that it had crossed.
    pub hops: u16,
    /// Its class.
    pub class: u8,
    /// Event.
    pub what: What,
}

/// An event of a message at its sender or receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageEvent {
    /// When.
    pub at: Time,
    /// The message.
    pub message: MessageKey,
    /// Its length in bytes.
    pub len: u32,
    /// [`What::Posted`] or [`What::Received`].
    pub what: What,
}

/// Receives the rows of a network during the run, in order of (time, node). This order does not depend on threads. Rows
/// of one node and time are in this order: frames that arrive, actions of the node, frames on lines.
pub trait Observer {
    /// The next rows. An error ends the run soon; there are no further rows.
    fn rows(&mut self, rows: &[Row]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

impl<F: FnMut(&[Row]) -> Result<(), Box<dyn Error + Send + Sync>>> Observer for F {
    fn rows(&mut self, rows: &[Row]) -> Result<(), Box<dyn Error + Send + Sync>> {
        self(rows)
    }
}

/// Frames and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// Bytes without FCS.
    pub bytes: u64,
}

impl Tally {
    /// Adds a frame.
    pub fn add(&mut self, frame: &Frame) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: Tally) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// Where the frames of a network are. Pause frames are not in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Ledger {
    /// Entered at nodes.
    pub entered: Tally,
    /// Copies that links or switches made.
    pub copied: Tally,
    /// Received by nodes that use them.
    pub delivered: Tally,
    /// Dropped, by reason in the order of [`DropReason::ALL`].
    pub dropped: [Tally; DropReason::ALL.len()],
    /// Waiting in nodes, or on links.
    pub in_flight: Tally,
}

impl Ledger {
    /// All drops.
    pub fn all_dropped(&self) -> Tally {
        let mut sum = Tally::default();
        self.dropped.iter().for_each(|&tally| sum.merge(tally));
        sum
    }

    /// Drops for one reason.
    pub fn dropped_for(&self, reason: DropReason) -> Tally {
        self.dropped[reason as usize]
    }

    /// Returns true if each byte that entered or was copied was delivered, dropped, or is in flight.
    pub fn is_balanced(&self) -> bool {
        let (mut came, mut went) = (self.entered, self.delivered);
        came.merge(self.copied);
        went.merge(self.all_dropped());
        went.merge(self.in_flight);
        came == went
    }

    /// Adds the ledger of other nodes.
    pub fn merge(&mut self, other: &Ledger) {
        self.entered.merge(other.entered);
        self.copied.merge(other.copied);
        self.delivered.merge(other.delivered);
        self.in_flight.merge(other.in_flight);
        self.dropped.iter_mut().zip(other.dropped).for_each(|(sum, tally)| sum.merge(tally));
    }
}
