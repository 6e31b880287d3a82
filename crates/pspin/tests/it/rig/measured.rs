//! Measurements of the RTL (`tests/rtl/measured.toml`), and the rows that the model misses (`tests/rtl/misses.toml`).

use super::driver::Conditions;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub boot: Vec<Boot>,
    pub core: Vec<CoreSection>,
    pub dma: Vec<Transfer>,
    pub section: Vec<Section>,
}

/// The state in which the boot code of these programs left each cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    /// Requests that the arbiter of the instruction cache had granted.
    pub fetch_grants: [u32; 4],
    /// A digit for each bank of the stacks' first words: the core that had accessed it last.
    pub stacks: [String; 4],
    pub programs: Vec<String>,
}

/// Cycles in which the instructions of a section leave decode.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSection {
    pub number: u32,
    pub name: String,
    pub warm: Vec<u64>,
    pub cold: Option<Vec<u64>>,
}

/// Cycles that transfers of the cluster's DMA take.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub bytes: u64,
    pub from_handler_memory: u64,
    pub from_packet_memory: u64,
    pub to_l2: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub title: String,
    pub conditions: String,
    pub runs: Vec<Run>,
}

/// A run and its results.
#[derive(Deserialize)]
pub struct Run {
    pub name: String,
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The measured program, if it is not named as the handler.
    pub program: Option<String>,
    /// Nothing else was under way, so the model must agree to the cycle.
    #[serde(default)]
    pub exact: bool,
    /// Events count from the arrival of this packet.
    #[serde(default)]
    pub of_packet: usize,
    pub nic: Option<[f64; 3]>,
    pub her: Option<[f64; 3]>,
    pub nic_to_her: Option<[f64; 3]>,
    /// Least, mean, largest.
    pub handler_cycles: Option<[f64; 3]>,
    /// Mean cycles between feedbacks.
    pub interval: Option<f64>,
    /// Gbit/s of the packets, computed from that interval.
    pub gbps: Option<f64>,
    /// Gbit/s sent, written to the host, read from it.
    pub out: Option<f64>,
    pub written: Option<f64>,
    pub read: Option<f64>,
    pub write_beats: Option<f64>,
    pub read_beats: Option<f64>,
    /// Packets that were not lost.
    pub completed: Option<f64>,
    /// Gbit/s of the whole run, between the quartiles of feedbacks, between their 50th and 90th percentile.
    pub whole: Option<f64>,
    pub middle: Option<f64>,
    pub late: Option<f64>,
    /// NIC latencies of the first and the last packet.
    pub first_and_last: Option<Vec<u64>>,
    pub nic_by_packet: Option<Vec<u64>>,
    pub her_by_packet: Option<Vec<u64>>,
    /// `doorbells`: cycles from a packet's HER until its doorbell leaves decode. `next_reads`: cycles from a doorbell to the
    /// next read of a handler's address.
    pub doorbells: Option<Vec<u64>>,
    pub next_reads: Option<Vec<u64>>,
    #[serde(default)]
    pub events: BTreeMap<String, Vec<u64>>,
}

/// Rows that are outside their tolerance, and the reasons.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misses {
    #[serde(default)]
    pub miss: Vec<Miss>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    pub cause: String,
    pub rows: Vec<String>,
}

impl Misses {
    /// Rows that still miss, as in the file.
    pub fn without_stale(&self, outside: &BTreeSet<String>) -> String {
        let mut text =
            String::from("# Rows that are outside their tolerance, and why. A row is named section | run | figure.\n");
        for Miss { cause, rows } in &self.miss {
            let rows: Vec<_> = rows.iter().filter(|row| outside.contains(*row)).collect();
            if !rows.is_empty() {
                let lines: String = rows.iter().map(|row| format!("    {row:?},\n")).collect();
                text += &format!("\n[[miss]]\ncause = {cause:?}\nrows = [\n{lines}]\n");
            }
        }
        text
    }
}

/// The state in which the boot code of a measured program left the card, if it was measured.
fn boot_of(boots: &[Boot], program: &str, align: Option<u32>) -> Option<Boot> {
    let key = align.map_or_else(|| program.to_owned(), |align| format!("{program}_a{align}"));
    boots.iter().find(|boot| boot.programs.contains(&key)).cloned()
}

impl Measured {
    /// The state in which the boot code of the handler's measured program left the card.
    pub fn boot_of(&self, conditions: &Conditions) -> Option<Boot> {
        boot_of(&self.boot, &conditions.handler, conditions.align)
    }
}

pub fn measured() -> Measured {
    let text = include_str!("../../rtl/measured.toml");
    let mut measured: Measured = toml::from_str(text).expect("the measurements are well formed");
    for run in measured.section.iter_mut().flat_map(|section| &mut section.runs) {
        let program = run.program.as_ref().unwrap_or(&run.conditions.handler);
        run.conditions.boot = boot_of(&measured.boot, program, run.conditions.align);
    }
    measured
}

pub fn misses() -> Misses {
    // Read at run time, because `make fidelity` writes this file and then the pages.
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rtl/misses.toml"));
    toml::from_str(&text.expect("the misses are committed")).expect("the misses are well formed")
}
