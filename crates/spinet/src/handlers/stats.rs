//! Sums over packets; they do not grow with their number.

use crate::flows::{Flow, Series, Traffic};
use crate::handlers::packets::{Fate, N_PARTS, N_STAGES, Refusal, Row, TaskRow, Trap};
use crate::histogram::Histogram;
use crate::milestones::Latency;
use kernel::Cycle;
use pspin::delivery::DropReason;
use pspin::host_events::HostEvent;
use std::collections::BTreeMap;

/// Sum, smallest and largest of some integers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    /// Their number.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Range {
    /// Adds one.
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.total += value;
        self.count += 1;
    }
}

/// Runs of one handler.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandlerStats {
    /// Instructions of a run.
    pub instructions: Range,
    /// Cycles of a run.
    pub cycles: Range,
}

/// One context.
#[derive(Clone, Debug, Default)]
pub struct ContextStats {
    /// Packets that it takes.
    pub frames: Traffic,
    /// Messages begun.
    pub messages: u64,
    /// Messages whose last packet arrived.
    pub messages_ended: u64,
    /// Messages that found no free queue.
    pub without_queue: u64,
    /// Packets without the fields that identify a message.
    pub keyless: u64,
    /// Messages that had to leave their queue to another tenant.
    pub evicted: u64,
    /// From room in packet memory to the end.
    pub latency: Histogram,
    /// Its handlers: header, payload, completion.
    pub handlers: [HandlerStats; N_STAGES],
}

/// Traps of one cause.
#[derive(Clone, Debug)]
pub struct TrapStats {
    /// Their number.
    pub count: u64,
    /// The earliest.
    pub first: TrapPlace,
}

/// Where a trap was.
#[derive(Clone, Debug)]
pub struct TrapPlace {
    /// The core's report.
    pub trap: Trap,
    /// Number of the packet in the traffic.
    pub frame: u64,
    /// Position of its context.
    pub context: usize,
    /// Stage of the handler.
    pub stage: usize,
    /// Position of the cluster.
    pub cluster: u32,
    /// Position of the core in it.
    pub hpu: u32,
}

impl TrapPlace {
    /// Traps in order of time.
    pub fn order(&self) -> (Cycle, u64) {
        (self.trap.at, self.frame)
    }
}

/// Where a command was refused.
#[derive(Clone, Copy, Debug)]
pub struct RefusalPlace {
    /// The refusal.
    pub refusal: Refusal,
    /// Number of the packet in the traffic.
    pub frame: u64,
    /// Position of its context.
    pub context: usize,
    /// Position of the cluster.
    pub cluster: u32,
    /// Position of the core in it.
    pub hpu: u32,
}

/// Events sent to the host, by kind.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct EventStats {
    /// Messages whose handlers have all ended.
    pub message_done: u64,
    /// Handlers that failed.
    pub handler_error: u64,
    /// Messages given up because no packet arrived for too long.
    pub message_timeout: u64,
    /// Messages ended because packet memory was full.
    pub message_killed: u64,
    /// Messages whose queue another tenant reclaimed.
    pub message_evicted: u64,
    /// Accesses to unregistered host memory.
    pub translation_fault: u64,
}

impl EventStats {
    /// Counts an event.
    pub fn add(&mut self, event: &HostEvent) {
        let count = match event {
            HostEvent::MessageDone { .. } => &mut self.message_done,
            HostEvent::HandlerError(_) => &mut self.handler_error,
            HostEvent::MessageTimeout { .. } => &mut self.message_timeout,
            HostEvent::MessageKilled { .. } => &mut self.message_killed,
            HostEvent::MessageEvicted { .. } => &mut self.message_evicted,
            HostEvent::TranslationFault { .. } => &mut self.translation_fault,
        };
        *count += 1;
    }
}

/// Everything that is summed.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Packets of the traffic.
    pub frames: Traffic,
    /// Packets that bypass the handlers.
    pub ordinary: Traffic,
    /// By fate.
    pub fates: [u64; Fate::NAMES.len()],
    /// Packets that a context takes and that bypassed the handlers, because no queue was free.
    pub without_queue: u64,
    /// Refused packets by reason.
    pub dropped: [u64; DropReason::NAMES.len()],
    /// Packets that were marked as having met congestion.
    pub marked: u64,
    /// Events of the host.
    pub events: EventStats,
    /// Writes to host memory.
    pub host_writes: Traffic,
    /// Reads from it.
    pub host_reads: Traffic,
    /// Commands with an unmapped address.
    pub faults: u64,
    /// The earliest one.
    pub first_refused: Option<RefusalPlace>,
    /// By context.
    pub contexts: Vec<ContextStats>,
    /// By cause.
    pub traps: BTreeMap<u32, TrapStats>,
    /// From room in packet memory to the end.
    pub latency: Latency<N_PARTS>,
    /// Cycles from arrival on the wire until packet memory has room.
    pub ingress: Histogram,
    /// Cycles in which the HPUs of each cluster ran handlers.
    pub busy: Vec<u64>,
    /// When traffic started.
    pub traffic_start: Option<Cycle>,
    /// Packets that found room in packet memory.
    pub stored: Flow,
    /// Packets that the NIC is done with.
    pub ended: Flow,
    /// Packets that left.
    pub left: Flow,
    /// Packets of contexts by cycle: arrivals, and those that the NIC finished.
    pub series: Series,
}

impl Stats {
    /// Empty sums for `n_clusters` clusters and no context.
    pub fn new(n_clusters: u32) -> Self {
        Stats { busy: vec![0; n_clusters as usize], ..Stats::default() }
    }

    /// One more context; its position.
    pub fn add_context(&mut self) -> usize {
        self.contexts.push(ContextStats::default());
        self.contexts.len() - 1
    }

    /// Adds a packet that is unfinished at the end of the run: its handlers were busy until then.
    pub fn still_busy(&mut self, row: &Row, at: Cycle) {
        for task in row.tasks.iter().filter(|task| task.end.is_none()) {
            self.busy[task.cluster as usize] += task.start.map_or(0, |start| at.saturating_sub(start));
        }
    }

    /// Adds a packet that is finished, or that is unfinished at the end of the run.
    pub fn finish(&mut self, row: &Row) {
        let fate = row.fate();
        self.fates[fate as usize] += 1;
        self.series.add(row.arrival, row.done, row.bytes.into());
        if let Some(reason) = row.dropped {
            self.dropped[reason as usize] += 1;
            return;
        }
        self.faults += u64::from(row.faults);
        if let Some(refusal) = row.refused {
            let TaskRow { cluster, hpu, .. } = row.tasks[refusal.stage];
            let place = RefusalPlace { refusal, frame: row.frame, context: row.context, cluster, hpu };
            // Packets are finished in another order than their commands.
            if self.first_refused.is_none_or(|first| (refusal.at, row.frame) < (first.refusal.at, first.frame)) {
                self.first_refused = Some(place);
            }
        }
        for (stage, task) in row.tasks.iter().enumerate() {
            if let (Some(start), Some(end)) = (task.start, task.end) {
                let handler = &mut self.contexts[row.context].handlers[stage];
                handler.instructions.add(task.instructions);
                handler.cycles.add(end - start);
                self.busy[task.cluster as usize] += end - start;
            }
            if let Some(trap) = task.trap {
                let (frame, context) = (row.frame, row.context);
                let (cluster, hpu) = (task.cluster, task.hpu);
                let first = TrapPlace { trap, frame, context, stage, cluster, hpu };
                let traps = self.traps.entry(trap.cause).or_insert(TrapStats { count: 0, first: first.clone() });
                traps.count += 1;
                // Packets finish in another order than they trap.
                if first.order() < traps.first.order() {
                    traps.first = first;
                }
            }
        }
        if let Some(stored) = row.stored {
            self.ingress.add(stored - row.arrival);
            self.stored.add(stored, row.bytes.into());
        }
        if let (Some(stored), Some(done), Some(parts)) = (row.stored, row.done, row.parts()) {
            self.ended.add(done, row.bytes.into());
            self.latency.add(done - stored, &parts);
            self.contexts[row.context].latency.add(done - stored);
        }
    }
}
