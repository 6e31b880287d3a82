//! What an RMT pipeline is told: its parser, tables, state and chains, as they stand in a file.

use super::action_params::ActionParams;
use super::chain::ChainParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An RMT pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RmtParams {
    /// Stages of match-action, 1 to 32; each table takes one, and so do the chains that have matches. The prototype has one (6).
    pub stages: u32,
    /// Services that a descriptor holds, 1 to 255; four in the RTL.
    pub max_hops: u32,
    /// Which headers are looked at.
    #[serde(default)]
    pub parser: ParserParams,
    /// Names of metadata words of 64 bits, each 0 when a packet comes; `meta.NAME` in expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<String>,
    /// State that lasts from packet to packet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<RegisterParams>,
    /// Tables, in order of their stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableParams>,
    /// Chains: those with matches become entries of a last table, `chains`; those with queues are bound to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainParams>,
}

/// A programmable parser.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParserParams {
    /// Layers that it knows; one that it does not hides all behind it.
    #[serde(default = "all_layers")]
    pub layers: Vec<String>,
    /// Headers of one's own, each after a layer or a header that stands before it in this list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderParams>,
}

fn all_layers() -> Vec<String> {
    wire::expr::Field::protocols().map(str::to_owned).collect()
}

impl Default for ParserParams {
    fn default() -> Self {
        ParserParams { layers: all_layers(), headers: Vec::new() }
    }
}

/// A header of one's own. `NAME` asks whether a packet has it, `NAME.FIELD` is a field, `NAME.offset` its first byte.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderParams {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// The layer or header behind which it begins; `eth` means behind VLAN tags too.
    pub after: String,
    /// Whether it is there, said of the packet's fields, its `port` and the headers before it; `true` if it always follows.
    #[serde(default = "always")]
    pub when: String,
    /// Its length, 1 to 256 bytes.
    pub bytes: u32,
    /// Its fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<HeaderFieldParams>,
}

/// A field of a header: a big-endian number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderFieldParams {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// Its first bit; bit 0 is the highest of the first byte.
    pub at_bit: u32,
    /// Its width, 1 to 128 bits.
    pub bits: u32,
}

/// An array of state. Actions give an index, which counts modulo `size`: `flow` for state per flow, `class` per class.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RegisterParams {
    /// Words of 64 bits, 0 in the beginning.
    Words {
        /// Its name.
        name: String,
        /// How many words, 1 to 65536.
        size: u32,
    },
    /// Token buckets, full in the beginning.
    Meter {
        /// Its name.
        name: String,
        /// How many buckets, 1 to 65536.
        size: u32,
        /// Bytes that flow into a bucket in 1000 cycles.
        bytes_per_1000_cycles: u32,
        /// Bytes that a bucket holds.
        burst_bytes: u32,
    },
}

/// A match-action table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableParams {
    /// Its name.
    pub name: String,
    /// Entries that it holds at most, 1 to 65536.
    #[serde(default = "table_size")]
    pub size: u32,
    /// Its entries; the first that takes a packet says what is done with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryParams>,
    /// What is done with a packet that no entry takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<ActionParams>,
}

/// assumed: no source has the size of a table; it is far above what the evaluation needs (three chains, 7.6).
pub(super) fn table_size() -> u32 {
    1024
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryParams {
    /// The packets that it takes: a match expression.
    #[serde(rename = "match", default = "always")]
    pub matches: String,
    /// Entries with lower numbers are tried first, those with equal ones in the order in which they were inserted.
    #[serde(default)]
    pub order: u32,
    /// What is done with them, in this order.
    pub actions: Vec<ActionParams>,
}

fn always() -> String {
    "true".to_owned()
}
