//! From the record of a run to its summary.

use super::*;
use crate::experiment::{CheckedContext, PlacedContext, SourceSpec};
use crate::handlers::HandlerCard;
use crate::handlers::packets::{Fate, Part, Trap};
use crate::handlers::record::Record;
use crate::handlers::stats::{ContextStats, Range, RefusalPlace, TrapPlace, TrapStats};
use crate::histogram::Histogram;
use crate::kinds;
use crate::program::STAGES;
use crate::run::Ended;
use crate::summary::{
    BusyCore, EndedSummary, PacketSummary, Report, SourceSummary, Spread, SteadySummary, ThroughputSummary,
    TimeSummary, gbps, grouped, ns, packets_per_s,
};
use isa::riscv::cause;
use kernel::Clock;
use pspin::delivery::DropReason;
use pspin::map;
use pspin::protocol::{BEAT_BYTES, CommandTarget, WATCHDOG_CAUSE};
use std::time::Duration;

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

fn range(range: &Range) -> RangeSummary {
    let Range { count, total, min, max } = *range;
    RangeSummary { mean: if count == 0 { 0.0 } else { total as f64 / count as f64 }, min, max, total }
}

fn tail(clock: Clock, cycles: &Histogram) -> Option<TailSummary> {
    let spread = Spread::of(clock, cycles)?;
    let median = ns(clock, cycles.percentile(50) as f64);
    Some(TailSummary { mean: spread.mean, median, p99: spread.p99, max: spread.max })
}

fn fairness(counters: &[(String, u64)]) -> Option<FairnessSummary> {
    let total = |name: &str| counters.iter().find(|(path, _)| path.ends_with(name)).map_or(0, |&(_, n)| n);
    let (contended_cycles, millionths) = (total(".contended_cycles"), total(".jain_millionths"));
    (contended_cycles > 0)
        .then(|| FairnessSummary { contended_cycles, jain: millionths as f64 / contended_cycles as f64 / 1e6 })
}

/// The name of a trap's cause.
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
        WATCHDOG_CAUSE => "ran longer than its watchdog allows",
        _ => return format!("cause {cause}"),
    };
    name.into()
}

/// The meaning of the value of a trap of this cause; `None` if the value adds nothing to the cause and the place.
fn value_is(cause: u32) -> Option<&'static str> {
    match cause {
        cause::ILLEGAL_INSTRUCTION => Some("instruction"),
        cause::INSTRUCTION_FAULT
        | cause::LOAD_MISALIGNED
        | cause::LOAD_FAULT
        | cause::STORE_MISALIGNED
        | cause::STORE_FAULT => Some("address"),
        _ => None,
    }
}

/// Units that execute commands, in the order of [`pspin::protocol::CommandTarget`].
const UNITS: [&str; 3] = ["host DMA", "NIC outbound", "HostDirect"];

/// A message about an access just below the core's own stack: the stack was too small.
///
/// assumed: an access at most one stack length below the end of the stack is an overflow.
fn stack_overflow(n_cores: u32, cluster: u32, core: u32, trap: &Trap) -> Option<String> {
    if !matches!(trap.cause, cause::LOAD_FAULT | cause::STORE_FAULT) {
        return None;
    }
    let end = core * map::STACK_BYTES + if core == 0 { map::stack_reserved(n_cores) } else { 0 };
    let below = |l1: u32| (l1 + end).wrapping_sub(trap.value);
    let bytes = [map::L1_BASE + cluster * map::L1_STRIDE, map::ALIAS_BASE].into_iter().map(below).min()?;
    (1..=map::STACK_BYTES).contains(&bytes).then(|| {
        let stack = map::STACK_BYTES;
        format!("stack overflow: {bytes} bytes below the core's stack of {stack}")
    })
}

/// A message about a refused command or transfer: the register is allowed, but the handler may not access the memory.
fn not_its_own(trap: &Trap) -> Option<String> {
    let what = match trap.value {
        map::COMMAND_ISSUE => "command",
        map::DMA_LAUNCH => "transfer",
        _ => return None,
    };
    let is_load = trap.cause == cause::LOAD_FAULT;
    is_load.then(|| format!("a {what} for memory, of card or host, that is not its task's"))
}

fn packets(record: &Record) -> PacketSummary<HandlerPackets> {
    let stats = &record.stats;
    let fate = |fate: Fate| stats.fates[fate as usize];
    PacketSummary {
        packets_in: stats.frames.packets,
        in_bytes: stats.frames.bytes,
        out: stats.left.packets,
        out_bytes: stats.left.bytes,
        dropped: fate(Fate::Dropped),
        dropped_by_reason: DropReason::NAMES.into_iter().zip(stats.dropped).collect(),
        unfinished: fate(Fate::Unfinished) + record.window.inside.count(),
        more: HandlerPackets {
            matched: stats.contexts.iter().map(|context| context.frames.packets).sum(),
            matched_bytes: stats.contexts.iter().map(|context| context.frames.bytes).sum(),
            ordinary: stats.ordinary.packets,
            ordinary_bytes: stats.ordinary.bytes,
            done: stats.ended.packets,
            sent: fate(Fate::Sent),
            to_host: fate(Fate::ToHost),
            sent_and_to_host: fate(Fate::SentAndToHost),
            consumed: fate(Fate::Consumed),
            trapped: fate(Fate::Trapped),
            without_queue: stats.without_queue,
            marked: stats.marked,
        },
    }
}

impl HandlerCard {
    /// The summary so far.
    pub fn summarize(&self, wall: Duration) -> HandlerSummary {
        let record = self.record().borrow();
        let (stats, clock, common) = (&record.stats, record.clock, &self.checked.experiment.common);
        let network = self.driver.nic.network();
        let counters = self.driver.nic.counters();
        let out_gbps = gbps(clock, stats.left);
        let source =
            |(spec, report): (&SourceSpec, _)| SourceSummary::of(spec.source.clone(), "network:0".into(), report);
        let reports = self.driver.feed.borrow().reports();
        let steady = SteadySummary::of(&stats.series, |cycle| ns(clock, cycle as f64));
        let report = Report {
            kind: &kinds::HANDLERS,
            ended: self.ended_summary(),
            remarks: self.remarks(),
            packets: packets(&record),
            throughput: ThroughputSummary {
                in_gbps: gbps(clock, stats.stored),
                out_gbps,
                network_gbps: out_gbps,
                host_gbps: None,
                done_packets_per_s: packets_per_s(clock, stats.ended),
            },
            steady,
            latency_ns: stats.latency.summary(clock, Part::NAMES),
            ingress_wait_ns: Spread::of(clock, &stats.ingress),
            sources: common.traffic.iter().zip(reports).map(source).collect(),
            time: TimeSummary {
                simulated_ns: ns(clock, self.cycles() as f64),
                skipped_ns: 0.0,
                started_ns: stats.traffic_start.map(|start| ns(clock, start as f64)),
                cycles: Some(self.cycles()),
                clock_mhz: Some(self.checked.nic.clock_mhz),
            },
        };
        let section = HandlerSection {
            output: OutputSummary {
                host_writes: stats.host_writes.packets,
                host_write_bytes: stats.host_writes.bytes,
                host_reads: stats.host_reads.packets,
                host_read_bytes: stats.host_reads.bytes,
                command_faults: stats.faults,
                first_command_fault: stats.first_refused.as_ref().map(|place| self.command_fault(place)),
                copy_faults: counters.iter().filter(|(path, _)| path.ends_with(".dma_faults")).map(|(_, n)| n).sum(),
            },
            contexts: self.context_summaries(),
            tenants: self.tenant_summaries(&counters),
            fairness: fairness(&counters),
            // The driver counts tenants from 1.
            timeline: self.timeline.summary(),
            hpus: self.hpu_summary(steady),
            handlers: self.handler_costs(),
            traps: stats.traps.values().map(|traps| self.trap_summary(traps)).collect(),
            check: self.check_summary(),
            console_lines_lost: record.lines_lost,
            network: NetworkSummary { reliable: network.reliable, in_order: network.in_order },
            events: stats.events,
        };
        Summary::of(self, (common, &self.checked.experiment), wall, report, section)
    }

    fn hpu_summary(&self, steady: Option<SteadySummary>) -> HpuSummary {
        let record = self.record().borrow();
        let (busy, n_cores) = (&record.stats.busy, u64::from(self.checked.nic.cluster.n_cores));
        // HPUs could be busy from the first packet on.
        let span = record.stats.stored.span;
        let first = span.map_or(self.cycles(), |(first, _)| first);
        let from = span.map_or(0, |(first, _)| first);
        let most = self.cycles().saturating_sub(first) * n_cores;
        let count = n_cores * u64::from(self.checked.nic.n_clusters);
        let cycles_per_s = count as f64 * 1e9 / ns(record.clock, 1.0);
        let ended = record.stats.ended.packets;
        HpuSummary {
            count,
            budget_cycles: steady.map(|steady| cycles_per_s / steady.offered_packets_per_s),
            used_cycles: (ended > 0).then(|| busy.iter().sum::<u64>() as f64 / ended as f64),
            busy_percent: percent(busy.iter().sum(), most * busy.len() as u64),
            per_cluster_percent: busy.iter().map(|&busy| percent(busy, most)).collect(),
            asleep_percent: self.driver.nic.asleep_cycles(from, self.cycles()).map(|asleep| {
                let whole = self.cycles().saturating_sub(from) * count;
                percent(asleep.min(whole), whole)
            }),
        }
    }

    pub(in crate::handlers) fn trap_summary(&self, traps: &TrapStats) -> TrapSummary {
        let TrapPlace { trap, frame, context, stage, cluster, hpu } = traps.first;
        TrapSummary {
            cause: cause_name(trap.cause),
            mcause: trap.cause,
            count: traps.count,
            first: TrapPlaceSummary {
                frame,
                context: self.placed[context].name.clone(),
                stage: STAGES[stage].0,
                cluster,
                core: hpu,
                time_ns: ns(self.record().borrow().clock, trap.at as f64),
                pc: format!("{:#010x}", trap.pc),
                place: self.elf_at(trap.pc).place(trap.pc),
                source: crate::lines::line_of(self.elf_at(trap.pc), trap.pc),
                value: format!("{:#010x}", trap.value),
                value_is: value_is(trap.cause),
                note: stack_overflow(self.checked.nic.cluster.n_cores, cluster, hpu, &trap)
                    .or_else(|| not_its_own(&trap))
                    .or_else(|| self.overrun(&traps.first)),
            },
        }
    }

    /// A message about an access near a memory of the handler: its packet, its handler memory, or a variable of its program.
    ///
    /// assumed: an access within 64 KiB of such a memory was meant for it.
    fn overrun(&self, place: &TrapPlace) -> Option<String> {
        const NEAR: u32 = 64 << 10;
        let trap = &place.trap;
        if !matches!(trap.cause, cause::LOAD_FAULT | cause::STORE_FAULT) {
            return None;
        }
        let handler_mem = self.placed[place.context].context.handler_mem;
        let variables = self.elf_at(trap.pc).symbols.iter().filter(|symbol| !symbol.is_code);
        let variables = variables.map(|symbol| (format!("`{}`", symbol.name), symbol.addr, symbol.size));
        let (packet, packet_bytes) = trap.packet;
        let memories = [
            ("the packet".to_owned(), packet, packet_bytes),
            ("the handler memory".to_owned(), handler_mem.addr, handler_mem.size),
        ];
        let distance = |(name, addr, size): (String, u32, u32)| {
            let (past, before) = (trap.value.checked_sub(addr.saturating_add(size)), addr.checked_sub(trap.value));
            match (past, before) {
                (Some(past), _) => Some((past, format!("{} bytes past the end of {name}", grouped(past.into())))),
                (None, Some(before)) => Some((before, format!("{} bytes before {name}", grouped(before.into())))),
                (None, None) => None,
            }
        };
        let all = memories.into_iter().chain(variables).filter(|&(_, _, size)| size > 0);
        let near = all.filter_map(distance).filter(|&(bytes, _)| bytes < NEAR);
        near.min_by_key(|&(bytes, _)| bytes).map(|(_, text)| text)
    }

    pub(in crate::handlers) fn command_fault(&self, place: &RefusalPlace) -> CommandFaultSummary {
        let RefusalPlace { refusal, frame, context, cluster, hpu } = *place;
        let placed = &self.placed[context];
        CommandFaultSummary {
            frame,
            context: placed.name.clone(),
            stage: STAGES[refusal.stage].0,
            handler: placed.handlers.stages[refusal.stage].as_ref().map(|it| it.name.clone()).unwrap_or_default(),
            cluster,
            core: hpu,
            time_ns: ns(self.record().borrow().clock, refusal.at as f64),
            unit: UNITS[refusal.target],
            addr: format!("{:#x}", refusal.addr),
            bytes: refusal.bytes,
            why: match (refusal.is_length, self.most_bytes(refusal.target)) {
                (false, _) => "nothing answers at the address".into(),
                (true, Some(most)) => format!("{} bytes, must be 1 to {}", grouped(refusal.bytes), grouped(most)),
                (true, None) => format!("{} bytes, must be 1 or more", grouped(refusal.bytes)),
            },
        }
    }

    /// Bytes that one command to this unit may have.
    fn most_bytes(&self, target: usize) -> Option<u64> {
        match target {
            _ if target == CommandTarget::NicSend as usize => Some(self.checked.nic.outbound.max_packet_bytes.into()),
            _ if target == CommandTarget::HostDirect as usize => Some(BEAT_BYTES.into()),
            _ => None,
        }
    }

    fn context_summaries(&self) -> Vec<ContextSummary> {
        let record = self.record().borrow();
        let contexts = self.checked.contexts.iter().zip(&self.placed).zip(&record.stats.contexts);
        let summary = |((checked, placed), stats): ((&CheckedContext, &PlacedContext), &ContextStats)| ContextSummary {
            name: placed.name.clone(),
            matches: checked.matcher.as_ref().map(ToString::to_string),
            message: checked.message.to_string(),
            handler: placed.handlers.name.clone(),
            packets: stats.frames.packets,
            bytes: stats.frames.bytes,
            messages: stats.messages,
            messages_ended: stats.messages_ended,
            messages_without_queue: stats.without_queue,
            packets_without_fields: stats.keyless,
            messages_evicted: stats.evicted,
            handler_memory: MemorySummary {
                addr: format!("{:#010x}", placed.context.handler_mem.addr),
                size: placed.context.handler_mem.size.into(),
            },
            host_memory: MemorySummary {
                addr: format!("{:#018x}", placed.context.host_mem_addr),
                size: placed.context.host_mem_size.into(),
            },
        };
        contexts.map(summary).collect()
    }

    fn tenant_summaries(&self, counters: &[(String, u64)]) -> Vec<TenantUse> {
        let record = self.record().borrow();
        let experiment = &self.checked.experiment;
        let all: u64 = record.stats.busy.iter().sum();
        let others = experiment.tenant.iter().map(|tenant| (tenant.name.as_str(), tenant.weight));
        let tenants = std::iter::once(("program", experiment.weight)).chain(others);
        let summary = |(position, (name, weight)): (usize, (&str, u32))| {
            let (mut packets, mut hpu_cycles, mut latency) = (0, 0, Histogram::default());
            for (context, stats) in self.checked.contexts.iter().zip(&record.stats.contexts) {
                if context.tenant.map_or(0, |tenant| tenant + 1) == position {
                    packets += stats.frames.packets;
                    hpu_cycles += stats.handlers.iter().map(|handler| handler.cycles.total).sum::<u64>();
                    latency.merge(&stats.latency);
                }
            }
            // The driver counts tenants from 1, in the order of the file.
            let prefix = format!("nic.commands.tenant[{}].", position + 1);
            let total = |name: &str| {
                let is_it = |path: &str| path.strip_prefix(&prefix) == Some(name);
                counters.iter().find(|(path, _)| is_it(path)).map_or(0, |&(_, n)| n)
            };
            let suffix = format!(".tenant[{}].cluster_bytes", position + 1);
            let clusters = counters.iter().filter(|(path, _)| path.ends_with(&suffix));
            let in_clusters = clusters.map(|&(_, bytes)| bytes).sum();
            let (commands, waited) = (total("commands"), total("wait_cycles"));
            let command_wait_ns = (commands > 0).then(|| WaitSummary {
                mean: ns(record.clock, waited as f64 / commands as f64),
                max: ns(record.clock, total("longest_wait_cycles") as f64),
            });
            TenantUse {
                host_bytes: total("host_bytes"),
                egress_bytes: total("egress_bytes"),
                cluster_bytes: in_clusters,
                command_wait_ns,
                name: name.into(),
                weight,
                packets,
                done: latency.count(),
                hpu_cycles,
                hpu_percent: percent(hpu_cycles, all),
                latency_ns: tail(record.clock, &latency),
            }
        };
        tenants.enumerate().map(summary).collect()
    }

    fn handler_costs(&self) -> Vec<HandlerCost> {
        let record = self.record().borrow();
        let mut summaries = Vec::new();
        for (placed, stats) in self.placed.iter().zip(&record.stats.contexts) {
            for (((stage, _), symbol), handler) in STAGES.into_iter().zip(&placed.handlers.stages).zip(&stats.handlers)
            {
                let Some(symbol) = symbol else { continue };
                summaries.push(HandlerCost {
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
        let record = self.record().borrow();
        let unfinished = record.window.inside.count() + record.stats.fates[Fate::Unfinished as usize];
        let open = self.driver.feed.borrow().status().open_messages as u64;
        let cores = match &self.ended {
            None => self.cores(),
            Some(Ended::Complete) => Vec::new(),
            Some(_) => self.restless.clone(),
        };
        let text = self.ended_text(unfinished, open, &cores);
        EndedSummary { open_messages: open, cores, ..EndedSummary::new(self.ended.as_ref(), text, unfinished) }
    }

    fn ended_text(&self, unfinished: u64, open: u64, cores: &[BusyCore]) -> String {
        let experiment = &self.checked.experiment;
        let place = cores.first().map_or_else(String::new, |core| {
            let line = core.source.text(|path| path).map_or_else(String::new, |line| format!(" ({line})"));
            format!("; core {} of cluster {} is at {}{line}", core.core, core.cluster, core.place)
        });
        let messages = match open {
            0 => String::new(),
            1 => "; 1 message has not ended".into(),
            _ => format!("; {open} messages have not ended"),
        };
        let packets = match unfinished {
            0 => "no packet is unfinished".to_owned(),
            1 => "1 packet is unfinished".into(),
            _ => format!("{unfinished} packets are unfinished"),
        };
        match &self.ended {
            None => format!("the run goes on; {packets}{place}{messages}"),
            Some(Ended::Complete) => format!("all packets are done{messages}"),
            Some(Ended::Limit) => {
                let limit = experiment.common.limit.map_or("5 hours".into(), |limit| limit.to_string());
                format!("the limit of {limit} is reached; {packets}{place}{messages}")
            }
            Some(Ended::Stalled(_)) => {
                let limit = experiment.common.stall_limit;
                let what = match self.is_quiet {
                    true => "nothing can come of them any more".into(),
                    false => format!("nothing has come of them for {limit}"),
                };
                format!("{packets} and {what}{place}{messages}")
            }
            Some(Ended::NotReady | Ended::Trouble(_) | Ended::Quiet) => {
                format!("the NIC did not become ready within {}{place}", experiment.common.stall_limit)
            }
        }
    }
}
