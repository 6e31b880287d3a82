//! The section of the summary for cards that run handlers.

mod make;
mod remarks;

pub use make::cause_name;
pub(crate) use remarks::cause_text;

use crate::handlers::CheckSummary;
use crate::handlers::stats::EventStats;
use crate::lines::SourceLine;
use crate::summary::{ActionSummary, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// The summary of a run of handlers.
pub type HandlerSummary = Summary<HandlerPackets, HandlerSection>;

/// Counts of packets on cards that run handlers. Every matched packet is in exactly one of `sent`, `to_host`, `sent_and_to_host`,
/// `consumed`, `trapped`, `unfinished`, `without_queue` and `dropped`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HandlerPackets {
    /// Packets that match a context, including those without a free queue.
    pub matched: u64,
    /// Their bytes.
    pub matched_bytes: u64,
    /// Packets that bypassed the handlers on their way to the host: no context, or no free queue.
    pub ordinary: u64,
    /// Their bytes.
    pub ordinary_bytes: u64,
    /// Packets that the card finished.
    pub done: u64,
    /// Packets whose handlers sent packets.
    pub sent: u64,
    /// Packets whose handlers wrote to host memory.
    pub to_host: u64,
    /// Packets whose handlers did both.
    pub sent_and_to_host: u64,
    /// Packets whose handlers ended without an error and without sending or writing, such as counters and filters.
    pub consumed: u64,
    /// Packets on which a handler trapped, whatever it did before. The host gets a record of 32 bytes.
    pub trapped: u64,
    /// Packets of messages without a free queue; they bypassed the handlers.
    pub without_queue: u64,
    /// Packets marked as having met congestion (ECN).
    pub marked: u64,
}

/// Keys of cards that run handlers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HandlerSection {
    /// Accesses to the host, and refused commands.
    pub output: OutputSummary,
    /// Contexts in the order of the experiment.
    pub contexts: Vec<ContextSummary>,
    /// Tenants: the one of `program`, and those of `tenant` in the order of the experiment.
    pub tenants: Vec<TenantUse>,
    /// How evenly tenants used the HPUs; `null` if packets of several tenants never waited at the same time.
    pub fairness: Option<FairnessSummary>,
    /// Actions of the driver (`[[at]]` of the experiment) in order.
    pub timeline: Vec<ActionSummary>,
    /// Load of the cores.
    pub hpus: HpuSummary,
    /// Cost of handlers: one entry for each context and stage with a handler.
    pub handlers: Vec<HandlerCost>,
    /// Traps by cause.
    pub traps: Vec<TrapSummary>,
    /// Findings of the memory checker; `null` without `--check`.
    pub check: Option<CheckSummary>,
    /// Printed lines beyond the limit of the console.
    pub console_lines_lost: u64,
    /// Promises of the network.
    pub network: NetworkSummary,
    /// Events sent to the host.
    pub events: EventStats,
}

/// The network's promises.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct NetworkSummary {
    /// It loses and duplicates no packets.
    pub reliable: bool,
    /// It keeps the order of packets.
    pub in_order: bool,
}

/// Accesses to the host, and refused commands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OutputSummary {
    /// Beats to host memory.
    pub host_writes: u64,
    /// Their bytes.
    pub host_write_bytes: u64,
    /// Beats from host memory.
    pub host_reads: u64,
    /// Their bytes.
    pub host_read_bytes: u64,
    /// Refused commands: unmapped address, length 0, or longer than the unit accepts.
    pub command_faults: u64,
    /// The earliest refused command.
    pub first_command_fault: Option<CommandFaultSummary>,
    /// Bursts of the clusters' DMA engines to or from unmapped addresses.
    pub copy_faults: u64,
}

/// A refused command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommandFaultSummary {
    /// Number of the packet in the traffic.
    pub frame: u64,
    /// The packet's context.
    pub context: String,
    /// `header`, `payload` or `completion`.
    pub stage: &'static str,
    /// The function that issued the command.
    pub handler: String,
    /// The core's cluster.
    pub cluster: u32,
    /// The core's number in the cluster.
    pub core: u32,
    /// When the command was refused.
    pub time_ns: f64,
    /// `host DMA`, `NIC outbound` or `HostDirect`.
    pub unit: &'static str,
    /// The address in the command.
    pub addr: String,
    /// The length in the command.
    pub bytes: u64,
    /// Why the unit refused it.
    pub why: String,
}

/// A context. Counts include packets and messages without a free queue.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextSummary {
    /// Its name.
    pub name: String,
    /// Its match expression; `null` if it takes every packet.
    #[serde(rename = "match")]
    pub matches: Option<String>,
    /// The fields that identify its messages, and the rule that ends them.
    pub message: String,
    /// Common name of its functions.
    pub handler: String,
    /// Packets that match it.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages begun.
    pub messages: u64,
    /// Messages whose last packet arrived.
    pub messages_ended: u64,
    /// Messages that found no free queue.
    pub messages_without_queue: u64,
    /// Packets with none of the fields that `message` names; each is a message of its own.
    pub packets_without_fields: u64,
    /// Messages whose queue another tenant reclaimed.
    pub messages_evicted: u64,
    /// Its handler memory.
    pub handler_memory: MemorySummary,
    /// Its host memory.
    pub host_memory: MemorySummary,
}

/// A tenant's packets and its use of the HPUs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TenantUse {
    /// Its name; `program` for the tenant of the first program.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Packets that match its contexts.
    pub packets: u64,
    /// Packets that the card finished.
    pub done: u64,
    /// Cycles in which its handlers ran.
    pub hpu_cycles: u64,
    /// Its part of the cycles in which handlers of all tenants ran.
    pub hpu_percent: f64,
    /// Time of its packets from room in packet memory to their end; `null` if none is done.
    pub latency_ns: Option<TailSummary>,
    /// Bytes that its commands moved between card and host, including the card's error records for it.
    pub host_bytes: u64,
    /// Bytes of its commands to the NIC outbound engine.
    pub egress_bytes: u64,
    /// Bytes that its handlers copied between L1 and L2 with the clusters' DMA.
    pub cluster_bytes: u64,
    /// Time from when the command unit has a command until its first part goes to the unit that executes it; `null` if commands go in
    /// order or the tenant had none.
    pub command_wait_ns: Option<WaitSummary>,
}

/// Times that commands waited.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WaitSummary {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Percentiles of times.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TailSummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Jain's index of tenants' tasks.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct FairnessSummary {
    /// Cycles in which packets of several tenants were in message queues.
    pub contended_cycles: u64,
    /// Jain's index over these tenants, (sum x)^2 / (n sum x^2), where x is the number of a tenant's tasks in the clusters
    /// divided by its weight. Mean over these cycles: 1 is fair, 1 / n is one tenant alone.
    pub jain: f64,
}

/// A range of memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemorySummary {
    /// First address.
    pub addr: String,
    /// Bytes.
    pub size: u64,
}

/// Load of the cores.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HpuSummary {
    /// Number of HPUs.
    pub count: u64,
    /// Cycles that all HPUs together have for each packet at the offered rate (`steady`); `null` without a steady state.
    pub budget_cycles: Option<f64>,
    /// Cycles that handlers took for each packet that the NIC is done with; `null` if there is none.
    pub used_cycles: Option<f64>,
    /// Share of the time since the first packet in which HPUs ran handlers.
    pub busy_percent: f64,
    /// The same for each cluster.
    pub per_cluster_percent: Vec<f64>,
    /// Share of the time since the first packet in which the clock of HPUs was gated, because they waited for tasks.
    /// Without packets, the share of the time since reset. `null` on a card without clock gating.
    pub asleep_percent: Option<f64>,
}

/// The cost of a handler.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HandlerCost {
    /// Its context.
    pub context: String,
    /// `header`, `payload` or `completion`.
    pub stage: &'static str,
    /// Its function.
    pub symbol: String,
    /// Number of runs.
    pub runs: u64,
    /// Instructions per run.
    pub instructions: RangeSummary,
    /// Cycles per run.
    pub cycles: RangeSummary,
}

/// Numbers of several runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RangeSummary {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: u64,
    /// Maximum.
    pub max: u64,
    /// Sum.
    pub total: u64,
}

/// Traps with the same cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrapSummary {
    /// Name of the cause.
    pub cause: String,
    /// The cause as a number.
    pub mcause: u32,
    /// Number of traps.
    pub count: u64,
    /// The earliest one.
    pub first: TrapPlaceSummary,
}

/// A trap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrapPlaceSummary {
    /// Number of the packet in the traffic.
    pub frame: u64,
    /// The packet's context.
    pub context: String,
    /// `header`, `payload` or `completion`.
    pub stage: &'static str,
    /// The core's cluster.
    pub cluster: u32,
    /// The core's number in the cluster.
    pub core: u32,
    /// When it trapped.
    pub time_ns: f64,
    /// Program counter.
    pub pc: String,
    /// Function and offset.
    pub place: String,
    /// Source line of `pc`.
    #[serde(flatten)]
    pub source: SourceLine,
    /// The address accessed or the instruction executed.
    pub value: String,
    /// `address` or `instruction`; `null` if `value` carries no information.
    pub value_is: Option<&'static str>,
    /// An explanation where one is known. Examples: a stack overflow (an access up to 1 KiB below the core's own stack); a command or
    /// transfer for memory of another task (the address is then that of the register).
    pub note: Option<String>,
}
