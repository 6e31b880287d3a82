//! Networks of hosts and cards.
//!
//! `goal` reads the schedules of message-passing programs, and `loggops` runs them on hosts that follow LogGOPS.
//!
//! The other modules are a network of packets. A [`plan::Plan`] lists nodes and links; a [`network::Network`] runs it on threads. Nodes meet
//! through [`link`]s only. A [`device::Device`] is a card with its host, which takes and gives whole frames; a [`node::Node`] decides itself
//! when each frame is on its lines.
//!
//! ```
//! use kernel::Time;
//! use net::network::{Network, Options};
//! use net::node::{BuildNode, Node};
//! use net::host::{Entry, Event, Host, Payload, Program};
//! use net::plain::{PlainNic, params::PlainParams};
//! use net::{NodeId, spec::NetworkSpec, topology::Topology};
//!
//! /// All nodes send a message to node 0.
//! struct Incast;
//!
//! impl Program for Incast {
//!     fn start(&mut self, host: &mut Host) {
//!         match host.node() {
//!             NodeId(0) => drop(host.append(Entry::ALL)),
//!             _ => drop(host.put(NodeId(0), 7, Payload::Zeros(100_000))),
//!         }
//!     }
//!     fn event(&mut self, _: Event, _: &mut Host) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = NetworkSpec { topology: Some(Topology::Star { nodes: 5 }), ..NetworkSpec::default() };
//! let plan = spec.design(&["plain"], |_| false)?.plan(|_, _, _| {
//!     let build: BuildNode = Box::new(|place| {
//!         let nic = PlainNic::new(PlainParams::default(), place, Box::new(Incast))?;
//!         Ok(Box::new(nic) as Box<dyn Node>)
//!     });
//!     Ok::<_, std::convert::Infallible>(build)
//! })?;
//! let mut network = Network::build(plan, Options { threads: 2, ..Options::default() })?;
//! let progress = network.run_until(Time::from_ns(1_000_000))?;
//! assert_eq!(progress.next, None, "nothing can happen any more");
//! let ledger = network.ledger()?;
//! assert_eq!((ledger.delivered.frames, ledger.in_flight.frames), (4 * 25, 0));
//! # Ok(())
//! # }
//! ```

pub mod address;
mod agenda;
mod barrier;
pub mod capture;
pub mod design;
pub mod device;
pub mod digest;
pub mod error;
pub mod exchange;
pub mod frame;
pub mod goal;
pub mod host;
pub mod line;
pub mod link;
pub mod loggops;
pub mod messages;
pub mod network;
pub mod node;
pub mod observe;
mod ordered;
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
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
