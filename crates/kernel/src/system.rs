//! Builds a system of components and runs it.

use crate::channel::{AnyChannel, Endpoint, Inlet, Rx, Tx, channel, inlet};
use crate::component::{Component, CounterList, Port, Ports, Report, Resource};
use crate::domain::{Domain, NEVER, Slot};
use crate::random::RandomStream;
use crate::time::{Clock, Cycle, Edge, Freq, Time};
use crate::trace::{Hub, Sink, Tracer};
use crate::wiring::WiringError;
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

/// Names a clock domain of a [`SystemBuilder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockId(usize);

/// The order of ticks. All modes give the same results; tests compare them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Tick awake components, in the order in which they were added.
    #[default]
    Normal,
    /// Tick awake components, in a random order at each edge, from this seed.
    Shuffled(u64),
    /// Tick all components at every edge at which any is awake. This tests the promise of `Idle`.
    TickAll,
}

/// The reason why a run returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All components sleep and no item is in flight.
    Quiet,
    /// The time limit is reached.
    Limit,
}

/// Collects clocks, channels and components; [`SystemBuilder::build`] checks the wiring.
pub struct SystemBuilder {
    seed: u64,
    /// Each clock's position in `domains`.
    clocks: Vec<usize>,
    domains: Vec<(Rc<Domain>, Vec<Slot>)>,
    channels: Vec<Box<dyn AnyChannel>>,
    is_woken: Rc<Cell<bool>>,
    hub: Rc<Hub>,
}

impl SystemBuilder {
    /// An empty system. Its random streams depend on `seed`.
    pub fn new(seed: u64) -> Self {
        let (clocks, domains, channels) = (Vec::new(), Vec::new(), Vec::new());
        SystemBuilder { seed, clocks, domains, channels, is_woken: Rc::default(), hub: Rc::default() }
    }

    /// Adds a clock. Clocks of one frequency share a domain, because their edges coincide.
    pub fn clock(&mut self, freq: Freq) -> ClockId {
        let clock = Clock::new(freq);
        let position = self.domains.iter().position(|(domain, _)| domain.clock.coincides(&clock));
        self.clocks.push(position.unwrap_or(self.domains.len()));
        if position.is_none() {
            self.domains.push((Rc::new(Domain::new(clock, self.is_woken.clone())), Vec::new()));
        }
        ClockId(self.clocks.len() - 1)
    }

    fn domain(&self, clock: ClockId) -> &Rc<Domain> {
        &self.domains[self.clocks[clock.0]].0
    }

    /// The clock of a domain, for parts whose parameters are times.
    pub fn edges(&self, clock: ClockId) -> Clock {
        self.domain(clock).clock
    }

    /// Adds a channel with room for `capacity` items and a latency of `latency` sender cycles.
    ///
    /// The capacity includes items in flight. One item a cycle through a latency of L needs a capacity of L + 1.
    pub fn channel<T: 'static>(&mut self, name: &str, capacity: usize, latency: u64) -> (Tx<T>, Rx<T>) {
        let (tx, rx) = channel(name, capacity, latency);
        self.channels.push(Box::new((tx.alias(), rx.alias())));
        (tx, rx)
    }

    /// Adds a channel that is fed from outside the system, between two runs. Its capacity is unlimited, like that of an
    /// input file.
    pub fn inlet<T: 'static>(&mut self, name: &str, clock: ClockId) -> (Inlet<T>, Rx<T>) {
        let (inlet, rx) = inlet(name, self.domain(clock).clone());
        self.channels.push(Box::new((inlet.end(), rx.alias())));
        (inlet, rx)
    }

    /// The random stream of this name.
    pub fn stream(&self, name: &str) -> RandomStream {
        RandomStream::new(self.seed, name)
    }

    /// The tracer of the component at `path`, with this clock.
    pub fn tracer(&self, path: &str, clock: ClockId) -> Tracer {
        Tracer { hub: self.hub.clone(), clock: self.domain(clock).clock, source: path.into() }
    }

    /// Adds a component. Its first tick is at edge 0.
    pub fn add(&mut self, path: &str, clock: ClockId, component: impl Component + 'static) {
        self.add_boxed(path, clock, Box::new(component));
    }

    /// The same for a component whose type is not known.
    pub fn add_boxed(&mut self, path: &str, clock: ClockId, component: Box<dyn Component>) {
        let (_, slots) = &mut self.domains[self.clocks[clock.0]];
        slots.push(Slot { path: path.into(), clock: clock.0, component });
    }

    /// Wires all ports. Returns the first error, which names the port or the channel.
    pub fn build(self) -> Result<System, WiringError> {
        let (mut ports, mut errors, mut paths) = (Vec::new(), Vec::new(), HashSet::new());
        for (domain, slots) in &self.domains {
            domain.expect(slots.len());
            for (index, slot) in slots.iter().enumerate() {
                if !paths.insert(slot.path.clone()) {
                    errors.push(WiringError::Path { path: slot.path.to_string() });
                }
                let index = u32::try_from(index).expect("fewer than 2^32 components");
                let endpoint = Endpoint::new(domain.clone(), index);
                let (found, errors) = (&mut ports, &mut errors);
                slot.component.ports(&mut Ports { component: &slot.path, endpoint, found, errors });
                domain.wake(index, 0);
            }
        }
        errors.extend(self.channels.iter().filter_map(|channel| channel.check().err()));
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => {
                let (mode, reached) = (Mode::Normal, Time::ZERO);
                let SystemBuilder { clocks, domains, is_woken, hub, .. } = self;
                Ok(System { clocks, domains, is_woken, hub, ports, mode, reached })
            }
        }
    }
}

/// Counters and resources of a component.
fn report(domain: &Domain, slot: &Slot, reached: Time) -> (Vec<(String, u64)>, Vec<Resource>) {
    let (mut found, mut resources) = (Vec::new(), Vec::new());
    let now = domain.clock.cycle_after(reached) - 1;
    let report = Report::All(&mut found, &mut resources);
    slot.component.counters(&mut CounterList { component: &slot.path, now, report });
    (found, resources)
}

/// A wired system, ready to run.
pub struct System {
    /// Each clock's position in `domains`.
    clocks: Vec<usize>,
    domains: Vec<(Rc<Domain>, Vec<Slot>)>,
    /// Set when a domain is woken earlier than it wanted.
    is_woken: Rc<Cell<bool>>,
    hub: Rc<Hub>,
    ports: Vec<Port>,
    mode: Mode,
    /// The time up to which all edges are simulated.
    reached: Time,
}

impl System {
    /// Sets the order of ticks from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Sends every event to `sink` from now on.
    pub fn listen(&mut self, sink: Box<dyn Sink>) {
        self.hub.listen(sink);
    }

    /// All ports, as wired.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// All components with their domains, by clock.
    fn slots(&self) -> Vec<(&Domain, &Slot)> {
        let mut slots: Vec<(&Domain, &Slot)> =
            self.domains.iter().flat_map(|(domain, slots)| slots.iter().map(|slot| (&**domain, slot))).collect();
        slots.sort_by_key(|(_, slot)| slot.clock);
        slots
    }

    /// All counters with their totals, by clock and in the order of the components.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.slots().into_iter().flat_map(|(domain, slot)| report(domain, slot, self.reached).0).collect()
    }

    /// Everything that can be full, with its clock, by clock and in the order of the components.
    pub fn resources(&self) -> Vec<(Clock, Resource)> {
        let with_clock = |(domain, slot): (&Domain, &Slot)| {
            let clock = domain.clock;
            report(domain, slot, self.reached).1.into_iter().map(move |resource| (clock, resource))
        };
        self.slots().into_iter().flat_map(with_clock).collect()
    }

    /// Appends the busy cycles of everything that can be full, in the order of [`System::resources`]. This is cheaper, because it makes
    /// no names.
    pub fn loads(&self, loads: &mut Vec<u64>) {
        for (domain, slot) in self.slots() {
            let (now, report) = (domain.clock.cycle_after(self.reached) - 1, Report::Loads(loads));
            slot.component.counters(&mut CounterList { component: &slot.path, now, report });
        }
    }

    /// The current cycle of a domain: its last simulated edge, or 0.
    pub fn now(&self, clock: ClockId) -> Cycle {
        self.domains[self.clocks[clock.0]].0.now.get()
    }

    /// Returns the time of the next edge that any component wants, or `None` if all components sleep.
    pub fn next_edge(&self) -> Option<Time> {
        let edges = self.domains.iter().filter_map(|(domain, _)| Some(domain.clock.edge(domain.next()?)));
        edges.min()
    }

    /// Simulates every edge up to and including `limit` that any component wants.
    pub fn run_until(&mut self, limit: Time) -> Outcome {
        self.reached = self.reached.max(limit);
        self.domains.iter().for_each(|(domain, _)| domain.last.set(domain.clock.cycle_after(limit).saturating_sub(1)));
        if let [(domain, slots)] = &mut self.domains[..] {
            return run_single(domain, slots, self.mode);
        }
        let mut nexts: Vec<NextEdge> = self.domains.iter().map(|(domain, _)| NextEdge::new(domain.clock)).collect();
        self.is_woken.set(true);
        let mut first = 0;
        loop {
            // Only the domain that has just ticked has a new next edge, unless it woke others.
            if self.is_woken.take() {
                self.domains.iter().zip(&mut nexts).for_each(|((domain, _), next)| next.update(domain.next_or_never()));
            } else {
                nexts[first].update(self.domains[first].0.next_or_never());
            }
            let mut at = Time::MAX;
            for (position, next) in nexts.iter().enumerate() {
                if next.at < at {
                    (at, first) = (next.at, position);
                }
            }
            if at > limit || at == Time::MAX {
                let is_quiet = nexts.iter().all(|next| next.cycle == NEVER);
                return if is_quiet { Outcome::Quiet } else { Outcome::Limit };
            }
            let (domain, slots) = &mut self.domains[first];
            domain.simulate(nexts[first].cycle, self.mode, slots);
        }
    }
}

/// The next edge of a domain; its time is computed only when the edge changes.
struct NextEdge {
    edge: Edge,
    /// [`NEVER`] if there is no edge.
    cycle: Cycle,
    /// [`Time::MAX`] if there is no edge, or none within the range of time.
    at: Time,
}

impl NextEdge {
    fn new(clock: Clock) -> NextEdge {
        NextEdge { edge: Edge::new(clock), cycle: NEVER, at: Time::MAX }
    }

    #[inline(always)]
    fn update(&mut self, cycle: Cycle) {
        if cycle != self.cycle {
            self.cycle = cycle;
            self.at = if cycle == NEVER { Time::MAX } else { self.edge.at(cycle).unwrap_or(Time::MAX) };
        }
    }
}

/// [`System::run_until`] for a system with one clock, without comparing times at every edge.
fn run_single(domain: &Domain, slots: &mut [Slot], mode: Mode) -> Outcome {
    let end = domain.last.get() + 1;
    loop {
        match domain.next() {
            None => return Outcome::Quiet,
            Some(cycle) if cycle >= end => return Outcome::Limit,
            Some(cycle) => domain.simulate_busy(cycle, end, mode, slots),
        }
    }
}
