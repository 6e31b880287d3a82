//! An experiment with a network, as it is written.

use super::schedule::ScheduleProblem;
use crate::experiment::{Common, ExperimentError, FromText, OneOrMany, Problem, Section, SourceSpec};
use crate::kinds::{self, Kind};
use net::error::NetError;
use net::plain::params::PlainParams;
use net::spec::{LinkParams, LinkSpec, SwitchChoice, SwitchSpec};
use net::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// An experiment with a network, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkExperiment {
    /// The keys of all experiments. `nic` is the card of nodes that name none; without it, those have a plain NIC.
    #[serde(flatten, skip_deserializing)]
    pub common: Common,
    /// A topology by name. Without one, `nodes`, `switches` and `links` are the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Nodes and their cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSpec>,
    /// Properties of links that state no others.
    #[serde(default)]
    pub link: LinkParams,
    /// Properties of switches that state no others.
    #[serde(default)]
    pub switch: SwitchChoice,
    /// Switches; with a topology, those that differ from the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchSpec>,
    /// Links; with a topology, those that differ from the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSpec>,
    /// How messages of hosts cross the network, for nodes that do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<PlainParams>,
    /// A file with a GOAL schedule that the hosts run: rank 0 on the first node, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Parameters of the hosts that run the schedule, such as `o=1500,g=1000,O=0,S=65535`; the network takes the place of `L` and `G`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loggops: Option<String>,
    /// How hosts charge messages of the schedule: `2010` as LogGOPSim does, `atlahs` as ATLAHS does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Accepts priority flow control on routes that can wait for each other in a circle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_deadlock: bool,
}

impl Section for NetworkExperiment {
    const KIND: &'static Kind = &kinds::NETWORK;

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// A node, or several alike. All other keys are an experiment for the node's card: `nic`, `program`, `context`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSpec {
    /// Its name. With `count`, the nodes are called `name0`, `name1`, ... With a topology, the name of one of its nodes, or a pattern
    /// such as `n*`; a node has the first entry that fits.
    pub name: String,
    /// Number of nodes, without a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Its IPv4 address, if not 10.0.0.1 + its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Ipv4Addr>,
    /// Its MAC address, if not `02:00:` and its IPv4 address by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Packets that the host sends to other nodes.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub send: OneOrMany<HostSourceSpec>,
    /// How messages of the host cross the network, for hosts with programs. Without a program, the host takes all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<PlainParams>,
    /// A function of Python that the host runs: `file.py:function`. Only Python can run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_program: Option<String>,
    /// The process that simulates it, of a run with several. Without it, nodes are distributed by their expected work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The thread of that process. Without it, nodes are distributed likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// The experiment for its card.
    #[serde(flatten)]
    #[schemars(skip)]
    pub card: toml::Table,
}

/// Packets of a host, and the node that they go to; a text is its `source`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSourceSpec {
    /// Name of the node that generated packets go to. They then carry the addresses of both nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The packets.
    #[serde(flatten)]
    pub source: SourceSpec,
}

impl FromText for HostSourceSpec {
    const EXAMPLE: &'static str = SourceSpec::EXAMPLE;

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(HostSourceSpec { to: None, source: SourceSpec::from_text(text)? })
    }
}

/// A network that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A value of the experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError<NetworkProblem>),
    /// The network, or a card on a node.
    #[error(transparent)]
    Network(#[from] NetError),
    /// A program for a node that does not exist.
    #[error("the program of a host names node `{found}`, which does not exist{}", diagnostics::near::did_you_mean(near.as_ref()))]
    Host {
        /// The node.
        found: String,
        /// A node with a similar name.
        near: Option<String>,
    },
}

/// The fault of a value.
#[derive(Debug, thiserror::Error)]
pub enum NetworkProblem {
    #[error(transparent)]
    Source(#[from] Problem),
    #[error("`{key}` belongs to the network, above [[nodes]]{}", hint)]
    OfNetwork { key: String, hint: &'static str },
    #[error("packets of a network come from its nodes: write `send` in [[nodes]]")]
    Packets,
    #[error("`{found}` is the name of two nodes, each must have its own")]
    Name { found: String },
    #[error("`{found}` is no name; allowed are letters, digits, `-`, `_` and `.`, and it begins with a letter")]
    BadName { found: String },
    #[error("there is no node `{found}`{}", diagnostics::near::did_you_mean(near.as_ref()))]
    NoNode { found: String, near: Option<String> },
    #[error("count is {found}, must be 1 to {most}")]
    Count { found: u32, most: u32 },
    #[error("count is for networks without a topology, whose nodes are named here")]
    CountOfTopology,
    #[error("ip and mac are for a single node")]
    AddressOfSeveral,
    #[error("`{found}` fits no node of the topology, whose nodes are n0 to {last}")]
    NoSuchNodes { found: String, last: String },
    #[error(transparent)]
    Schedule(#[from] ScheduleProblem),
    #[error("is {found}, must be {allowed}")]
    Design { found: String, allowed: String },
}
