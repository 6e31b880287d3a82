//! What a run was, in numbers: the JSON of `docs/reference/summary.md`.
//!
//! Its keys are a promise. Floats appear here and nowhere before.

mod make;
mod remarks;

pub use make::cause_name;
pub(crate) use make::{gbps, ns};
pub use remarks::Remark;
pub(crate) use remarks::{file_name, grouped, part_of};

use crate::experiment::Experiment;
use crate::lines::SourceLine;
use crate::stats::EventStats;
use blocks::mhz::Mhz;
use serde::Serialize;
use std::collections::BTreeMap;
use wire::capture::CaptureCounts;
use wire::faults::FaultCounts;
use wire::pacing::PacingCounts;

/// The whole summary.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct Summary {
    pub spinet: &'static str,
    pub digest: String,
    pub seed: u64,
    pub ended: EndedSummary,
    pub remarks: Vec<Remark>,
    pub packets: PacketSummary,
    pub output: OutputSummary,
    pub contexts: Vec<ContextSummary>,
    pub timeline: Vec<ActionSummary>,
    pub throughput: ThroughputSummary,
    pub latency_ns: Option<LatencySummary>,
    pub ingress_wait_ns: Option<WaitSummary>,
    pub hpus: HpuSummary,
    pub handlers: Vec<HandlerSummary>,
    pub traps: Vec<TrapSummary>,
    pub console_lines_lost: u64,
    pub capture: Option<CaptureSummary>,
    pub pacing: PacingCounts,
    pub network: NetworkSummary,
    pub events: EventStats,
    pub time: TimeSummary,
    pub counters: BTreeMap<String, u64>,
    pub experiment: Experiment,
    pub wall: WallSummary,
}

/// What the network promised, and what it did.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct NetworkSummary {
    pub reliable: bool,
    pub in_order: bool,
    #[serde(flatten)]
    pub faults: FaultCounts,
}

/// How it ended.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct EndedSummary {
    pub reason: &'static str,
    pub text: String,
    pub unfinished_packets: u64,
    pub open_messages: u64,
    pub cores: Vec<CoreSummary>,
}

/// Something that the driver did.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct ActionSummary {
    pub what: String,
    pub begun_ns: f64,
    pub done_ns: f64,
    pub data: Option<String>,
}

/// A core that has not come to rest.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct CoreSummary {
    pub cluster: u32,
    pub core: u32,
    pub pc: String,
    pub place: String,
    #[serde(flatten)]
    pub source: SourceLine,
    pub waiting_for: &'static str,
    pub stage: Option<&'static str>,
    pub frame: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct PacketSummary {
    #[serde(rename = "in")]
    pub packets_in: u64,
    pub in_bytes: u64,
    pub matched: u64,
    pub matched_bytes: u64,
    pub ordinary: u64,
    pub ordinary_bytes: u64,
    pub done: u64,
    pub sent: u64,
    pub to_host: u64,
    pub sent_and_to_host: u64,
    pub consumed: u64,
    pub trapped: u64,
    pub unfinished: u64,
    pub dropped: u64,
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    pub without_queue: u64,
    pub marked: u64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct OutputSummary {
    pub packets: u64,
    pub bytes: u64,
    pub host_writes: u64,
    pub host_write_bytes: u64,
    pub host_reads: u64,
    pub host_read_bytes: u64,
    pub command_faults: u64,
    pub first_command_fault: Option<CommandFaultSummary>,
    pub copy_faults: u64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct CommandFaultSummary {
    pub frame: u64,
    pub context: String,
    pub stage: &'static str,
    pub handler: String,
    pub cluster: u32,
    pub core: u32,
    pub time_ns: f64,
    pub unit: &'static str,
    pub addr: String,
    pub bytes: u64,
    pub why: String,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct ContextSummary {
    pub name: String,
    #[serde(rename = "match")]
    pub matches: Option<String>,
    pub message: String,
    pub handler: String,
    pub packets: u64,
    pub bytes: u64,
    pub messages: u64,
    pub messages_ended: u64,
    pub messages_without_queue: u64,
    pub packets_without_fields: u64,
    /// Messages that had to leave their queue to another tenant.
    pub messages_evicted: u64,
    pub handler_memory: MemorySummary,
    pub host_memory: MemorySummary,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct MemorySummary {
    pub addr: String,
    pub size: u64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct ThroughputSummary {
    pub in_gbps: Option<f64>,
    pub out_gbps: Option<f64>,
    pub done_packets_per_s: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct LatencySummary {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    pub split: Split,
}

/// Parts of a latency, in the order of time.
#[derive(Clone, Debug)]
pub struct Split(pub Vec<(&'static str, PartSummary)>);

/// One part of a latency.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct PartSummary {
    pub mean: f64,
    pub p99: f64,
}

impl Serialize for Split {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, part)| (name, part)))
    }
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct WaitSummary {
    pub mean: f64,
    pub p99: f64,
    pub max: f64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct HpuSummary {
    pub count: u64,
    pub busy_percent: f64,
    pub per_cluster_percent: Vec<f64>,
    pub asleep_percent: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct HandlerSummary {
    pub context: String,
    pub stage: &'static str,
    pub symbol: String,
    pub runs: u64,
    pub instructions: RangeSummary,
    pub cycles: RangeSummary,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct RangeSummary {
    pub mean: f64,
    pub min: u64,
    pub max: u64,
    pub total: u64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct TrapSummary {
    pub cause: String,
    pub mcause: u32,
    pub count: u64,
    pub first: TrapPlaceSummary,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct TrapPlaceSummary {
    pub frame: u64,
    pub context: String,
    pub stage: &'static str,
    pub cluster: u32,
    pub core: u32,
    pub time_ns: f64,
    pub pc: String,
    pub place: String,
    #[serde(flatten)]
    pub source: SourceLine,
    pub value: String,
    pub value_is: Option<&'static str>,
    pub note: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct CaptureSummary {
    #[serde(flatten)]
    pub counts: CaptureCounts,
    pub stop: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct TimeSummary {
    pub simulated_ns: f64,
    pub cycles: u64,
    pub traffic_start_ns: Option<f64>,
    pub clock_mhz: Mhz,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct WallSummary {
    pub seconds: f64,
    pub cycles_per_second: f64,
    pub packets_per_second: f64,
}
