//! The counters of the tables and registers of the RMT pipeline.

use panic::rmt::{EntryState, Rmt, Source, TableState};
use schemars::JsonSchema;
use serde::Serialize;

/// A table of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableSummary {
    /// Its name.
    pub table: String,
    /// Its entries.
    pub entries: Vec<TableEntrySummary>,
    /// Packets that no entry matched.
    pub misses: u64,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableEntrySummary {
    /// The match expression.
    #[serde(rename = "match")]
    pub matches: String,
    /// Packets that it matched.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A register of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegisterSummary {
    /// Its name.
    pub register: String,
    /// Index and value of the words that are not 0.
    pub words: Vec<(usize, u64)>,
}

/// The tables except that of the chains, which has its own part of the summary.
pub fn tables(rmt: &Rmt) -> Vec<TableSummary> {
    let entry = |entry: EntryState| match entry.source {
        Source::Entry(source) => {
            Some(TableEntrySummary { matches: source.matches, packets: entry.packets, bytes: entry.bytes })
        }
        Source::Chain(_) => None,
    };
    let summary = |TableState { name, entries, misses, .. }| TableSummary {
        table: name,
        entries: entries.into_iter().filter_map(entry).collect(),
        misses,
    };
    rmt.tables().into_iter().filter(|table| table.name != "chains").map(summary).collect()
}

/// The registers of words.
pub fn registers(rmt: &Rmt) -> Vec<RegisterSummary> {
    rmt.registers().into_iter().map(|(register, words)| RegisterSummary { register, words }).collect()
}
