//! Credits over time, from the scheduler's events.

use kernel::trace::{Event, Sink};
use kernel::{Clock, Cycle};
use panic::protocol::NodeId;
use panic::scheduler::CREDITS;
use std::cell::RefCell;
use std::rc::Rc;

/// Maximum number of parts into which the time of a run is divided.
const MOST_BUCKETS: usize = 256;
/// Length of the first parts, in cycles. Later parts are longer.
const FIRST_CYCLES: Cycle = 16;

/// The credits that the scheduler holds of a unit.
#[derive(Clone, Debug)]
pub struct UnitCredits {
    /// The unit.
    pub node: NodeId,
    initial: u64,
    held: u64,
    since: Cycle,
    /// Held credits summed over cycles, and number of cycles in which fewer than all were held.
    held_cycles: u128,
    busy_cycles: Cycle,
    /// Sums over equal parts of the time.
    buckets: Vec<u64>,
    bucket_cycles: Cycle,
}

impl UnitCredits {
    fn new(node: NodeId, initial: u64) -> UnitCredits {
        let (held_cycles, busy_cycles, buckets) = Default::default();
        let bucket_cycles = FIRST_CYCLES;
        UnitCredits { node, initial, held: initial, since: 0, held_cycles, busy_cycles, buckets, bucket_cycles }
    }

    /// From cycle `at` on, `held` credits are held.
    fn note(&mut self, at: Cycle, held: u64) {
        let span = at - self.since;
        self.held_cycles += u128::from(span) * u128::from(self.held);
        if self.held < self.initial {
            self.busy_cycles += span;
        }
        while at > self.bucket_cycles * MOST_BUCKETS as u64 {
            self.buckets = self.buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.bucket_cycles *= 2;
        }
        while self.since < at {
            let bucket = self.since / self.bucket_cycles;
            let end = at.min((bucket + 1) * self.bucket_cycles);
            self.buckets.resize(self.buckets.len().max(bucket as usize + 1), 0);
            self.buckets[bucket as usize] += (end - self.since) * self.held;
            self.since = end;
        }
        self.held = held;
    }

    /// Mean number of held credits from `first` to `end`, and the share of that time in which fewer than all were held
    /// because a packet was in the unit or on its way there. `end` is not before the last event, and `first` not after
    /// the first.
    pub fn mean(&self, first: Cycle, end: Cycle) -> Option<(f64, f64)> {
        let mut whole = self.clone();
        whole.note(end.max(self.since), self.held);
        let span = end.checked_sub(first).filter(|&span| span > 0)? as f64;
        let before = u128::from(first) * u128::from(self.initial);
        let held = whole.held_cycles.saturating_sub(before);
        Some((held as f64 / span, whole.busy_cycles as f64 / span))
    }

    /// Credits over time up to `end`: cycles of each part, and the average held in it.
    pub fn series(&self, end: Cycle) -> (Cycle, Vec<f64>) {
        let mut whole = self.clone();
        whole.note(end.max(self.since), self.held);
        let cycles = |i: usize| (end - i as u64 * whole.bucket_cycles).min(whole.bucket_cycles).max(1);
        let mean = |(i, &sum): (usize, &u64)| sum as f64 / cycles(i) as f64;
        (whole.bucket_cycles, whole.buckets.iter().enumerate().map(mean).collect())
    }
}

/// The lanes of all units.
pub struct CreditLog {
    clock: Clock,
    lanes: Vec<UnitCredits>,
    /// Position of the lane of each node.
    by_node: Vec<Option<usize>>,
}

impl CreditLog {
    /// Units with their initial credits.
    pub fn new(clock: Clock, units: impl IntoIterator<Item = (NodeId, u32)>) -> CreditLog {
        let lanes: Vec<UnitCredits> =
            units.into_iter().map(|(node, initial)| UnitCredits::new(node, initial.into())).collect();
        let mut by_node = vec![None; 256];
        for (i, lane) in lanes.iter().enumerate() {
            by_node[usize::from(lane.node.0)] = Some(i);
        }
        CreditLog { clock, lanes, by_node }
    }

    /// All lanes, in order of the units.
    pub fn lanes(&self) -> &[UnitCredits] {
        &self.lanes
    }

    fn note(&mut self, event: &Event) {
        let [node, held] = event.values else { return };
        let lane = usize::try_from(*node).ok().and_then(|node| self.by_node.get(node).copied().flatten());
        if let Some(lane) = lane {
            self.lanes[lane].note(event.cycle_of(&self.clock), *held);
        }
    }
}

/// Receives the scheduler's events.
pub struct CreditSink(pub Rc<RefCell<CreditLog>>);

impl Sink for CreditSink {
    fn event(&mut self, event: &Event) {
        if std::ptr::eq(event.kind, &CREDITS) {
            self.0.borrow_mut().note(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `cycle:held` for a unit with two credits.
    fn check(notes: &str, first: Cycle, end: Cycle, want: Expect) {
        let mut lane = UnitCredits::new(NodeId(4), 2);
        for note in notes.split_whitespace() {
            let (at, held) = note.split_once(':').expect("cycle:held");
            lane.note(at.parse().expect("a cycle"), held.parse().expect("a number"));
        }
        want.assert_eq(&format!("{:?} {:?}", lane.mean(first, end), lane.series(end)));
    }

    #[test]
    fn means_are_over_time() {
        check("10:1 20:0 30:2", 0, 40, expect!["Some((1.25, 0.5)) (16, [1.625, 0.5, 2.0])"]);
        check("10:1 20:2", 10, 20, expect!["Some((1.0, 1.0)) (16, [1.625, 1.0])"]);
        check("", 5, 5, expect!["None (16, [2.0])"]);
    }

    #[test]
    fn a_long_run_has_as_many_parts_as_a_short_one() {
        let mut lane = UnitCredits::new(NodeId(4), 2);
        lane.note(1_000_000, 1);
        let (cycles, series) = lane.series(2_000_000);
        assert_eq!((cycles, series.len()), (8192, 245));
        assert_eq!((series[0], series[244]), (2.0, 1.0));
    }
}
