//! A card with all names resolved: its parts and the connections between their ports.

use super::clock::ClockFreq;
use super::module::{Kind, PortSpec};
use super::problem::FilePlace;
use serde::Serialize;
use std::collections::BTreeMap;

/// A checked card. All errors in its file were reported before, so it can be built.
#[derive(Clone, Debug, Serialize)]
pub struct Design {
    /// Name of the card.
    pub name: String,
    /// Description of the card.
    pub about: String,
    /// The card's own parameters, with their final values.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Clocks by name.
    pub clocks: BTreeMap<String, ClockFreq>,
    /// Parts in file order; the parts of a module take the module's position.
    pub parts: Vec<DesignPart>,
    /// Instances of composed modules, outer before inner.
    pub groups: Vec<Group>,
    /// The connections.
    pub connections: Vec<Connection>,
}

/// A part of a card.
#[derive(Clone, Debug, Serialize)]
pub struct DesignPart {
    /// Its path: `cpu[1]`, `cluster.core[0].cpu`.
    pub path: String,
    /// Name of its module.
    pub module: &'static str,
    /// Name of its clock.
    pub clock: String,
    /// Parameters, with their final values.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    #[serde(skip)]
    pub(super) kind: Kind,
    #[serde(skip)]
    pub(super) place: FilePlace,
}

/// An instance of a composed module.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Its path.
    pub path: String,
    /// Name of the module.
    pub module: String,
    /// Ports by name, each with the path of the inner port.
    pub ports: BTreeMap<String, String>,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Path of the port that sends or requests.
    pub from: String,
    /// Path of the port that receives or responds.
    pub to: String,
    /// Their protocol.
    pub protocol: &'static str,
    /// Capacity in items, for each direction.
    pub room: usize,
    /// Latency from sending to visibility, in cycles of the sender.
    pub latency: u64,
    #[serde(skip)]
    pub(super) ends: [PortId; 2],
}

/// A port, identified by part and port index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PortId {
    pub part: usize,
    pub port: usize,
}

impl Design {
    /// The part at `path`.
    pub fn part(&self, path: &str) -> Option<&DesignPart> {
        self.parts.iter().find(|part| part.path == path)
    }

    pub(super) fn path_of(parts: &[DesignPart], id: PortId) -> String {
        let part = &parts[id.part];
        format!("{}.{}", part.path, part.ports[id.port].name)
    }
}
