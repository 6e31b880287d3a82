//! The events of a plain NIC, in order of time.

use super::packet::Begin;
use crate::NodeId;
use crate::frame::Arrival;
use crate::host::{Event, MessageId, Payload};
use crate::pause::Pause;

/// Something to do at a time. The order of variants is the order at one time.
pub(super) enum Kind {
    Order(Pause),
    /// The card has written host memory.
    Memory {
        addr: u64,
        bytes: Box<[u8]>,
    },
    Tail(Arrival),
    Post {
        id: MessageId,
        to: NodeId,
        begin: Begin,
        payload: Payload,
    },
    /// A message for the program; a processor handles it first.
    Deliver {
        cpu: u8,
        len: u32,
        event: Event,
    },
    Tell(Event),
    Timeout(NodeId),
    /// The rate to a peer allows the next packet.
    Pace(NodeId),
    Wake,
}

impl Kind {
    pub fn rank(&self) -> u8 {
        match self {
            Kind::Order(_) => 0,
            Kind::Memory { .. } => 1,
            Kind::Tail(_) => 2,
            Kind::Post { .. } => 3,
            Kind::Deliver { .. } => 4,
            Kind::Tell(_) => 5,
            Kind::Timeout(_) => 6,
            Kind::Pace(_) => 7,
            Kind::Wake => 8,
        }
    }
}
