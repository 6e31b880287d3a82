//! NICs of offload chains: services and chains of them, tenants and traffic in; packets, and where their time went, out.
//!
//! [`CheckedChains::read`] understands an experiment, [`ChainRun`] runs it, [`ChainSummary`] says what it was.

mod captures;
mod changes;
mod check;
mod classify;
mod credits;
mod experiment;
mod level;
mod nic;
mod programs;
mod record;
mod run;
mod shares;
mod short_forms;
mod source;
mod stats;
mod summary;
mod table;
mod tenants;
mod trail;
mod unused;
mod weights;

pub use panic::cost;

pub use check::{ChainError, CheckedChains};
pub use experiment::ChainExperiment;
pub use nic::{PRESETS, is_meant_by as is_nic, load, services, services_of, show};
pub use panic::policy::{Arrival, Policy};
pub use record::Fate;
pub use run::{ChainRun, ChainRunError, Ended, OwnPolicies, Wanted};
pub use summary::ChainSummary;
pub use table::{HOP_COLUMNS, PACKET_COLUMNS, reasons};

use crate::toml_text::{self, Format};
use std::path::Path;

/// Keys that only experiments with chains have.
const KEYS: [&str; 4] = ["chain", "service", "preset_services", "rmt"];

/// Whether a text is an experiment with chains: it has what only such have, or names a NIC of chains.
pub fn is_experiment(text: &str, base_dir: &Path, format: Format) -> bool {
    let is_short = toml_text::check_limits(text, "", format).is_ok();
    let table: Option<toml::Table> = match format {
        _ if !is_short => None,
        Format::Toml => toml::from_str(text).ok(),
        Format::Json => serde_json::from_str(text).ok(),
    };
    let Some(table) = table else {
        // It is none of either; whoever reads it tells what is wrong, best in words of what it seems to be.
        return text.lines().any(|line| ["[[chain]]", "[[service]]"].contains(&line.trim()));
    };
    let nic = table.get("nic").and_then(|nic| nic.as_str().or_else(|| nic.get("preset")?.as_str()));
    KEYS.iter().any(|key| table.contains_key(*key)) || nic.is_some_and(|nic| is_nic(nic, base_dir))
}
