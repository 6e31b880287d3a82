//! Networks of hosts and cards.
//!
//! `goal` reads the schedules of message-passing programs, and `loggops` runs them on hosts that follow LogGOPS.
//!
//! The other modules are a network of packets. A [`plan::Plan`] lists nodes and links; a [`network::Network`] runs it on threads. Nodes meet
//! through [`link`]s only. A [`device::Device`] is a card with its host, which takes and gives whole frames; a [`node::Node`] decides itself
//! when each frame is on its lines.

pub mod address;
mod barrier;
pub mod capture;
pub mod design;
pub mod device;
pub mod digest;
pub mod error;
pub mod exchange;
pub mod frame;
pub mod goal;
pub mod line;
pub mod link;
pub mod loggops;
pub mod network;
pub mod node;
pub mod observe;
pub mod pause;
pub mod plain;
pub mod plan;
pub mod routes;
mod shard;
pub mod span;
pub mod spec;
pub mod switch;
pub mod topology;
mod worker;

use std::fmt;

pub use shard::NodeReport;

/// Number of a node. Nodes are cards and switches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// Number of a port of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PortId(pub u16);

/// Number of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LinkId(pub u32);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}
