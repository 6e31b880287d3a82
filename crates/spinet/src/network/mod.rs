//! Networks: cards on nodes, joined by links and switches, as one simulation.
//!
//! A network is a kind of card to the rest of spinet: an experiment becomes a [`NetworkCard`], which has a summary, tables and a digest like
//! any card. Each node's table in the experiment is an experiment of its own, for a card of any other kind.

mod card;
mod device;
mod experiment;
mod flow;
mod frames;
mod gather;
mod keys;
mod meeting;
mod messages;
mod observed;
mod overview;
mod place;
mod plain;
mod progress;
mod records;
mod schedule;
mod select;
mod setup;
mod summary;
mod taps;

pub use card::NetworkCard;
pub use experiment::{HostSourceSpec, NetworkError, NetworkExperiment, NodeSpec};
pub use frames::{FRAME_COLUMNS, words};
pub use messages::{MESSAGES, MessagesSummary, SlowMessage};
pub use overview::{Bisection, LinkOverview, NodeOverview, Overview};
pub use setup::{NodeSetup, Setup};
pub use summary::{LinkSummary, NetworkPackets, NetworkSection, NodeSummary, SwitchSummary};

pub use net::{NodeId, host};

use net::observe::DropReason;

/// Name of the table of frames.
pub const FRAMES: &str = "frames";

/// Reasons for drops in a network, each with its explanation.
pub fn drops() -> Vec<(&'static str, String)> {
    let about = |reason: DropReason| match reason {
        DropReason::Lost => "a fault of a link",
        DropReason::TooLong => "longer than the link carries",
        DropReason::UnknownAddress => "its destination address belongs to no node",
        DropReason::Unreachable => "no route leads to its destination",
        DropReason::BufferFull => "the buffer of a switch was full",
        DropReason::QueueFull => "a queue of a switch had reached its limit",
        DropReason::HeadroomFull => "the headroom of a lossless class was full",
        DropReason::Unwanted => "the node that received it had no use for it",
    };
    DropReason::ALL.into_iter().map(|reason| (reason.name(), about(reason).to_owned())).collect()
}
