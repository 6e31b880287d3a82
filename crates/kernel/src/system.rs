//! Builds a system of components and runs it.

use crate::channel::{AnyChannel, Endpoint, Inlet, Rx, Tx, channel, inlet};
use crate::component::{Component, CounterList, Port, Ports, Resource};
use crate::domain::{Domain, Slot};
use crate::random::RandomStream;
use crate::time::{Clock, Cycle, Edge, Freq, Time};
use crate::trace::{Hub, Sink, Tracer};
use crate::wiring::WiringError;
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
    domains: Vec<(Rc<Domain>, Vec<Slot>)>,
    channels: Vec<Box<dyn AnyChannel>>,
    hub: Rc<Hub>,
}

impl SystemBuilder {
    /// An empty system. Its random streams depend on `seed`.
    pub fn new(seed: u64) -> Self {
        SystemBuilder { seed, domains: Vec::new(), channels: Vec::new(), hub: Rc::default() }
    }

    /// Adds a clock domain.
    pub fn clock(&mut self, freq: Freq) -> ClockId {
        let domain = Domain::new(Clock::new(freq));
        self.domains.push((Rc::new(domain), Vec::new()));
        ClockId(self.domains.len() - 1)
    }

    /// The clock of a domain, for parts whose parameters are times.
    pub fn edges(&self, clock: ClockId) -> Clock {
        self.domains[clock.0].0.clock
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
        let (inlet, rx) = inlet(name, self.domains[clock.0].0.clone());
        self.channels.push(Box::new((inlet.end(), rx.alias())));
        (inlet, rx)
    }

    /// The random stream of this name.
    pub fn stream(&self, name: &str) -> RandomStream {
        RandomStream::new(self.seed, name)
    }

    /// The tracer of the component at `path`, with this clock.
    pub fn tracer(&self, path: &str, clock: ClockId) -> Tracer {
        Tracer { hub: self.hub.clone(), clock: self.domains[clock.0].0.clock, source: path.into() }
    }

    /// Adds a component. Its first tick is at edge 0.
    pub fn add(&mut self, path: &str, clock: ClockId, component: impl Component + 'static) {
        let (_, slots) = &mut self.domains[clock.0];
        slots.push(Slot { path: path.into(), component: Box::new(component) });
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
                let endpoint = Endpoint { domain: domain.clone(), index, mail: domain.mail(index) };
                let (found, errors) = (&mut ports, &mut errors);
                slot.component.ports(&mut Ports { component: &slot.path, endpoint, found, errors });
                domain.wake(index, 0);
            }
        }
        errors.extend(self.channels.iter().filter_map(|channel| channel.check().err()));
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(System { domains: self.domains, hub: self.hub, ports, mode: Mode::Normal }),
        }
    }
}

/// Counters and resources of a component.
fn report(slot: &Slot) -> (Vec<(String, u64)>, Vec<Resource>) {
    let (mut found, mut resources) = (Vec::new(), Vec::new());
    let mut counters = CounterList { component: &slot.path, found: &mut found, resources: &mut resources };
    slot.component.counters(&mut counters);
    (found, resources)
}

/// A wired system, ready to run.
pub struct System {
    domains: Vec<(Rc<Domain>, Vec<Slot>)>,
    hub: Rc<Hub>,
    ports: Vec<Port>,
    mode: Mode,
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

    /// All counters with their totals, in the order of the components.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let slots = self.domains.iter().flat_map(|(_, slots)| slots);
        slots.flat_map(|slot| report(slot).0).collect()
    }

    /// Everything that can be full, with its clock, in the order of the components.
    pub fn resources(&self) -> Vec<(Clock, Resource)> {
        let with_clock = |(domain, slots): &(Rc<Domain>, Vec<Slot>)| {
            let resources = slots.iter().flat_map(|slot| report(slot).1);
            resources.map(|resource| (domain.clock, resource)).collect::<Vec<_>>()
        };
        self.domains.iter().flat_map(with_clock).collect()
    }

    /// The current cycle of a domain: its last simulated edge, or 0.
    pub fn now(&self, clock: ClockId) -> Cycle {
        self.domains[clock.0].0.now.get()
    }

    /// Returns the time of the next edge that any component wants, or `None` if all components sleep.
    pub fn next_edge(&self) -> Option<Time> {
        let edges = self.domains.iter().filter_map(|(domain, _)| Some(domain.clock.edge(domain.next()?)));
        edges.min()
    }

    /// Simulates every edge up to and including `limit` that any component wants.
    pub fn run_until(&mut self, limit: Time) -> Outcome {
        if let [(domain, slots)] = &mut self.domains[..] {
            return run_single(domain, slots, self.mode, limit);
        }
        let mut edges: Vec<Edge> = self.domains.iter().map(|(domain, _)| Edge::new(domain.clock)).collect();
        loop {
            let mut first: Option<(Time, usize, Cycle)> = None;
            let mut is_quiet = true;
            for (position, ((domain, _), edge)) in self.domains.iter().zip(&mut edges).enumerate() {
                let Some(cycle) = domain.next() else { continue };
                is_quiet = false;
                let Some(at) = edge.at(cycle) else { continue };
                if first.is_none_or(|(earliest, ..)| at < earliest) {
                    first = Some((at, position, cycle));
                }
            }
            match first {
                None if is_quiet => return Outcome::Quiet,
                None => return Outcome::Limit,
                Some((at, ..)) if at > limit => return Outcome::Limit,
                Some((_, position, cycle)) => self.simulate(position, cycle),
            }
        }
    }

    /// Simulates one edge of one domain.
    fn simulate(&mut self, position: usize, cycle: Cycle) {
        let (domain, slots) = &mut self.domains[position];
        domain.simulate(cycle, self.mode, slots);
    }
}

/// [`System::run_until`] for a system with one clock, without comparing times at every edge.
fn run_single(domain: &Domain, slots: &mut [Slot], mode: Mode, limit: Time) -> Outcome {
    let end = domain.clock.cycle_after(limit);
    loop {
        match domain.next() {
            None => return Outcome::Quiet,
            Some(cycle) if cycle >= end => return Outcome::Limit,
            Some(cycle) => domain.simulate(cycle, mode, slots),
        }
    }
}
