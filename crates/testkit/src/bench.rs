//! The bench, its drivers and its recorders.

use kernel::trace::{Event, Sink, Tracer};
use kernel::{Activity, Clock, ClockId, Component, Cycle, Freq, Mode, Outcome, Ports, Rx, SystemBuilder, Tx};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What happened, in cycles; lines of one cycle are sorted, components of one edge having no order.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<(Cycle, String)>>>);

impl Log {
    /// Writes down that something happened in `cycle`.
    pub fn note(&self, cycle: Cycle, text: impl Into<String>) {
        self.0.borrow_mut().push((cycle, text.into()));
    }

    fn text(&self) -> String {
        let mut lines = self.0.borrow().clone();
        lines.sort();
        lines.iter().map(|(cycle, text)| format!("{:<4} {}\n", cycle, text.trim_end())).collect()
    }
}

/// A system under construction around the component under test: one clock, of 1 GHz unless said otherwise, so that a cycle is
/// 1 ns.
pub struct Bench {
    builder: SystemBuilder,
    clock: ClockId,
    /// Where recorders write; tests may add lines of their own.
    pub log: Log,
    events: bool,
    counters: bool,
}

impl Bench {
    /// The system, for what is wired by a function of its own, and perhaps has further clocks.
    pub fn system(&mut self) -> &mut SystemBuilder {
        &mut self.builder
    }

    /// The bench's clock.
    pub fn clock(&self) -> ClockId {
        self.clock
    }

    /// A channel that is joined to components by hand.
    pub fn channel<T: 'static>(&mut self, name: &str, capacity: usize, latency: u64) -> (Tx<T>, Rx<T>) {
        self.builder.channel(name, capacity, latency)
    }

    /// Adds a component.
    pub fn add(&mut self, path: &str, component: impl Component + 'static) {
        self.builder.add(path, self.clock, component);
    }

    /// What a component at `path` emits events with.
    pub fn tracer(&self, path: &str) -> Tracer {
        self.builder.tracer(path, self.clock)
    }

    /// An input on which each item can first be seen in the cycle beside it, or as soon after as there is room among
    /// `capacity` items. Cycles ascend and start at 1.
    pub fn input<T: 'static>(&mut self, name: &str, capacity: usize, items: Vec<(Cycle, T)>) -> Rx<T> {
        assert!(items.windows(2).all(|pair| pair[0].0 <= pair[1].0), "the cycles of {name} ascend");
        let (tx, rx) = self.channel(name, capacity, 1);
        self.add(&format!("driver of {name}"), Driver { items: items.into(), output: tx });
        rx
    }

    /// An output whose items are logged as `name` and what `show` makes of them, one a cycle, in cycles that are `ready`.
    pub fn output<T: 'static>(
        &mut self,
        name: &str,
        capacity: usize,
        ready: impl Fn(Cycle) -> bool + 'static,
        show: impl Fn(&T) -> String + 'static,
    ) -> Tx<T> {
        let (tx, input) = self.channel(name, capacity, 1);
        let (log, prefix) = (self.log.clone(), name.to_owned());
        let recorder = Recorder { input, ready: Box::new(ready), show: Box::new(show), log, prefix };
        self.add(&format!("recorder of {name}"), recorder);
        tx
    }

    /// Logs events too.
    pub fn log_events(&mut self) {
        self.events = true;
    }

    /// Logs the counters that are not zero at the end.
    pub fn log_counters(&mut self) {
        self.counters = true;
    }
}

/// Runs the scene that `make` sets up for up to `cycles` cycles, in all three modes, and returns its log.
///
/// # Panics
/// If the wiring is wrong, if the modes disagree, or if something still goes on after `cycles` cycles.
pub fn bench(cycles: Cycle, make: impl Fn(&mut Bench)) -> String {
    bench_at(Freq::mhz(1000).expect("1 GHz is a frequency"), cycles, make)
}

/// The same at another frequency.
pub fn bench_at(freq: Freq, cycles: Cycle, make: impl Fn(&mut Bench)) -> String {
    let normal = run(freq, cycles, Mode::Normal, &make);
    assert_eq!(normal, run(freq, cycles, Mode::Shuffled(7), &make), "the order of components within an edge shows");
    assert_eq!(normal, run(freq, cycles, Mode::TickAll, &make), "a component that said it was idle was not");
    normal
}

fn run(freq: Freq, cycles: Cycle, mode: Mode, make: &impl Fn(&mut Bench)) -> String {
    let mut builder = SystemBuilder::new(1);
    let clock = builder.clock(freq);
    let edges = builder.edges(clock);
    let mut bench = Bench { builder, clock, log: Log::default(), events: false, counters: false };
    make(&mut bench);
    let Bench { builder, log, events, counters, .. } = bench;
    let mut system = builder.build().unwrap_or_else(|error| panic!("the bench is wired wrongly: {error}"));
    system.set_mode(mode);
    if events {
        system.listen(Box::new(EventLog(log.clone(), edges)));
    }
    let outcome = system.run_until(edges.edge(cycles));
    assert_eq!(outcome, Outcome::Quiet, "not quiet after {cycles} cycles:\n{}", log.text());
    let mut text = log.text();
    if counters {
        let found = system.counters().into_iter().filter(|(_, total)| *total != 0);
        text.extend(found.map(|(name, total)| format!("{name} {total}\n")));
    }
    text
}

/// Sends each item in the cycle before the one in which it is to be seen.
struct Driver<T> {
    items: VecDeque<(Cycle, T)>,
    output: Tx<T>,
}

impl<T> Component for Driver<T> {
    fn tick(&mut self, now: Cycle) -> Activity {
        loop {
            match self.items.front() {
                None => return Activity::Idle,
                Some((seen, _)) if *seen > now + 1 => return Activity::Until(seen - 1),
                Some(_) if !self.output.has_room() => return Activity::Idle,
                Some(_) => self.output.send(self.items.pop_front().expect("an item is there").1),
            }
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

/// Takes and logs one item a cycle.
struct Recorder<T> {
    input: Rx<T>,
    ready: Box<dyn Fn(Cycle) -> bool>,
    show: Box<dyn Fn(&T) -> String>,
    log: Log,
    prefix: String,
}

impl<T> Component for Recorder<T> {
    fn tick(&mut self, now: Cycle) -> Activity {
        if !self.input.has_item() {
            return Activity::Idle;
        }
        if (self.ready)(now) {
            let item = self.input.take().expect("an item is there");
            self.log.note(now, format!("{} {}", self.prefix, (self.show)(&item)));
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
    }
}

struct EventLog(Log, Clock);

impl Sink for EventLog {
    fn event(&mut self, event: &Event) {
        let fields = event.kind.fields.iter().zip(event.values);
        let fields: String = fields.map(|(name, value)| format!(" {name}={value:#x}")).collect();
        self.0.note(self.1.cycle_at_or_after(event.at), format!("event {}{fields}", event.kind.name));
    }
}
