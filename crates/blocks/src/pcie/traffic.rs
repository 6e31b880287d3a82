//! Counters of one direction.

use super::beats::BEAT_BYTES;
use kernel::trace::Counter;
use kernel::{CounterList, Cycle};

/// Beats and bytes of one direction, and the arrival cycles of the first and the last beat.
#[derive(Default)]
pub struct DirectionCounters {
    beats: Counter,
    bytes: Counter,
    first: Option<Cycle>,
    last: Cycle,
    /// The cycle after the last run of beats, whose beats are all counted when it starts.
    run_end: Cycle,
}

impl DirectionCounters {
    /// Counts a beat that arrives in cycle `due`.
    pub fn count(&mut self, due: Cycle, bytes: usize) {
        self.beats.add(1);
        self.bytes.add(bytes as u64);
        self.first.get_or_insert(due);
        self.last = due;
    }

    /// Counts `n` whole beats that start one a cycle from `now` on. Each arrives `latency` cycles later.
    pub fn count_run(&mut self, now: Cycle, latency: u64, n: usize) {
        self.beats.add(n as u64);
        self.bytes.add(n as u64 * u64::from(BEAT_BYTES));
        self.first.get_or_insert(now + latency);
        self.run_end = now + n as Cycle;
        self.last = self.run_end - 1 + latency;
    }

    /// Adds the counters as `name_beats` and so on.
    pub fn counters(&self, name: &str, counters: &mut CounterList) {
        let ahead = self.run_end.saturating_sub(counters.now() + 1);
        counters.add(&format!("{name}_beats"), self.beats.total() - ahead);
        counters.add(&format!("{name}_bytes"), self.bytes.total() - ahead * u64::from(BEAT_BYTES));
        counters.add(&format!("first_{name}_cycle"), self.first.unwrap_or(0));
        counters.add(&format!("last_{name}_cycle"), self.last - ahead);
    }
}
