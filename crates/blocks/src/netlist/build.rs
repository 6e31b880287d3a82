//! From data to a running system.

use super::module::{Catalog, Environment, PortSpec, Side, Site};
use super::text::Netlist;
use kernel::{ClockId, System, SystemBuilder, WiringError};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A card that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum NetlistError {
    #[error("instances.{instance}: there is no module `{module}`")]
    Module { instance: String, module: String },
    #[error("instances.{instance}: there is no clock `{clock}`")]
    Clock { instance: String, clock: String },
    #[error("instances.{instance}: {message}")]
    Parameters { instance: String, message: String },
    #[error("connection `{from} -> {to}`: there is no port `{port}`")]
    Port { from: String, to: String, port: String },
    #[error("connection `{from} -> {to}`: `{port}` is a {protocol} port, `{other}` a {other_protocol} port")]
    Protocol {
        from: String,
        to: String,
        port: String,
        protocol: &'static str,
        other: String,
        other_protocol: &'static str,
    },
    #[error("connection `{from} -> {to}`: `{port}` stands on the other side of an arrow")]
    Side { from: String, to: String, port: String },
    #[error("`{port}` is connected twice")]
    Twice { port: String },
    #[error("`{port}`, a {protocol} port, is not connected")]
    Dangling { port: String, protocol: &'static str },
    #[error(transparent)]
    Wiring(#[from] WiringError),
}

/// A running card.
pub struct Card {
    /// Its parts and their time.
    pub system: System,
    clocks: BTreeMap<String, ClockId>,
    handles: BTreeMap<String, Rc<dyn Any>>,
}

impl Card {
    /// Builds `netlist` from the parts of `catalog`.
    pub fn build(
        netlist: &Netlist,
        catalog: &Catalog,
        seed: u64,
        environment: &Environment,
    ) -> Result<Card, NetlistError> {
        let mut system = SystemBuilder::new(seed);
        let clocks: BTreeMap<String, ClockId> =
            netlist.clocks.iter().map(|(name, freq)| (name.clone(), system.clock(freq.0))).collect();
        let ports = ports(netlist, catalog)?;
        let mut ends: HashMap<String, HashMap<String, Box<dyn Any>>> = HashMap::new();
        for connection in &netlist.connections {
            let (from, to) = (connection.from.clone(), connection.to.clone());
            let find = |port: &str| {
                let missing = || NetlistError::Port { from: from.clone(), to: to.clone(), port: port.to_owned() };
                ports.get(port).cloned().ok_or_else(missing)
            };
            let (left, right) = (find(&from)?, find(&to)?);
            for (spec, port, side) in [(&left, &from, Side::From), (&right, &to, Side::To)] {
                if spec.side != side {
                    return Err(NetlistError::Side { from: from.clone(), to: to.clone(), port: port.clone() });
                }
            }
            if left.protocol != right.protocol {
                let (protocol, other_protocol) = (left.protocol, right.protocol);
                return Err(NetlistError::Protocol {
                    port: from.clone(),
                    other: to.clone(),
                    from,
                    to,
                    protocol,
                    other_protocol,
                });
            }
            let name = format!("{from} -> {to}");
            let (a, b) = (left.join)(&mut system, &name, connection.room, connection.latency);
            for (port, end) in [(from, a), (to, b)] {
                let (instance, name) = port.split_once('.').expect("a known port has an instance");
                let old = ends.entry(instance.to_owned()).or_default().insert(name.to_owned(), end);
                if old.is_some() {
                    return Err(NetlistError::Twice { port });
                }
            }
        }
        for (port, spec) in &ports {
            let (instance, name) = port.split_once('.').expect("a known port has an instance");
            if !spec.is_optional && !ends.get(instance).is_some_and(|ends| ends.contains_key(name)) {
                return Err(NetlistError::Dangling { port: port.clone(), protocol: spec.protocol });
            }
        }
        let mut handles = BTreeMap::new();
        for (path, instance) in &netlist.instances {
            let clock = *clocks
                .get(&instance.clock)
                .ok_or_else(|| NetlistError::Clock { instance: path.clone(), clock: instance.clock.clone() })?;
            let kind = catalog.get(&instance.module).expect("its ports are known");
            let ends = ends.remove(path).unwrap_or_default();
            let mut site = Site { path, clock, system: &mut system, environment, ends };
            let built = (kind.build)(&instance.parameters, &mut site);
            system.add(path, clock, built.component);
            handles.insert(path.clone(), built.handle);
        }
        Ok(Card { system: system.build()?, clocks, handles })
    }

    /// The part at `path`, if it is of this type.
    pub fn part<C: 'static>(&self, path: &str) -> Option<Rc<RefCell<C>>> {
        self.handles.get(path)?.clone().downcast().ok()
    }

    /// All parts of this type, by path.
    pub fn parts<C: 'static>(&self) -> Vec<(&str, Rc<RefCell<C>>)> {
        self.handles
            .iter()
            .filter_map(|(path, handle)| Some((path.as_str(), handle.clone().downcast().ok()?)))
            .collect()
    }

    /// The clock of this name.
    pub fn clock(&self, name: &str) -> Option<ClockId> {
        self.clocks.get(name).copied()
    }
}

/// All ports of all instances, by path.
fn ports(netlist: &Netlist, catalog: &Catalog) -> Result<BTreeMap<String, PortSpec>, NetlistError> {
    let mut found = BTreeMap::new();
    for (path, instance) in &netlist.instances {
        let kind = catalog
            .get(&instance.module)
            .ok_or_else(|| NetlistError::Module { instance: path.clone(), module: instance.module.clone() })?;
        let specs = (kind.ports)(&instance.parameters)
            .map_err(|message| NetlistError::Parameters { instance: path.clone(), message })?;
        found.extend(specs.into_iter().map(|spec| (format!("{path}.{}", spec.name), spec)));
    }
    Ok(found)
}
