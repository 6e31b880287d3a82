//! The test bench, its drivers and its recorders.

use kernel::trace::{Event, Sink, Tracer};
use kernel::{Activity, Clock, ClockId, Component, Cycle, Freq, Mode, Outcome, Ports, Rx, SystemBuilder, Tx};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A log of events by cycle. Lines of one cycle are sorted, because components of one edge have no order.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<(Cycle, String)>>>);

impl Log {
    /// Adds a line at `cycle`.
    pub fn note(&self, cycle: Cycle, text: impl Into<String>) {
        self.0.borrow_mut().push((cycle, text.into()));
    }

    fn text(&self) -> String {
        let mut lines = self.0.borrow().clone();
        lines.sort();
        lines.iter().map(|(cycle, text)| format!("{:<4} {}\n", cycle, text.trim_end())).collect()
    }
}

/// A system under construction around the component under test. It has one clock, of 1 GHz by default, so that a cycle
/// is 1 ns.
pub struct Bench {
    builder: SystemBuilder,
    clock: ClockId,
    /// The log of the recorders. Tests may add lines.
    pub log: Log,
    events: bool,
    counters: bool,
}

impl Bench {
    /// The system, for functions that wire their own parts and for further clocks.
    pub fn system(&mut self) -> &mut SystemBuilder {
        &mut self.builder
    }

    /// The bench's clock.
    pub fn clock(&self) -> ClockId {
        self.clock
    }

    /// A channel that the test attaches to components.
    pub fn channel<T: 'static>(&mut self, name: &str, capacity: usize, latency: u64) -> (Tx<T>, Rx<T>) {
        self.builder.channel(name, capacity, latency)
    }

    /// Adds a component.
    pub fn add(&mut self, path: &str, component: impl Component + 'static) {
        self.builder.add(path, self.clock, component);
    }

    /// Tracer of the component at `path`.
    pub fn tracer(&self, path: &str) -> Tracer {
        self.builder.tracer(path, self.clock)
    }

    /// An input whose items arrive in the given cycles, or later if `capacity` items are waiting. Cycles must not
    /// decrease and start at 1.
    pub fn input<T: 'static>(&mut self, name: &str, capacity: usize, items: Vec<(Cycle, T)>) -> Rx<T> {
        assert!(items.windows(2).all(|pair| pair[0].0 <= pair[1].0), "the cycles of {name} must not decrease");
        let (tx, rx) = self.channel(name, capacity, 1);
        self.add(&format!("driver of {name}"), Driver { items: items.into(), output: tx });
        rx
    }

    /// An output whose items are logged as `name` and `show(item)`. The recorder takes one item in each cycle that is
    /// `ready`.
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

    /// Also logs events.
    pub fn log_events(&mut self) {
        self.events = true;
    }

    /// Also logs the counters that are not zero at the end.
    pub fn log_counters(&mut self) {
        self.counters = true;
    }
}

/// Runs the scene of `make` for up to `cycles` cycles, in all three modes, and returns its log.
///
/// # Panics
///
/// Panics if the wiring is wrong, if the modes disagree, or if a component is still active after `cycles` cycles.
pub fn bench(cycles: Cycle, make: impl Fn(&mut Bench)) -> String {
    bench_at(Freq::mhz(1000).expect("1 GHz is a frequency"), cycles, make)
}

/// The same at another frequency.
pub fn bench_at(freq: Freq, cycles: Cycle, make: impl Fn(&mut Bench)) -> String {
    let normal = run(freq, cycles, Mode::Normal, &make);
    assert_eq!(
        normal,
        run(freq, cycles, Mode::Shuffled(7), &make),
        "the order of ticks within an edge changed the result"
    );
    assert_eq!(
        normal,
        run(freq, cycles, Mode::TickAll, &make),
        "a component returned Idle, but another tick changed its state"
    );
    normal
}

fn run(freq: Freq, cycles: Cycle, mode: Mode, make: &impl Fn(&mut Bench)) -> String {
    let mut builder = SystemBuilder::new(1);
    let clock = builder.clock(freq);
    let edges = builder.edges(clock);
    let mut bench = Bench { builder, clock, log: Log::default(), events: false, counters: false };
    make(&mut bench);
    let Bench { builder, log, events, counters, .. } = bench;
    let mut system = builder.build().unwrap_or_else(|error| panic!("wrong wiring of the bench: {error}"));
    system.set_mode(mode);
    if events {
        system.listen(Box::new(EventLog(log.clone(), edges)));
    }
    let outcome = system.run_until(edges.edge(cycles));
    assert_eq!(outcome, Outcome::Quiet, "still active after {cycles} cycles:\n{}", log.text());
    let mut text = log.text();
    if counters {
        let found = system.counters().into_iter().filter(|(_, total)| *total != 0);
        text.extend(found.map(|(name, total)| format!("{name} {total}\n")));
    }
    text
}

/// Sends each item one cycle before its arrival.
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
                Some(_) => self.output.send(self.items.pop_front().expect("the input has an item").1),
            }
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

/// Takes and logs at most one item per cycle.
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
            let item = self.input.take().expect("the input has an item");
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
        self.0.note(event.cycle_of(&self.1), format!("event {}{fields}", event.kind.name));
    }
}
