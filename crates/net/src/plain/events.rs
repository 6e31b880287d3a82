//! The events of a plain NIC, in order of time.

use super::program::{Event, MessageId, Payload};
use crate::NodeId;
use crate::frame::Arrival;
use crate::pause::Pause;
use kernel::Time;

/// Something to do at a time. The order of variants is the order at one time.
pub(super) enum Kind {
    Order(Pause),
    Tail(Arrival),
    Post { id: MessageId, to: NodeId, tag: u64, payload: Payload },
    Tell(Event),
    Timeout(NodeId),
    Wake,
}

impl Kind {
    pub fn rank(&self) -> u8 {
        match self {
            Kind::Order(_) => 0,
            Kind::Tail(_) => 1,
            Kind::Post { .. } => 2,
            Kind::Tell(_) => 3,
            Kind::Timeout(_) => 4,
            Kind::Wake => 5,
        }
    }
}

/// An event with its place in the order.
pub(super) struct Entry {
    pub key: (Time, u8, u64),
    pub kind: Kind,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
