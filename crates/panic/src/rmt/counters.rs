//! What an RMT pipeline counts, and what it says of its tables.

use super::EntryHandle;
use super::action_params::ActionParams;
use super::chain::ChainParams;
use super::params::EntryParams;
use serde::Serialize;

/// Counts of a pipeline since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RmtCounters {
    /// Packets that came.
    pub packets: u64,
    /// Those among them that came from transmit queues.
    pub from_host: u64,
    /// Packets that are cut or announce what they do not have; they match less.
    pub malformed: u64,
    /// Packets that no entry and no binding took.
    pub unmatched: u64,
    /// Packets that are dropped at once, because their exit is `drop`.
    pub dropped: u64,
    /// Actions without effect, because the packet does not have the field, tag or header that they need.
    pub absent: u64,
    /// Actions without effect, because a class, a queue or a length came out greater than there can be.
    pub out_of_range: u64,
}

/// What an entry was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An entry.
    Entry(EntryParams),
    /// A chain.
    Chain(ChainParams),
}

/// An entry of a table, or a chain that is bound to queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryState {
    /// Its handle.
    pub handle: EntryHandle,
    /// What it was made of.
    pub source: Source,
    /// Packets that it took.
    pub packets: u64,
    /// Their bytes, as they came.
    pub bytes: u64,
}

/// A table, with its entries in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableState {
    /// Its name.
    pub name: String,
    /// Entries that it holds at most.
    pub size: u32,
    /// Its entries.
    pub entries: Vec<EntryState>,
    /// What is done with packets that no entry takes.
    pub otherwise: Vec<ActionParams>,
    /// Packets that no entry took.
    pub misses: u64,
}
