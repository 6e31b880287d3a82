//! Counters of an inbound engine.

use crate::delivery::DropReason;
use kernel::trace::{Counter, Level};
use kernel::{CounterList, Cycle};

/// Totals of an [`super::Inbound`] engine.
#[derive(Default)]
pub struct Stats {
    pub packets: Counter,
    pub bytes: Counter,
    pub dropped: [Counter; DropReason::NAMES.len()],
    pub marked: Counter,
    pub stall_cycles: Counter,
    /// Cycles in which the engine took or matched a packet.
    pub line_cycles: Counter,
    /// Bytes of packet memory that hold packets.
    pub occupied: Level,
    done: Counter,
    latency_cycles: Counter,
    latency_min: Option<Cycle>,
    latency_max: Cycle,
    first_done: Option<Cycle>,
    last_done: Cycle,
}

impl Stats {
    /// Counts a finished packet with its latency in cycles.
    pub fn done(&mut self, now: Cycle, latency: Cycle) {
        self.done.add(1);
        self.latency_cycles.add(latency);
        self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
        self.latency_max = self.latency_max.max(latency);
        self.first_done.get_or_insert(now);
        self.last_done = now;
    }

    /// All counters by name.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
        for (name, dropped) in DropReason::NAMES.into_iter().zip(&self.dropped) {
            counters.add(&format!("dropped_{name}"), dropped.total());
        }
        counters.add("marked", self.marked.total());
        counters.add("stall_cycles", self.stall_cycles.total());
        counters.add("done", self.done.total());
        counters.add("latency_cycles", self.latency_cycles.total());
        counters.add("latency_min", self.latency_min.unwrap_or(0));
        counters.add("latency_max", self.latency_max);
        counters.add("first_done_cycle", self.first_done.unwrap_or(0));
        counters.add("last_done_cycle", self.last_done);
    }
}
