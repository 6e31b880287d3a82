//! Observation: counters of components, and one stream of trace events.

use crate::time::{Clock, Cycle, Time};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A statistic. The component adds to it and never reads it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counter(u64);

impl Counter {
    /// Adds `n`.
    #[inline]
    pub fn add(&mut self, n: u64) {
        self.0 += n;
    }

    /// The total, for reports.
    pub fn total(&self) -> u64 {
        self.0
    }
}

/// A quantity that changes, such as the fill of a queue, summed over cycles.
#[derive(Clone, Debug, Default)]
pub struct Level {
    since: Cycle,
    level: u64,
    sum: u64,
}

impl Level {
    /// The quantity is `level` from cycle `now` on.
    #[inline]
    pub fn set(&mut self, now: Cycle, level: u64) {
        self.sum += (now - self.since) * self.level;
        (self.since, self.level) = (now, level);
    }

    /// The sum over all cycles before `now`.
    pub fn total(&self, now: Cycle) -> u64 {
        self.sum.saturating_add(now.saturating_sub(self.since).saturating_mul(self.level))
    }
}

/// A kind of event: a `static` beside the component that emits it.
#[derive(PartialEq, Eq, Debug)]
pub struct EventKind {
    /// Name of the event, such as `handler_end`.
    pub name: &'static str,
    /// Names of the values, in order.
    pub fields: &'static [&'static str],
    /// Position in a list of kinds, for a fast match on the kind.
    pub number: usize,
}

/// One event of a component.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Cycle of the event, of the component's clock.
    pub cycle: Cycle,
    /// The component's clock.
    pub clock: &'a Clock,
    /// Path of the component, such as `nic.cluster[2]`.
    pub source: &'a str,
    /// Kind of the event.
    pub kind: &'static EventKind,
    /// One value for each of the kind's fields.
    pub values: &'a [u64],
}

impl Event<'_> {
    /// Time of the event.
    pub fn at(&self) -> Time {
        self.clock.edge(self.cycle)
    }

    /// The first cycle of `clock` at the time of the event or later. Needs no division if the clocks have the same edges.
    #[inline]
    pub fn cycle_of(&self, clock: &Clock) -> Cycle {
        if self.clock.coincides(clock) { self.cycle } else { clock.cycle_at_or_after(self.at()) }
    }

    /// The value of the field of this name.
    pub fn get(&self, field: &str) -> Option<u64> {
        let position = self.kind.fields.iter().position(|&name| name == field)?;
        self.values.get(position).copied()
    }
}

/// Receives events. Events of one component arrive in the order in which it emits them. Events of different components may
/// arrive in any order, because components tick in any order and a core may run ahead; sort by time if order matters.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: &Event);
}

/// The place where all events of a system arrive.
#[derive(Default)]
pub(crate) struct Hub {
    listening: Cell<bool>,
    sinks: RefCell<Vec<Box<dyn Sink>>>,
}

impl Hub {
    pub fn listen(&self, sink: Box<dyn Sink>) {
        self.sinks.borrow_mut().push(sink);
        self.listening.set(true);
    }
}

/// Emits a component's events. Without a sink this costs one test of a flag.
#[derive(Clone)]
pub struct Tracer {
    pub(crate) hub: Rc<Hub>,
    pub(crate) clock: Clock,
    pub(crate) source: Rc<str>,
}

impl Tracer {
    /// Returns true if there is a sink. Check it before work that only an event needs.
    #[inline]
    pub fn on(&self) -> bool {
        self.hub.listening.get()
    }

    /// Emits an event at `cycle` of the component's clock.
    #[inline]
    pub fn emit(&self, kind: &'static EventKind, cycle: Cycle, values: &[u64]) {
        if self.on() {
            self.deliver(kind, cycle, values);
        }
    }

    #[cold]
    fn deliver(&self, kind: &'static EventKind, cycle: Cycle, values: &[u64]) {
        assert_eq!(kind.fields.len(), values.len(), "event {} has other fields", kind.name);
        let event = Event { cycle, clock: &self.clock, source: &self.source, kind, values };
        self.hub.sinks.borrow_mut().iter_mut().for_each(|sink| sink.event(&event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_summed_over_cycles() {
        let mut level = Level::default();
        level.set(10, 3);
        level.set(14, 5); // 3 in four cycles.
        level.set(14, 1);
        assert_eq!(level.total(16), 3 * 4 + 2); // 1 in two cycles.
        level.set(16, 0);
        assert_eq!(level.total(20), 3 * 4 + 2);
    }
}
