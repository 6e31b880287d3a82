//! Counters of one direction.

use kernel::trace::Counter;
use kernel::{CounterList, Cycle};

/// Beats and bytes of one direction, and the arrival cycles of the first and the last beat.
#[derive(Default)]
pub struct DirectionCounters {
    beats: Counter,
    bytes: Counter,
    first: Option<Cycle>,
    last: Cycle,
}

impl DirectionCounters {
    /// Counts a beat that arrives in cycle `due`.
    pub fn count(&mut self, due: Cycle, bytes: usize) {
        self.beats.add(1);
        self.bytes.add(bytes as u64);
        self.first.get_or_insert(due);
        self.last = due;
    }

    /// Adds the counters as `name_beats` and so on.
    pub fn counters(&self, name: &str, counters: &mut CounterList) {
        counters.add(&format!("{name}_beats"), self.beats.total());
        counters.add(&format!("{name}_bytes"), self.bytes.total());
        counters.add(&format!("first_{name}_cycle"), self.first.unwrap_or(0));
        counters.add(&format!("last_{name}_cycle"), self.last);
    }
}
