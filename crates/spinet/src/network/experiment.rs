//! The format of experiments with networks.

use super::schedule::ScheduleProblem;
use crate::experiment::{Common, ExperimentError, FromText, OneOrMany, Problem, Section, SourceSpec};
use crate::kinds::{self, Kind};
use crate::tracks::TracksError;
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
    /// The keys of all experiments. `nic` is the default card of the nodes; without it, their default is a plain NIC.
    #[serde(flatten, skip_deserializing)]
    pub common: Common,
    /// A topology by name. Without it, `nodes`, `switches` and `links` define the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Nodes and their cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSpec>,
    /// Default properties of links.
    #[serde(default)]
    pub link: LinkParams,
    /// Default properties of switches.
    #[serde(default)]
    pub switch: SwitchChoice,
    /// Switches; with a topology, only switches that differ from the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchSpec>,
    /// Links; with a topology, only links that differ from the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSpec>,
    /// Parameters of the hosts' messages, for nodes without `messages` of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<PlainParams>,
    /// A file with a GOAL schedule that the hosts run: rank 0 on the first node, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Parameters of the hosts that run the schedule, such as `o=1500,g=1000,O=0,S=65535`; the network replaces `L` and `G`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loggops: Option<String>,
    /// Model of the time that hosts spend on messages of the schedule: `2010` as in LogGOPSim, or `atlahs` as in ATLAHS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Ends of links to capture: `NODE:PORT`, or `NODE` for all ports of a node or switch; a node may be a pattern such as `n*`. Each is a
    /// file `links/NODE-PORT.pcapng` of the results, with the frames that are sent and received there. A run of several processes
    /// cannot capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<String>,
    /// Accepts priority flow control on routes with a cycle of waits, which can deadlock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_deadlock: bool,
}

impl Section for NetworkExperiment {
    const KIND: &'static Kind = &kinds::NETWORK;

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// A node, or several equal nodes. All other keys are an experiment for the node's card: `nic`, `program`, `context`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSpec {
    /// Its name. With `count`, the nodes are called `name0`, `name1`, ... With a topology, the name of one of its nodes, or a pattern
    /// such as `n*`; each node has the first entry that matches its name.
    pub name: String,
    /// Number of nodes, without a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Its IPv4 address; by default, 10.0.0.1 plus its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Ipv4Addr>,
    /// Its MAC address; by default, `02:00:` followed by the four bytes of its default IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Packets that the host sends to other nodes.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub send: OneOrMany<HostSourceSpec>,
    /// Parameters of the host's messages. A host without a program accepts all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<PlainParams>,
    /// A Python function that the host runs: `file.py:function`. Only runs that Python starts support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_program: Option<String>,
    /// The process that simulates the node, in a run with several. By default, nodes are distributed by their expected work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The thread within that process. By default, nodes are distributed by their expected work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// The experiment for its card.
    #[serde(flatten)]
    #[schemars(skip)]
    pub card: toml::Table,
}

/// Packets of a host, and their destination node. A text instead of a table is its `source`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostSourceSpec {
    /// Name of the destination node of generated packets. Packets then carry the addresses of both nodes.
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
    /// The timeline.
    #[error(transparent)]
    Tracks(#[from] TracksError),
    /// A program for a node that runs a rank of the schedule.
    #[error("the host of node `{name}` has a program, and runs a rank of the schedule, too")]
    TwoPrograms {
        /// The node.
        name: String,
    },
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
    #[error("links lose packets: write `faults` in [link], or in `with` of a link")]
    Faults,
    #[error("unknown key, must be one of {allowed}")]
    UnknownKey { allowed: String },
    #[error("`{found}` is the name of two nodes, each must have its own")]
    Name { found: String },
    #[error("`{found}` is not a valid name; allowed are a letter, then letters, digits, `-`, `_` and `.`")]
    BadName { found: String },
    #[error("the name has {found} characters, must have at most {most}; results have a folder of that name")]
    LongName { found: usize, most: usize },
    #[error("there is no node `{found}`{}", diagnostics::near::did_you_mean(near.as_ref()))]
    NoNode { found: String, near: Option<String> },
    #[error("count is {found}, must be 1 to {most}")]
    Count { found: u32, most: u32 },
    #[error("count is only for networks without a topology; the topology defines the number of nodes")]
    CountOfTopology,
    #[error("ip and mac are for a single node")]
    AddressOfSeveral,
    #[error("`{found}` fits no node of the topology, whose nodes are n0 to {last}")]
    NoSuchNodes { found: String, last: String },
    #[error("earlier entries describe all nodes of `{found}`; put special entries above general ones")]
    Shadowed { found: String },
    #[error(transparent)]
    Schedule(#[from] ScheduleProblem),
    #[error("is {found}, must be {allowed}")]
    Design { found: String, allowed: String },
}
