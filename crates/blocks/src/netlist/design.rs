//! A card with everything looked up: the parts there will be, and which port is connected to which.

use super::clock::ClockFreq;
use super::module::{Kind, PortSpec};
use super::problem::Place;
use serde::Serialize;
use std::collections::BTreeMap;

/// A checked card. Whatever is wrong with its file was found before; it can be built.
#[derive(Clone, Debug, Serialize)]
pub struct Design {
    /// What the card is called.
    pub name: String,
    /// What it is.
    pub about: String,
    /// The card's own parameters, as they hold.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Clocks by name.
    pub clocks: BTreeMap<String, ClockFreq>,
    /// Parts, in the order of the file; those of a module in its place.
    pub parts: Vec<Part>,
    /// Instances of modules that are themselves made of parts, the outer before the inner.
    pub groups: Vec<Group>,
    /// Which port is connected to which.
    pub connections: Vec<Connection>,
}

/// A part.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Its path: `cpu[1]`, `cluster.core[0].cpu`.
    pub path: String,
    /// Which kind of module it is.
    pub module: &'static str,
    /// Name of its clock.
    pub clock: String,
    /// Its parameters, as they hold.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    #[serde(skip)]
    pub(super) kind: Kind,
    #[serde(skip)]
    pub(super) place: Place,
}

/// An instance of a module that is made of parts.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Its path.
    pub path: String,
    /// Name of the module.
    pub module: String,
    /// Its ports by name, each with the path of the port inside.
    pub ports: BTreeMap<String, String>,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Path of the port that asks or sends.
    pub from: String,
    /// Path of the port that answers or receives.
    pub to: String,
    /// What they speak.
    pub protocol: &'static str,
    /// Items under way each way.
    pub room: usize,
    /// Cycles of the sender from sending to being seen.
    pub latency: u64,
    #[serde(skip)]
    pub(super) ends: [PortId; 2],
}

/// A port of a part, by positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PortId {
    pub part: usize,
    pub port: usize,
}

impl Design {
    /// The part at `path`.
    pub fn part(&self, path: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.path == path)
    }

    pub(super) fn path_of(parts: &[Part], id: PortId) -> String {
        let part = &parts[id.part];
        format!("{}.{}", part.path, part.ports[id.port].name)
    }
}
