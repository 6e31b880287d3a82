//! Parameters of an RMT pipeline as in files: parser, tables, state and chains.

use super::action_params::ActionParams;
use super::chain::ChainParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An RMT pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RmtParams {
    /// Number of match-action stages, 1 to 32. Each table uses one stage; all chains with a match together use one more. The
    /// prototype has one (6).
    pub stages: u32,
    /// Maximum number of services in a descriptor, 1 to 255; four in the RTL.
    pub max_hops: u32,
    /// The headers to parse.
    #[serde(default)]
    pub parser: ParserParams,
    /// Names of 64-bit metadata words, each 0 when a packet arrives; `meta.NAME` in expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<String>,
    /// State that persists between packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<RegisterParams>,
    /// Tables, in the order of their stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableParams>,
    /// Chains. Those with a match become entries of a last table, `chains`; those with queues are bound to their
    /// queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainParams>,
}

/// A programmable parser.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParserParams {
    /// Protocol layers that it parses; an unknown one hides everything behind it.
    #[serde(default = "all_layers")]
    pub layers: Vec<String>,
    /// User-defined headers, each after a layer or an earlier header in this list.
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

/// A user-defined header. `NAME` is true if a packet has it, `NAME.FIELD` is a field, `NAME.offset` the offset of its first
/// byte.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderParams {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// The layer or header that precedes it; `eth` includes VLAN tags.
    pub after: String,
    /// Condition for its presence, over the packet's fields, its `port` and earlier headers; `true` if it always follows.
    #[serde(default = "always")]
    pub when: String,
    /// Length in bytes, 1 to 256.
    pub bytes: u32,
    /// Its fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<HeaderFieldParams>,
}

/// A field of a header, a big-endian number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderFieldParams {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// First bit; bit 0 is the highest bit of the first byte.
    pub at_bit: u32,
    /// Width in bits, 1 to 128.
    pub bits: u32,
}

/// An array of state. Actions give an index modulo `size`: for example `flow` for state per flow, `class` for state per class.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RegisterParams {
    /// 64-bit words, initially 0.
    Words {
        /// Its name.
        name: String,
        /// Number of words, 1 to 65536.
        size: u32,
    },
    /// Token buckets, initially full.
    Meter {
        /// Its name.
        name: String,
        /// Number of buckets, 1 to 65536.
        size: u32,
        /// Rate in bytes per 1000 cycles.
        bytes_per_1000_cycles: u32,
        /// Size of a bucket.
        burst_bytes: u32,
    },
}

/// A match-action table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableParams {
    /// Its name.
    pub name: String,
    /// Maximum number of entries, 1 to 65536.
    #[serde(default = "table_size")]
    pub size: u32,
    /// Its entries; the first that matches a packet decides the actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryParams>,
    /// Actions for packets that no entry matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<ActionParams>,
}

/// assumed: no source gives the size of a table; this is far above the needs of the evaluation (three chains, 7.6).
pub(super) fn table_size() -> u32 {
    1024
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryParams {
    /// Match expression.
    #[serde(rename = "match", default = "always")]
    pub matches: String,
    /// Entries with lower numbers are tried first, those with equal numbers in order of insertion.
    #[serde(default)]
    pub order: u32,
    /// Actions, in order.
    pub actions: Vec<ActionParams>,
}

fn always() -> String {
    "true".to_owned()
}
