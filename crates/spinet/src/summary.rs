//! What a run was, in numbers: the JSON of `docs/reference/summary.md`.
//!
//! Its keys are a promise. Floats appear here and nowhere before.

use crate::experiment::Experiment;
use crate::histogram::Histogram;
use crate::packets::{Fate, SPLIT};
use crate::program::STAGES;
use crate::run::{Ended, Run};
use crate::stats::{DROP_REASONS, Range, Traffic};
use isa::riscv::cause;
use kernel::{Clock, Cycle};
use serde::Serialize;
use std::collections::BTreeMap;
use wire::capture::CaptureCounts;
use wire::pacing::PacingCounts;

/// The whole summary.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct Summary {
    pub spinet: &'static str,
    pub digest: String,
    pub seed: u64,
    pub ended: EndedSummary,
    pub packets: PacketSummary,
    pub output: OutputSummary,
    pub contexts: Vec<ContextSummary>,
    pub throughput: ThroughputSummary,
    pub latency_ns: Option<LatencySummary>,
    pub ingress_wait_ns: Option<WaitSummary>,
    pub hpus: HpuSummary,
    pub handlers: Vec<HandlerSummary>,
    pub traps: Vec<TrapSummary>,
    pub console_lines_lost: u64,
    pub capture: Option<CaptureSummary>,
    pub pacing: PacingCounts,
    pub time: TimeSummary,
    pub counters: BTreeMap<String, u64>,
    pub experiment: Experiment,
    pub wall: WallSummary,
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

/// A core that has not come to rest.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct CoreSummary {
    pub cluster: u32,
    pub core: u32,
    pub pc: String,
    pub place: String,
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
    pub to_host: u64,
    pub sent: u64,
    pub consumed: u64,
    pub trapped: u64,
    pub unfinished: u64,
    pub dropped: u64,
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
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
    pub split: serde_json::Map<String, serde_json::Value>,
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
    pub line: Option<String>,
    pub value: String,
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
    pub clock_mhz: u64,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/summary.md describes each key")]
pub struct WallSummary {
    pub seconds: f64,
    pub cycles_per_second: f64,
    pub packets_per_second: f64,
}

/// Cycles as nanoseconds.
fn ns(clock: Clock, cycles: f64) -> f64 {
    // Edges are exact; a mean of cycles needs the period.
    let many = 1u64 << 30;
    cycles * (clock.edge(many).fs() as f64 / many as f64) / 1e6
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

fn range(range: &Range) -> RangeSummary {
    let Range { count, total, min, max } = *range;
    RangeSummary { mean: if count == 0 { 0.0 } else { total as f64 / count as f64 }, min, max, total }
}

/// Bits by time from the first to the last of `span`; nothing where there is no time between.
fn gbps(clock: Clock, bytes: u64, span: Option<(Cycle, Cycle)>) -> Option<f64> {
    let (first, last) = span.filter(|(first, last)| last > first)?;
    Some(bytes as f64 * 8.0 / ns(clock, (last - first) as f64))
}

fn mean(histogram: &Histogram) -> f64 {
    histogram.sum() as f64 / histogram.count().max(1) as f64
}

/// What a trap's cause is called.
pub fn cause_name(cause: u32) -> String {
    let name = match cause {
        cause::INSTRUCTION_FAULT => "instruction access fault",
        cause::ILLEGAL_INSTRUCTION => "illegal instruction",
        cause::BREAKPOINT => "breakpoint",
        cause::LOAD_MISALIGNED => "load address misaligned",
        cause::LOAD_FAULT => "load access fault",
        cause::STORE_MISALIGNED => "store address misaligned",
        cause::STORE_FAULT => "store access fault",
        cause::ECALL_USER | cause::ECALL_MACHINE => "environment call",
        _ => return format!("cause {cause}"),
    };
    name.into()
}

impl Run {
    /// The summary so far.
    pub fn summary(&self) -> Summary {
        let record = self.record.borrow();
        let stats = &record.stats;
        let clock = record.clock;
        let (cycles, seconds) = (self.cycles(), self.wall_seconds());
        let fate = |fate: Fate| stats.fates[fate as usize];
        let matched = stats.contexts.iter().fold(Traffic::default(), |sum, context| Traffic {
            packets: sum.packets + context.frames.packets,
            bytes: sum.bytes + context.frames.bytes,
        });
        let name = |context: usize| self.placed[context].name.clone();
        let n_cores = u64::from(self.checked.nic.cluster.n_cores);
        // HPUs could be busy from the first packet on.
        let elapsed = cycles.saturating_sub(stats.stored.map_or(cycles, |(first, _)| first));
        let feed = record.feed.as_ref();
        Summary {
            spinet: env!("CARGO_PKG_VERSION"),
            digest: record.digest.to_hex(),
            seed: self.checked.experiment.seed,
            ended: self.ended_summary(),
            packets: PacketSummary {
                packets_in: stats.frames.packets,
                in_bytes: stats.frames.bytes,
                matched: matched.packets,
                matched_bytes: matched.bytes,
                ordinary: stats.ordinary.packets,
                ordinary_bytes: stats.ordinary.bytes,
                done: stats.done.packets,
                to_host: stats.to_host,
                sent: stats.sent,
                consumed: fate(Fate::Consumed),
                trapped: fate(Fate::Trapped),
                unfinished: fate(Fate::Unfinished) + record.window.n_open,
                dropped: fate(Fate::Dropped),
                dropped_by_reason: DROP_REASONS.into_iter().zip(stats.dropped).collect(),
            },
            output: OutputSummary {
                packets: stats.out.packets,
                bytes: stats.out.bytes,
                host_writes: stats.host_writes.packets,
                host_write_bytes: stats.host_writes.bytes,
                host_reads: stats.host_reads.packets,
                host_read_bytes: stats.host_reads.bytes,
                command_faults: stats.faults,
            },
            contexts: self.context_summaries(),
            throughput: ThroughputSummary {
                in_gbps: gbps(clock, stats.stored_bytes, stats.stored),
                out_gbps: gbps(clock, stats.out.bytes, stats.left),
                done_packets_per_s: stats
                    .ended
                    .filter(|(first, last)| last > first)
                    .map(|(first, last)| (stats.done.packets - 1) as f64 / ns(clock, (last - first) as f64) * 1e9),
            },
            latency_ns: (stats.latency.count() > 0).then(|| LatencySummary {
                count: stats.latency.count(),
                min: ns(clock, stats.latency.min() as f64),
                mean: ns(clock, mean(&stats.latency)),
                median: ns(clock, stats.latency.percentile(50) as f64),
                p99: ns(clock, stats.latency.percentile(99) as f64),
                max: ns(clock, stats.latency.max() as f64),
                split: SPLIT
                    .iter()
                    .zip(&stats.split)
                    .map(|(name, part)| {
                        let (mean, p99) = (ns(clock, mean(part)), ns(clock, part.percentile(99) as f64));
                        ((*name).into(), serde_json::json!({ "mean": mean, "p99": p99 }))
                    })
                    .collect(),
            }),
            ingress_wait_ns: (stats.ingress.count() > 0).then(|| WaitSummary {
                mean: ns(clock, mean(&stats.ingress)),
                p99: ns(clock, stats.ingress.percentile(99) as f64),
                max: ns(clock, stats.ingress.max() as f64),
            }),
            hpus: HpuSummary {
                count: n_cores * u64::from(self.checked.nic.n_clusters),
                busy_percent: percent(stats.busy.iter().sum(), elapsed * n_cores * stats.busy.len() as u64),
                per_cluster_percent: stats.busy.iter().map(|&busy| percent(busy, elapsed * n_cores)).collect(),
            },
            handlers: self.handler_summaries(),
            traps: stats
                .traps
                .values()
                .map(|traps| {
                    let place = &traps.first;
                    TrapSummary {
                        cause: cause_name(place.trap.cause),
                        mcause: place.trap.cause,
                        count: traps.count,
                        first: TrapPlaceSummary {
                            frame: place.frame,
                            context: name(place.context),
                            stage: STAGES[place.stage].0,
                            cluster: place.cluster,
                            core: place.hpu,
                            time_ns: ns(clock, place.trap.at as f64),
                            pc: format!("{:#010x}", place.trap.pc),
                            place: self.elf.place(place.trap.pc),
                            line: crate::lines::line_of(&self.elf, place.trap.pc),
                            value: format!("{:#010x}", place.trap.value),
                        },
                    }
                })
                .collect(),
            console_lines_lost: record.lines_lost,
            capture: feed.and_then(|feed| feed.capture.clone()).map(|(counts, stop)| CaptureSummary { counts, stop }),
            pacing: feed.map(|feed| feed.pacing).unwrap_or_default(),
            time: TimeSummary {
                simulated_ns: ns(clock, cycles as f64),
                cycles,
                traffic_start_ns: stats.traffic_start.map(|start| ns(clock, start as f64)),
                clock_mhz: self.checked.nic.clock_mhz,
            },
            counters: self.nic.counters().into_iter().collect(),
            experiment: self.checked.experiment.clone(),
            wall: WallSummary {
                seconds,
                cycles_per_second: if seconds > 0.0 { cycles as f64 / seconds } else { 0.0 },
                packets_per_second: if seconds > 0.0 { stats.frames.packets as f64 / seconds } else { 0.0 },
            },
        }
    }

    fn context_summaries(&self) -> Vec<ContextSummary> {
        let record = self.record.borrow();
        let contexts = self.checked.contexts.iter().zip(&self.placed).zip(&record.stats.contexts);
        let summary =
            |((checked, placed), stats): ((&_, &crate::experiment::PlacedContext), &crate::stats::ContextStats)| {
                let checked: &crate::experiment::CheckedContext = checked;
                ContextSummary {
                    name: placed.name.clone(),
                    matches: checked.matcher.as_ref().map(ToString::to_string),
                    message: checked.message.to_string(),
                    handler: placed.handlers.name.clone(),
                    packets: stats.frames.packets,
                    bytes: stats.frames.bytes,
                    messages: stats.messages,
                    messages_ended: stats.messages_ended,
                    messages_without_queue: stats.without_queue,
                    handler_memory: MemorySummary {
                        addr: format!("{:#010x}", placed.context.handler_mem.addr),
                        size: placed.context.handler_mem.size.into(),
                    },
                    host_memory: MemorySummary {
                        addr: format!("{:#018x}", placed.context.host_mem_addr),
                        size: placed.context.host_mem_size.into(),
                    },
                }
            };
        contexts.map(summary).collect()
    }

    fn handler_summaries(&self) -> Vec<HandlerSummary> {
        let record = self.record.borrow();
        let mut summaries = Vec::new();
        for (placed, stats) in self.placed.iter().zip(&record.stats.contexts) {
            for (((stage, _), symbol), handler) in STAGES.into_iter().zip(&placed.handlers.stages).zip(&stats.handlers)
            {
                let Some(symbol) = symbol else { continue };
                summaries.push(HandlerSummary {
                    context: placed.name.clone(),
                    stage,
                    symbol: symbol.name.clone(),
                    runs: handler.cycles.count,
                    instructions: range(&handler.instructions),
                    cycles: range(&handler.cycles),
                });
            }
        }
        summaries
    }

    fn ended_summary(&self) -> EndedSummary {
        let record = self.record.borrow();
        let unfinished = record.window.n_open + record.stats.fates[Fate::Unfinished as usize];
        let open = self.feed.status.get().open_messages as u64;
        let is_over = matches!(self.ended, None | Some(Ended::Complete));
        let cores = if is_over { Vec::new() } else { self.restless.clone() };
        let reason = match self.ended {
            None => "running",
            Some(Ended::Complete) => "complete",
            Some(Ended::Limit) => "limit",
            Some(Ended::Stalled) => "stalled",
            Some(Ended::NotReady) => "not_ready",
        };
        EndedSummary {
            reason,
            text: self.ended_text(unfinished, open, &cores),
            unfinished_packets: unfinished,
            open_messages: open,
            cores,
        }
    }

    fn ended_text(&self, unfinished: u64, open: u64, cores: &[CoreSummary]) -> String {
        let experiment = &self.checked.experiment;
        let place = cores.first().map_or_else(String::new, |core| {
            format!("; core {}.{} {} at {}", core.cluster, core.core, core.waiting_for, core.place)
        });
        let messages = if open > 0 { format!("; {open} messages have not ended") } else { String::new() };
        match self.ended {
            None => "the run goes on".into(),
            Some(Ended::Complete) => format!("all packets are done{messages}"),
            Some(Ended::Limit) => {
                let limit = experiment.limit.map_or("5 hours".into(), |limit| limit.to_string());
                format!("the limit of {limit} is reached; {unfinished} packets are unfinished{place}{messages}")
            }
            Some(Ended::Stalled) => {
                let limit = experiment.stall_limit;
                format!("nothing has happened to {unfinished} unfinished packets for {limit}{place}{messages}")
            }
            Some(Ended::NotReady) => format!("the NIC did not become ready within {}{place}", experiment.stall_limit),
        }
    }
}
