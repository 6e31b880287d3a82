//! Counters of an RMT pipeline, and the state of its tables.

use super::EntryHandle;
use super::action_params::ActionParams;
use super::chain::ChainParams;
use super::params::EntryParams;
use serde::Serialize;

/// Counters of a pipeline since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RmtCounters {
    /// All packets.
    pub packets: u64,
    /// Packets from transmit queues.
    pub from_host: u64,
    /// Packets that are cut off or shorter than their headers announce; fewer fields of these can match.
    pub malformed: u64,
    /// Packets that no entry and no binding matched.
    pub unmatched: u64,
    /// Packets dropped because their exit is `drop`.
    pub dropped: u64,
    /// Actions without effect because the packet lacks the field, tag or header.
    pub absent: u64,
    /// Actions without effect because a class, queue or length was out of range.
    pub out_of_range: u64,
}

/// Parameters from which an entry was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A table entry.
    Entry(EntryParams),
    /// A chain.
    Chain(ChainParams),
}

/// An entry of a table, or a chain bound to queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryState {
    /// Its handle.
    pub handle: EntryHandle,
    /// Parameters from which it was made.
    pub source: Source,
    /// Number of packets that it matched.
    pub packets: u64,
    /// Their length on arrival, in bytes.
    pub bytes: u64,
}

/// A table with its entries in matching order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableState {
    /// Its name.
    pub name: String,
    /// Maximum number of entries.
    pub size: u32,
    /// Its entries.
    pub entries: Vec<EntryState>,
    /// Actions for packets that no entry matches.
    pub otherwise: Vec<ActionParams>,
    /// Number of packets that no entry matched.
    pub misses: u64,
}
