//! A network as users write it: devices, switches and links, or a topology by name.

use crate::line::Framing;
use crate::span::{BitRate, Span};
use crate::switch::params::SwitchParams;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// A network.
///
/// With a topology, devices are named `n0`, `n1`, and so on, and entries of `nodes`, `switches` and `links` change single nodes,
/// switches and links. Without a topology, the entries define the whole network.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSpec {
    /// Seed of all random choices of links and switches.
    pub seed: u64,
    /// A topology by name.
    pub topology: Option<Topology>,
    /// The device of nodes that name none.
    pub device: DeviceSpec,
    /// Properties of links that state no others.
    pub link: LinkParams,
    /// Properties of switches that state no others.
    pub switch: SwitchChoice,
    /// Nodes.
    pub nodes: Vec<NodeSpec>,
    /// Switches.
    pub switches: Vec<SwitchSpec>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Accepts priority flow control on routes that can wait for each other in a cycle.
    pub may_deadlock: bool,
}

/// A device: its kind, and settings that this kind has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// `plain`, or a card by name or file.
    pub kind: String,
    /// Settings of the kind.
    #[serde(default)]
    pub with: serde_json::Map<String, serde_json::Value>,
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec { kind: "plain".into(), with: serde_json::Map::new() }
    }
}

/// A node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Its device.
    #[serde(default)]
    pub device: Option<DeviceSpec>,
    /// Its IPv4 address, if not 10.0.0.1 + its number.
    #[serde(default)]
    pub ip: Option<Ipv4Addr>,
    /// Its MAC address, if not `02:00:` followed by its IPv4 address by number.
    #[serde(default)]
    pub mac: Option<String>,
}

/// A switch by preset, or by its parameters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SwitchChoice {
    /// The name of a preset.
    Preset(String),
    /// All parameters; those that are not given have the values of the preset `default`.
    Params(Box<SwitchParams>),
}

impl<'de> Deserialize<'de> for SwitchChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SwitchChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a preset or a table of parameters")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<SwitchChoice, E> {
                Ok(SwitchChoice::Preset(name.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SwitchChoice, A::Error> {
                let params = SwitchParams::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SwitchChoice::Params(Box::new(params)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Default for SwitchChoice {
    fn default() -> Self {
        SwitchChoice::Preset("default".into())
    }
}

/// A switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// Its name.
    pub name: String,
    /// Its parameters, if not those of all switches.
    #[serde(default)]
    pub params: Option<SwitchChoice>,
    /// Packets that a card in the switch handles.
    #[serde(default)]
    pub compute: Option<ComputeSpec>,
}

/// A card in a switch: packets that match leave to it, whatever their destination. The packets that it sends are routed as usual.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeSpec {
    /// An expression such as `udp.dst_port == 9999`.
    #[serde(rename = "match")]
    pub matching: String,
    /// The node that is the card. It has a link to the switch.
    pub card: String,
}

/// Properties of a link. Both directions have them, unless an entry of `links` says otherwise.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParams {
    /// Rate such as `100G`; `none` if the sender serialises its frames itself. 100G if not given.
    pub rate: Option<BitRate>,
    /// Rate of the direction from `to` to `from`, if it differs.
    pub rate_back: Option<BitRate>,
    /// Delay of a bit, such as `500 ns`.
    pub delay: Option<Span>,
    /// Length in metres, instead of the delay: 4.9 ns per metre.
    pub length_m: Option<u32>,
    /// Bits that the line adds to frames; `ethernet` if not given.
    pub framing: Option<Framing>,
    /// Longest frame, with Ethernet header and without FCS; 9018 if not given.
    pub max_frame_bytes: Option<u32>,
    /// Faults, such as `loss=0.01`.
    pub faults: Option<String>,
    /// Faults of the direction from `to` to `from`, if they differ.
    pub faults_back: Option<String>,
    /// Time from the end of a pause frame until the transmitter obeys; none if not given.
    pub pause_reaction: Option<Span>,
}

/// A link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// An end: a name, or a name and a port such as `sw0:3`. Without a port, the next free one.
    pub from: String,
    /// The other end.
    pub to: String,
    /// Its name, if not that of its ends.
    #[serde(default)]
    pub name: Option<String>,
    /// Rate such as `100G`, and the other properties of [`LinkParams`].
    #[serde(default)]
    pub with: LinkParams,
}
