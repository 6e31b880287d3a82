//! What a part of the simulated machine has to offer the kernel.

use crate::channel::{Endpoint, Rx, Tx};
use crate::time::Cycle;
use crate::wiring::WiringError;

/// What a component will do next, as it says at the end of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Tick me at the next edge.
    Busy,
    /// Nothing to do before this cycle, unless a port changes.
    Until(Cycle),
    /// Nothing to do until a port changes: another tick before that would change nothing.
    Idle,
}

/// A part of the machine: it owns its state and meets others only at its ports.
pub trait Component {
    /// Lives through edge `now` of its clock.
    fn tick(&mut self, now: Cycle) -> Activity;

    /// Names each port to the kernel, which wires it.
    fn ports(&self, ports: &mut Ports);

    /// Names each counter and its total.
    fn counters(&self, _counters: &mut CounterList) {}
}

/// Which way a port faces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The component reads from it.
    Input,
    /// The component writes to it.
    Output,
}

/// A port, as drawings and errors name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Path of the component and name of the port: `nic.mpq.hers`.
    pub path: String,
    /// Which way it faces.
    pub direction: Direction,
    /// Name of the channel it is attached to.
    pub channel: String,
    /// The type that the channel carries.
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

/// Counters of a component, as they are read for a report.
pub struct CounterList<'a> {
    pub(crate) component: &'a str,
    pub(crate) found: &'a mut Vec<(String, u64)>,
}

impl CounterList<'_> {
    /// One counter; its full name is the component's path, a dot and `name`.
    pub fn add(&mut self, name: &str, total: u64) {
        self.found.push((format!("{}.{name}", self.component), total));
    }
}

/// A component on which its builder keeps a handle, to look at it between runs.
impl<C: Component> Component for std::rc::Rc<std::cell::RefCell<C>> {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.borrow_mut().tick(now)
    }

    fn ports(&self, ports: &mut Ports) {
        self.borrow().ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.borrow().counters(counters);
    }
}

impl Component for Box<dyn Component> {
    fn tick(&mut self, now: Cycle) -> Activity {
        (**self).tick(now)
    }

    fn ports(&self, ports: &mut Ports) {
        (**self).ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        (**self).counters(counters);
    }
}
