//! What is done with a packet, as it stands in a file.

use super::hash::HashFunction;
use super::rewrite::ChecksumOf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number, or a text: a value as expressions have them, or the name of a field, whose value is taken then.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "found something else, must be a number or the name of a field")]
pub enum ValueParams {
    /// A number.
    Number(u64),
    /// A value or a field.
    Text(String),
}

impl Default for ValueParams {
    fn default() -> Self {
        ValueParams::Number(0)
    }
}

impl ValueParams {
    pub(super) fn is_zero(&self) -> bool {
        *self == ValueParams::Number(0)
    }
}

/// A service to visit: its name, or a table with its name and what is said of the visit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "HopText", into = "HopText")]
#[schemars(with = "HopText")]
pub struct HopParams {
    /// Name of the service.
    pub service: String,
    /// Traffic class there; none, that of the packet.
    pub class: Option<u8>,
    /// Priority there, lower is more urgent; none, that of the packet.
    pub priority: Option<u32>,
    /// What the service is told.
    pub metadata: ValueParams,
}

impl HopParams {
    /// A visit of which nothing is said.
    pub fn new(service: &str) -> HopParams {
        HopParams { service: service.to_owned(), class: None, priority: None, metadata: ValueParams::default() }
    }
}

/// How a hop stands in a file.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum HopText {
    /// Name of the service.
    Name(String),
    /// Name of the service, and more.
    Table(HopTable),
}

/// A service to visit.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HopTable {
    /// Name of the service.
    service: String,
    /// Traffic class there; that of the packet if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<u8>,
    /// Priority there, lower is more urgent; that of the packet if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    /// What the service is told.
    #[serde(default, skip_serializing_if = "ValueParams::is_zero")]
    metadata: ValueParams,
}

impl<'de> Deserialize<'de> for HopText {
    /// Not derived, for a derived one forgets what is wrong within the table.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = HopText;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a service or a table such as { service = \"aes\", class = 1 }")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<HopText, E> {
                Ok(HopText::Name(name.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<HopText, A::Error> {
                HopTable::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(HopText::Table)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl From<HopText> for HopParams {
    fn from(text: HopText) -> HopParams {
        match text {
            HopText::Name(name) => HopParams::new(&name),
            HopText::Table(HopTable { service, class, priority, metadata }) => {
                HopParams { service, class, priority, metadata }
            }
        }
    }
}

impl From<HopParams> for HopText {
    fn from(hop: HopParams) -> HopText {
        if hop == HopParams::new(&hop.service) {
            return HopText::Name(hop.service);
        }
        let HopParams { service, class, priority, metadata } = hop;
        HopText::Table(HopTable { service, class, priority, metadata })
    }
}

/// What is done with a packet: `{ class = 1 }`, `"pop_vlan"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionParams {
    /// It visits these services; an empty list sends it straight to its exit.
    Chain(ServicesParams),
    /// Its traffic class.
    Class(ValueParams),
    /// Its priority; lower is more urgent.
    Priority(ValueParams),
    /// Cycles that it may wait in all.
    SlackCycles(ValueParams),
    /// Its flow, for affinity; else it is the hash over its 5-tuple.
    Flow(ValueParams),
    /// Where it goes: `host`, `host:QUEUE`, `network:PORT` or `drop`.
    Exit(String),
    /// It goes to this queue of the host.
    HostQueue(ValueParams),
    /// A field of the packet, of a header or of the metadata gets a value.
    Set(SetParams),
    /// The same with a value that is computed.
    Compute(ComputeParams),
    /// The hash in the descriptor.
    Hash(HashParams),
    /// A VLAN tag is put behind the MAC addresses.
    PushVlan(PushVlanParams),
    /// The outermost VLAN tag is taken away.
    PopVlan,
    /// One hop less: IPv4's time to live or IPv6's hop limit; 0 stays 0.
    DecrementTtl,
    /// Checksums are computed anew.
    Checksum(Vec<ChecksumOf>),
    /// A word of a register counts on.
    Count(CountParams),
    /// Cycles since this was last done with a word of a register, 2^64 - 1 the first time.
    LastSeen(ReadParams),
    /// A word of a register is read.
    Read(ReadParams),
    /// A word of a register is written.
    Write(WriteParams),
    /// A bucket of a meter is asked for the packet's bytes: 0 if it had them, 1 if not.
    Meter(ReadParams),
    /// Later tables do not see it.
    Stop,
}

/// Services to visit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServicesParams {
    /// Services in order.
    pub services: Vec<HopParams>,
    /// A service may be visited more than once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
}

/// A field and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetParams {
    /// The field.
    pub field: String,
    /// Its value; of a wider field, the low bits.
    pub to: ValueParams,
}

/// A field and what its new value is computed from, in 64 bits without carry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeParams {
    /// The field.
    pub field: String,
    /// Left of the operation.
    pub left: ValueParams,
    /// The operation.
    pub op: Operation,
    /// Right of it.
    pub right: ValueParams,
}

/// What a stage can compute within a cycle (4.1 and 2.2.3 speak of simple atoms; which ones is assumed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Bits that both have.
    And,
    /// Bits that one has.
    Or,
    /// Bits that one has and the other has not.
    Xor,
    /// Left by so many bits.
    ShiftLeft,
    /// Right by so many bits.
    ShiftRight,
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

/// A hash over fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HashParams {
    /// The function.
    #[serde(default)]
    pub function: HashFunction,
    /// What it covers, in this order; what a packet does not have is left out. Nothing means the 5-tuple.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// A VLAN tag (802.1Q).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushVlanParams {
    /// Identifier, 0 to 4095.
    pub id: u16,
    /// Priority code point, 0 to 7.
    #[serde(default)]
    pub priority: u8,
}

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountParams {
    /// The register.
    pub register: String,
    /// Which word of it.
    pub index: ValueParams,
    /// How much it counts: `len` for bytes, 1 for packets.
    #[serde(default = "one")]
    pub add: ValueParams,
    /// Where the new count goes, if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

fn one() -> ValueParams {
    ValueParams::Number(1)
}

/// State that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadParams {
    /// The register.
    pub register: String,
    /// Which word of it.
    pub index: ValueParams,
    /// Where the answer goes.
    pub to: String,
}

/// A word that is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteParams {
    /// The register.
    pub register: String,
    /// Which word of it.
    pub index: ValueParams,
    /// What is written.
    pub value: ValueParams,
}
