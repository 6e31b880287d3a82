//! What a run tells: counters that components keep, and one stream of events for whoever listens.

use crate::time::{Clock, Cycle, Time};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A statistic that a component keeps and never reads.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counter(u64);

impl Counter {
    /// Adds `n`.
    #[inline]
    pub fn add(&mut self, n: u64) {
        self.0 += n;
    }

    /// For the report.
    pub fn total(&self) -> u64 {
        self.0
    }
}

/// What all events of one kind have in common; a `static` beside the component that emits them.
#[derive(PartialEq, Eq, Debug)]
pub struct EventKind {
    /// What happened, as `handler_end`.
    pub name: &'static str,
    /// What each value means, in order.
    pub fields: &'static [&'static str],
}

/// Something that happened in a component.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When.
    pub at: Time,
    /// Path of the component, as `nic.cluster[2]`.
    pub source: &'a str,
    /// What.
    pub kind: &'static EventKind,
    /// One value for each of the kind's fields.
    pub values: &'a [u64],
}

impl Event<'_> {
    /// The value of the field of this name.
    pub fn get(&self, field: &str) -> Option<u64> {
        let position = self.kind.fields.iter().position(|&name| name == field)?;
        self.values.get(position).copied()
    }
}

/// Listens to events. Events of one component come in the order in which it emits them. How those of different components
/// interleave follows the order in which these are ticked, which is no promise, and a core that runs ahead emits early: who wants
/// order sorts by time.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: &Event);
}

/// Where all events of a system meet.
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

/// A component's way to emit events; costs one test of a flag when nobody listens.
#[derive(Clone)]
pub struct Tracer {
    pub(crate) hub: Rc<Hub>,
    pub(crate) clock: Clock,
    pub(crate) source: Rc<str>,
}

impl Tracer {
    /// Whether somebody listens; ask before work that only an event needs.
    #[inline]
    pub fn on(&self) -> bool {
        self.hub.listening.get()
    }

    /// Tells that something happened at `cycle` of the component's clock.
    #[inline]
    pub fn emit(&self, kind: &'static EventKind, cycle: Cycle, values: &[u64]) {
        if self.on() {
            self.deliver(kind, cycle, values);
        }
    }

    #[cold]
    fn deliver(&self, kind: &'static EventKind, cycle: Cycle, values: &[u64]) {
        assert_eq!(kind.fields.len(), values.len(), "event {} has other fields", kind.name);
        let event = Event { at: self.clock.edge(cycle), source: &self.source, kind, values };
        self.hub.sinks.borrow_mut().iter_mut().for_each(|sink| sink.event(&event));
    }
}
