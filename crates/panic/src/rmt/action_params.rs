//! Actions on packets, as in files.

use super::hash::HashFunction;
use super::rewrite::ChecksumOf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number or a text. A text is a value as in expressions, or the name of a field, which stands for its value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "must be a number or the name of a field")]
pub enum ValueParams {
    /// A number.
    Number(u64),
    /// A value or the name of a field.
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

/// A service to visit: its name, or a table with its name and settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "HopText", into = "HopText")]
#[schemars(with = "HopText")]
pub struct HopParams {
    /// Name of the service.
    pub service: String,
    /// Traffic class there; by default the packet's.
    pub class: Option<u8>,
    /// Priority there, lower is more urgent; by default the packet's.
    pub priority: Option<u32>,
    /// Argument for the service.
    pub metadata: ValueParams,
}

impl HopParams {
    /// A visit with default settings.
    pub fn new(service: &str) -> HopParams {
        HopParams { service: service.to_owned(), class: None, priority: None, metadata: ValueParams::default() }
    }
}

/// A visit in a file.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum HopText {
    /// Name of the service.
    Name(String),
    /// Name of the service with settings.
    Table(HopTable),
}

/// A service to visit.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HopTable {
    /// Name of the service.
    service: String,
    /// Traffic class there; by default the packet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<u8>,
    /// Priority there, lower is more urgent; by default the packet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    /// Argument for the service.
    #[serde(default, skip_serializing_if = "ValueParams::is_zero")]
    metadata: ValueParams,
}

impl<'de> Deserialize<'de> for HopText {
    /// Not derived, because a derived one loses the errors inside the table.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = HopText;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a service or a table, for example { service = \"aes\", class = 1 }")
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

/// An action: `{ class = 1 }`, `"pop_vlan"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionParams {
    /// Sets the services to visit; an empty list sends the packet straight to its exit.
    Chain(ServicesParams),
    /// Sets the traffic class.
    Class(ValueParams),
    /// Sets the priority; lower is more urgent.
    Priority(ValueParams),
    /// Sets the slack: total cycles that the packet may wait.
    SlackCycles(ValueParams),
    /// Sets the flow, for flow affinity; by default the hash over the 5-tuple.
    Flow(ValueParams),
    /// Sets the exit: `host`, `host:QUEUE`, `network:PORT` or `drop`.
    Exit(String),
    /// Sets the exit to this queue of the host.
    HostQueue(ValueParams),
    /// Sets a field of the packet, of a header or of the metadata.
    Set(SetParams),
    /// Sets a field to a computed value.
    Compute(ComputeParams),
    /// Sets the hash in the descriptor.
    Hash(HashParams),
    /// Inserts a VLAN tag after the MAC addresses.
    PushVlan(PushVlanParams),
    /// Removes the outermost VLAN tag.
    PopVlan,
    /// Decrements IPv4's time to live or IPv6's hop limit; 0 stays 0.
    DecrementTtl,
    /// Recomputes checksums.
    Checksum(Vec<ChecksumOf>),
    /// Adds to a word of a register.
    Count(CountParams),
    /// Reads the cycles since the last such action on a word of a register; 2^64 - 1 the first time.
    LastSeen(ReadParams),
    /// Reads a word of a register.
    Read(ReadParams),
    /// Writes a word of a register.
    Write(WriteParams),
    /// Takes the packet's bytes from a bucket of a meter: the result is 0 if the bucket had them, otherwise 1.
    Meter(ReadParams),
    /// Skips later tables.
    Stop,
}

/// Services to visit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServicesParams {
    /// Services in order.
    pub services: Vec<HopParams>,
    /// Allows a service to be visited more than once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
}

/// A field and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetParams {
    /// The field.
    pub field: String,
    /// Its value; a value wider than the field is truncated to its low bits.
    pub to: ValueParams,
}

/// A field and the operation that computes its new value, in 64 bits without carry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeParams {
    /// The field.
    pub field: String,
    /// Left operand.
    pub left: ValueParams,
    /// The operation.
    pub op: Operation,
    /// Right operand.
    pub right: ValueParams,
}

/// Operations that a stage can compute in one cycle (4.1 and 2.2.3 mention simple atoms; the set is assumed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left.
    ShiftLeft,
    /// Shift right.
    ShiftRight,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}

/// A hash over fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HashParams {
    /// The function.
    #[serde(default)]
    pub function: HashFunction,
    /// Input fields, in this order; fields that a packet lacks are skipped. Empty means the 5-tuple.
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
    /// Index of the word.
    pub index: ValueParams,
    /// Amount to add: `len` for bytes, 1 for packets.
    #[serde(default = "one")]
    pub add: ValueParams,
    /// Destination of the new count, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

fn one() -> ValueParams {
    ValueParams::Number(1)
}

/// A read of state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadParams {
    /// The register.
    pub register: String,
    /// Index of the word.
    pub index: ValueParams,
    /// Destination of the result.
    pub to: String,
}

/// A write of state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteParams {
    /// The register.
    pub register: String,
    /// Index of the word.
    pub index: ValueParams,
    /// The value.
    pub value: ValueParams,
}
