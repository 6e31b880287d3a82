//! Builds a running card from a design.

use super::design::Design;
use super::module::{Environment, Site};
use kernel::{ClockId, System, SystemBuilder};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A running card.
pub struct Card {
    /// The simulated system.
    pub system: System,
    clocks: BTreeMap<String, ClockId>,
    handles: BTreeMap<String, Rc<dyn Any>>,
}

impl Card {
    /// Builds `design`.
    ///
    /// # Panics
    ///
    /// If a module does not use the ports that it declared, which is a bug in the module.
    pub fn build(design: &Design, seed: u64, environment: &Environment) -> Card {
        let mut system = SystemBuilder::new(seed);
        let clocks: BTreeMap<String, ClockId> =
            design.clocks.iter().map(|(name, freq)| (name.clone(), system.clock(freq.freq()))).collect();
        let mut ends: Vec<HashMap<String, Box<dyn Any>>> = design.parts.iter().map(|_| HashMap::new()).collect();
        for connection in &design.connections {
            let [from, to] = connection.ends;
            let spec = &design.parts[from.part].ports[from.port];
            let name = format!("{} -> {}", connection.from, connection.to);
            let (left, right) = (spec.join)(&mut system, &name, connection.room, connection.latency);
            for (id, end) in [(from, left), (to, right)] {
                ends[id.part].insert(design.parts[id.part].ports[id.port].name.clone(), end);
            }
        }
        let mut handles = BTreeMap::new();
        for (part, ends) in design.parts.iter().zip(ends) {
            let clock = clocks[&part.clock];
            let mut site = Site { path: &part.path, clock, system: &mut system, environment, ends };
            let table = part.parameters.clone().into_iter().collect();
            let built = (part.kind.build)(&table, &mut site);
            system.add_boxed(&part.path, clock, built.component);
            handles.insert(part.path.clone(), built.handle);
        }
        let system = system.build().unwrap_or_else(|error| panic!("a checked design is wired: {error}"));
        Card { system, clocks, handles }
    }

    /// The part at `path`, if it has this type.
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
