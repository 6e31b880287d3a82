//! The section of the summary for cards that run chains of offloads.

mod make;
mod pipeline;
mod remarks;

use pipeline::{RegisterSummary, TableSummary};

use super::unused::Unused;
use crate::lines::SourceLine;
use crate::summary::{LatencySummary, Split, Spread, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The summary of a run with chains.
pub type ChainSummary = Summary<ChainPackets, ChainSection>;

/// Counts of packets on cards that run chains. `in` equals `out` + `dropped` + `unfinished`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChainPackets {
    /// The part of `out` that left to the network.
    pub to_network: u64,
    /// The part of `out` that left to the host.
    pub to_host: u64,
    /// Bytes of dropped packets.
    pub dropped_bytes: u64,
    /// Packets that a unit refused at least once.
    pub detoured: u64,
}

/// Keys of cards that run chains.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChainSection {
    /// Jain's fairness index over the tenants that sent packets: the bytes of each tenant that left, divided by its fair share, during
    /// `share_window_ns`. Fair shares follow the weights at the time when the bytes left, since `[[at]]` can change weights.
    pub jain_index: f64,
    /// The time in which all tenants sent: from the latest first packet in to the earliest last packet in, rounded inwards to steps of at
    /// most a 512th of the run. `null` if they never all sent at once; the index and the shares then cover the whole run.
    pub share_window_ns: Option<(f64, f64)>,
    /// Tenants.
    pub tenants: Vec<TenantSummary>,
    /// Chains. `(no chain)` counts packets that no chain took.
    pub chains: Vec<ChainGroupSummary>,
    /// Services.
    pub services: Vec<ServiceSummary>,
    /// The credits that the scheduler holds of each unit over time.
    pub credits: CreditSummary,
    /// Names that got no packet.
    pub unused: Unused,
    /// The first errors of programs on cores.
    pub troubles: Vec<TroubleSummary>,
    /// Tables of `rmt` as they are at the end. Absent without tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSummary>,
    /// Word registers of `rmt`. Absent without registers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<RegisterSummary>,
}

/// A tenant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// Its weight at the start.
    pub weight: u32,
    /// Its weight at the end.
    pub last_weight: u32,
    /// Its priority.
    pub priority: u32,
    /// The class of its packets.
    pub class: u8,
    /// Its share of the bytes that left in `share_window_ns`.
    pub share: f64,
    /// Its packets.
    #[serde(flatten)]
    pub group: GroupSummary,
}

/// A chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChainGroupSummary {
    /// Its name.
    pub name: String,
    /// Its tenant.
    pub tenant: Option<String>,
    /// Names of its services in order.
    pub services: Vec<String>,
    /// Its packets.
    #[serde(flatten)]
    pub group: GroupSummary,
    /// Visits of each of its services.
    pub hops: Vec<VisitSummary>,
}

/// Packets of a tenant or of a chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupSummary {
    /// Packets given to the card.
    #[serde(rename = "in")]
    pub packets_in: u64,
    /// Their bytes.
    pub in_bytes: u64,
    /// Gbit/s into the card.
    pub in_gbps: Option<f64>,
    /// Packets that left the card.
    pub out: u64,
    /// Their bytes.
    pub out_bytes: u64,
    /// Gbit/s out of the card.
    pub out_gbps: Option<f64>,
    /// Dropped packets.
    pub dropped: u64,
    /// The same in percent of the packets given to the card.
    pub dropped_percent: f64,
    /// Dropped packets by reason.
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    /// Packets in the card when the run ended.
    pub unfinished: u64,
    /// Packets that a unit refused at least once.
    pub detoured: u64,
    /// Latency of packets that left.
    pub latency_ns: Option<LatencySummary>,
}

/// Visits of a service, or of one service of a chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VisitSummary {
    /// Name of the service.
    pub service: String,
    /// Finished visits.
    pub packets: u64,
    /// Visits that came from another unit, not from the scheduler.
    pub pushed: u64,
    /// Refusals by its units.
    pub detours: u64,
    /// Time of a visit and of the way to it.
    pub total_ns: Option<Spread>,
    /// Parts of that time.
    #[schemars(with = "Option<BTreeMap<String, Spread>>")]
    pub split_ns: Option<Split>,
}

/// A service.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceSummary {
    /// Visits of its units.
    #[serde(flatten)]
    pub visits: VisitSummary,
    /// Credits of each unit at the start.
    pub initial_credits: u32,
    /// Its units.
    pub units: Vec<UnitSummary>,
}

/// A unit of a service.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnitSummary {
    /// Service and number, such as `aes[1]`.
    pub path: String,
    /// Its port of the interconnect.
    pub node: u8,
    /// Packets that it finished.
    pub packets: u64,
    /// Share of the time since the first packet in which a packet was in the unit or on its way there from the scheduler.
    pub busy_percent: Option<f64>,
    /// Mean number of packets in its engine.
    pub in_engine: Option<f64>,
    /// Mean number of its credits that the scheduler holds.
    pub credits_held: Option<f64>,
}

/// Credits over time, in at most 256 intervals.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CreditSummary {
    /// Length of an interval.
    pub interval_ns: f64,
    /// By path of a unit: the mean of each interval.
    pub units: BTreeMap<String, Vec<f64>>,
}

/// An error of a program on a core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TroubleSummary {
    /// Path of the unit.
    pub unit: String,
    /// When it occurred.
    pub time_ns: f64,
    /// The packet's number.
    pub packet: Option<u64>,
    /// The error.
    pub text: String,
    /// Program counter.
    pub pc: String,
    /// Function and offset.
    pub place: Option<String>,
    /// Source line of `pc`.
    #[serde(flatten)]
    pub source: SourceLine,
}
