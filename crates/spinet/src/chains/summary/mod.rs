//! What a run with chains was, in numbers: the JSON of `docs/reference/chains-summary.md`.
//!
//! Its keys are a promise. Floats appear here and nowhere before.

mod make;
mod pipeline;
mod remarks;

use pipeline::{RegisterSummary, TableSummary};

use super::experiment::ChainExperiment;
use super::unused::Unused;
use crate::lines::SourceLine;
use crate::summary::{CaptureSummary, Remark, WallSummary};
use blocks::mhz::Mhz;
use serde::Serialize;
use std::collections::BTreeMap;
use wire::faults::FaultCounts;
use wire::pacing::PacingCounts;

/// The whole summary.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/chains-summary.md describes each key")]
pub struct ChainSummary {
    pub spinet: &'static str,
    pub digest: String,
    pub nic: String,
    pub seed: u64,
    pub ended: EndedSummary,
    pub remarks: Vec<Remark>,
    pub packets: PacketSummary,
    pub throughput: ThroughputSummary,
    pub latency_ns: Option<LatencySummary>,
    pub line_wait_ns: Option<PartSummary>,
    pub jain_index: f64,
    pub share_window_ns: Option<(f64, f64)>,
    pub tenants: Vec<TenantSummary>,
    pub chains: Vec<ChainGroupSummary>,
    pub services: Vec<ServiceSummary>,
    pub credits: CreditSummary,
    pub sources: Vec<SourceSummary>,
    pub unused: Unused,
    pub time: TimeSummary,
    pub troubles: Vec<TroubleSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<RegisterSummary>,
    pub counters: BTreeMap<String, u64>,
    pub experiment: ChainExperiment,
    pub wall: WallSummary,
}

#[derive(Clone, Debug, Serialize)]
pub struct EndedSummary {
    pub reason: &'static str,
    pub text: String,
    pub unfinished_packets: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct PacketSummary {
    #[serde(rename = "in")]
    pub packets_in: u64,
    pub in_bytes: u64,
    pub left: u64,
    pub left_bytes: u64,
    pub to_network: u64,
    pub to_host: u64,
    pub dropped: u64,
    pub dropped_bytes: u64,
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    pub inside: u64,
    pub detoured: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ThroughputSummary {
    pub in_gbps: Option<f64>,
    pub out_gbps: Option<f64>,
    pub network_gbps: Option<f64>,
    pub host_gbps: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LatencySummary {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p5: f64,
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    pub split: Split,
}

/// Parts of a latency, in the order of time.
#[derive(Clone, Debug)]
pub struct Split(Vec<(&'static str, PartSummary)>);

impl Serialize for Split {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, part)| (name, part)))
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PartSummary {
    pub mean: f64,
    pub p99: f64,
    pub max: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct TenantSummary {
    pub name: String,
    pub weight: u32,
    pub last_weight: u32,
    pub priority: u32,
    pub class: u8,
    pub share: f64,
    #[serde(flatten)]
    pub group: GroupSummary,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChainGroupSummary {
    pub name: String,
    pub tenant: Option<String>,
    pub services: Vec<String>,
    #[serde(flatten)]
    pub group: GroupSummary,
    pub hops: Vec<VisitSummary>,
}

/// Packets of a tenant or of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    #[serde(rename = "in")]
    pub packets_in: u64,
    pub in_bytes: u64,
    pub in_gbps: Option<f64>,
    pub left: u64,
    pub left_bytes: u64,
    pub out_gbps: Option<f64>,
    pub dropped: u64,
    pub dropped_percent: f64,
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    pub inside: u64,
    pub detoured: u64,
    pub latency_ns: Option<LatencySummary>,
}

/// Visits of a service, or of a hop.
#[derive(Clone, Debug, Serialize)]
pub struct VisitSummary {
    pub service: String,
    pub packets: u64,
    pub pushed: u64,
    pub detours: u64,
    pub total_ns: Option<PartSummary>,
    pub split_ns: Option<Split>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ServiceSummary {
    #[serde(flatten)]
    pub visits: VisitSummary,
    pub initial_credits: u32,
    pub units: Vec<UnitSummary>,
}

#[derive(Clone, Debug, Serialize)]
pub struct UnitSummary {
    pub path: String,
    pub node: u8,
    pub packets: u64,
    pub busy_percent: Option<f64>,
    pub in_engine: Option<f64>,
    pub credits_held: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CreditSummary {
    pub interval_ns: f64,
    pub units: BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SourceSummary {
    pub source: String,
    pub side: String,
    pub capture: Option<CaptureSummary>,
    pub pacing: PacingCounts,
    pub network: FaultCounts,
}

#[derive(Clone, Debug, Serialize)]
pub struct TimeSummary {
    pub simulated_ns: f64,
    pub cycles: u64,
    pub clock_mhz: Mhz,
}

/// Something that the program of a unit did wrong.
#[derive(Clone, Debug, Serialize)]
pub struct TroubleSummary {
    pub unit: String,
    pub time_ns: f64,
    pub packet: Option<u64>,
    pub text: String,
    pub pc: String,
    pub place: Option<String>,
    #[serde(flatten)]
    pub source: SourceLine,
}
