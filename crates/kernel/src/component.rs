//! The interface between the kernel and a part of the simulated machine.

use crate::channel::{Endpoint, Rx, Tx};
use crate::time::Cycle;
use crate::trace::Level;
use crate::wiring::WiringError;

/// A component's answer at the end of a tick: when it wants to tick next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// At the next edge.
    Busy,
    /// At this cycle, or earlier if a port changes.
    Until(Cycle),
    /// When a port changes. Promises that a tick before that would change nothing.
    Idle,
}

/// A part of the machine. It owns its state and reaches other components only through its ports.
pub trait Component {
    /// Simulates edge `now` of its clock.
    fn tick(&mut self, now: Cycle) -> Activity;

    /// Called instead of [`Component::tick`] if the component was busy at the last edge and none of its ports has changed since.
    /// Must have the same effect; it can be cheaper.
    fn tick_again(&mut self, now: Cycle) -> Activity {
        self.tick(now)
    }

    /// Names each port, so that the kernel can wire it.
    fn ports(&self, ports: &mut Ports);

    /// Reports each counter by name, with its total.
    fn counters(&self, _counters: &mut CounterList) {}
}

/// Direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The component reads from it.
    Input,
    /// The component writes to it.
    Output,
}

/// A port, for drawings and errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Path of the component and name of the port: `nic.mpq.hers`.
    pub path: String,
    /// Its direction.
    pub direction: Direction,
    /// Name of its channel.
    pub channel: String,
    /// Type of the channel's items.
    pub carries: &'static str,
}

/// The ports of one component, while the kernel wires it.
pub struct Ports<'a> {
    pub(crate) component: &'a str,
    pub(crate) endpoint: Endpoint,
    pub(crate) found: &'a mut Vec<Port>,
    pub(crate) errors: &'a mut Vec<WiringError>,
}

impl Ports<'_> {
    /// The component reads from `rx`.
    pub fn input<T>(&mut self, name: &str, rx: &Rx<T>) {
        let port = self.port(name, Direction::Input, rx.name(), std::any::type_name::<T>());
        let bound = rx.bind(self.endpoint.clone(), &port.path);
        self.keep(port, bound);
    }

    /// The component writes to `tx`.
    pub fn output<T>(&mut self, name: &str, tx: &Tx<T>) {
        let port = self.port(name, Direction::Output, tx.name(), std::any::type_name::<T>());
        let bound = tx.bind(self.endpoint.clone(), &port.path);
        self.keep(port, bound);
    }

    /// The component reads from all of `rxs`, as `name[0]`, `name[1]`, ...
    pub fn inputs<T>(&mut self, name: &str, rxs: &[Rx<T>]) {
        rxs.iter().enumerate().for_each(|(i, rx)| self.input(&format!("{name}[{i}]"), rx));
    }

    /// The component writes to all of `txs`, as `name[0]`, `name[1]`, ...
    pub fn outputs<T>(&mut self, name: &str, txs: &[Tx<T>]) {
        txs.iter().enumerate().for_each(|(i, tx)| self.output(&format!("{name}[{i}]"), tx));
    }

    fn port(&self, name: &str, direction: Direction, channel: String, carries: &'static str) -> Port {
        Port { path: format!("{}.{name}", self.component), direction, channel, carries }
    }

    fn keep(&mut self, port: Port, bound: Result<(), WiringError>) {
        self.errors.extend(bound.err());
        self.found.push(port);
    }
}

/// The way in which a resource treats things that need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It passes or processes them, one after the other: a port, a bank, an engine.
    Passes,
    /// It holds them until another part takes them: a queue, a memory. So it is also full if that part is too slow.
    Holds,
}

/// A part of a component that can be full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Path of the component and name of the counter of its busy cycles.
    pub path: String,
    /// Its limit, for people: `one AMO at a time`.
    pub limit: String,
    /// Cycles in which each of its units was busy, summed over all units.
    pub busy: u64,
    /// Number of units.
    pub units: u64,
    /// Its kind: it passes things or holds them.
    pub does: Use,
}

/// The parts of a report that are wanted.
pub(crate) enum Report<'a> {
    /// Counters and resources.
    All(&'a mut Vec<(String, u64)>, &'a mut Vec<Resource>),
    /// Busy cycles of the resources, in their order, without their names.
    Loads(&'a mut Vec<u64>),
}

/// Counters of a component, collected for a report.
pub struct CounterList<'a> {
    pub(crate) component: &'a str,
    /// The last simulated cycle.
    pub(crate) now: Cycle,
    pub(crate) report: Report<'a>,
}

impl CounterList<'_> {
    /// The last simulated cycle. A component that moves several items by one call counts them at once, and does not report those of
    /// later cycles.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Adds a counter. Its full name is the component's path, a dot and `name`.
    pub fn add(&mut self, name: &str, total: u64) {
        if let Report::All(found, _) = &mut self.report {
            found.push((format!("{}.{name}", self.component), total));
        }
    }

    /// Adds a counter of busy cycles, and the resource that was busy.
    pub fn busy(&mut self, name: &str, cycles: u64, units: u64, limit: &str) {
        self.resource(name, cycles, units, limit, Use::Passes);
    }

    /// Adds a counter of things held, summed over cycles, and the resource that holds at most `units` of them.
    pub fn held(&mut self, name: &str, level: &Level, units: u64, limit: &str) {
        self.held_for(name, level.total(self.now + 1), units, limit);
    }

    /// The same, given the sum over all cycles up to the present one.
    pub fn held_for(&mut self, name: &str, cycles: u64, units: u64, limit: &str) {
        self.resource(name, cycles, units, limit, Use::Holds);
    }

    fn resource(&mut self, name: &str, cycles: u64, units: u64, limit: &str, does: Use) {
        match &mut self.report {
            Report::All(found, resources) => {
                let path = format!("{}.{name}", self.component);
                found.push((path.clone(), cycles));
                resources.push(Resource { path, limit: limit.to_owned(), busy: cycles, units, does });
            }
            Report::Loads(loads) => loads.push(cycles),
        }
    }
}

/// A shared component: its builder keeps a handle, to read its state between runs.
impl<C: Component> Component for std::rc::Rc<std::cell::RefCell<C>> {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.borrow_mut().tick(now)
    }

    fn tick_again(&mut self, now: Cycle) -> Activity {
        self.borrow_mut().tick_again(now)
    }

    fn ports(&self, ports: &mut Ports) {
        self.borrow().ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.borrow().counters(counters);
    }
}
