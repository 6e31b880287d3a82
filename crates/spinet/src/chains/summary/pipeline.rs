//! What the tables and the registers of the RMT pipeline came to.

use panic::rmt::{EntryState, Rmt, Source, TableState};
use serde::Serialize;

/// A table of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSummary {
    pub table: String,
    pub entries: Vec<TableEntrySummary>,
    pub misses: u64,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableEntrySummary {
    #[serde(rename = "match")]
    pub matches: String,
    pub packets: u64,
    pub bytes: u64,
}

/// A register of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegisterSummary {
    pub register: String,
    pub words: Vec<(usize, u64)>,
}

/// The tables but that of the chains, which the summary has as such.
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
