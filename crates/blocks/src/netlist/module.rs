//! Kinds of parts, by name.

use super::protocol::Protocol;
use diagnostics::near::{explain_serde_error, listed, suggestion};
use kernel::{ClockId, Component, Inlet, Rx, SystemBuilder, Time};
use serde::Serialize;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;

/// A kind of part. The implementing type holds the parameters of the `[instances.NAME]` table of a card.
pub trait Module: serde::de::DeserializeOwned + schemars::JsonSchema + 'static {
    /// Module name in a card's file: `module = "mac-transmit"`.
    const NAME: &'static str;
    /// Description in one sentence.
    const ABOUT: &'static str;
    /// TOML parameters of a typical instance, for the docs, which also list its ports. Empty if all parameters have
    /// defaults.
    const EXAMPLE: &'static str = "";

    /// The ports; they may depend on the parameters.
    fn ports(&self) -> Vec<PortSpec>;

    /// Checks what the types cannot express: `banks is 3, must be a power of two`.
    ///
    /// Must refuse values that would create thousands of ports or take gigabytes, because the file may be hostile.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Builds the component. The parameters have passed `check`, and every required port is connected.
    fn build(self, site: &mut Site) -> Built;
}

/// The side of an arrow on which a port stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PortSide {
    /// Left: it sends or requests.
    From,
    /// Right: it receives or responds.
    To,
}

type Join = fn(&mut SystemBuilder, &str, usize, u64) -> (Box<dyn Any>, Box<dyn Any>);

/// A port of a module.
#[derive(Clone, Debug, Serialize)]
pub struct PortSpec {
    /// Name within the module: `memory`, `inputs[2]`.
    pub name: String,
    /// Purpose in a few words; may be empty.
    pub about: &'static str,
    /// Name of its protocol.
    pub protocol: &'static str,
    /// Side of the arrow.
    pub side: PortSide,
    /// True if it may stay unconnected.
    pub is_optional: bool,
    #[serde(skip)]
    pub(super) join: Join,
}

impl PortSpec {
    /// A port on the left of an arrow.
    pub fn from<P: Protocol>(name: impl Into<String>) -> PortSpec {
        PortSpec::new::<P>(name.into(), PortSide::From)
    }

    /// A port on the right of an arrow.
    pub fn to<P: Protocol>(name: impl Into<String>) -> PortSpec {
        PortSpec::new::<P>(name.into(), PortSide::To)
    }

    /// Makes the port optional.
    pub fn optional(self) -> PortSpec {
        PortSpec { is_optional: true, ..self }
    }

    /// Sets the description.
    pub fn about(self, about: &'static str) -> PortSpec {
        PortSpec { about, ..self }
    }

    fn new<P: Protocol>(name: String, side: PortSide) -> PortSpec {
        let join: Join = |system, name, room, latency| {
            let (from, to) = P::join(system, name, room, latency);
            (Box::new(from), Box::new(to))
        };
        PortSpec { name, about: "", protocol: P::NAME, side, is_optional: false, join }
    }
}

/// The surroundings of a component that is being built.
pub struct Site<'a> {
    /// Path of the component.
    pub path: &'a str,
    /// Clock of the component.
    pub clock: ClockId,
    /// The system, for random streams, tracers and clocks.
    pub system: &'a mut SystemBuilder,
    /// Objects that the run provides.
    pub environment: &'a Environment,
    pub(super) ends: HashMap<String, Box<dyn Any>>,
}

impl Site<'_> {
    /// The channel by which the run announces skipped idle time; see [`crate::feeders::Schedule`].
    pub fn skips(&mut self) -> (Inlet<Time>, Rx<Time>) {
        self.system.inlet(&format!("{}.skips", self.path), self.clock)
    }

    /// The connection at a port on the left of an arrow.
    ///
    /// # Panics
    ///
    /// If the module did not declare this port, which is a bug in the module.
    pub fn from<P: Protocol>(&mut self, port: &str) -> P::From {
        self.try_from::<P>(port).unwrap_or_else(|| panic!("{}: port {port} is not connected", self.path))
    }

    /// The connection at a port on the right of an arrow.
    ///
    /// # Panics
    ///
    /// If the module did not declare this port, which is a bug in the module.
    pub fn to<P: Protocol>(&mut self, port: &str) -> P::To {
        self.try_to::<P>(port).unwrap_or_else(|| panic!("{}: port {port} is not connected", self.path))
    }

    /// The connection at an optional port on the left of an arrow.
    pub fn try_from<P: Protocol>(&mut self, port: &str) -> Option<P::From> {
        self.end(port)
    }

    /// The connection at an optional port on the right of an arrow.
    pub fn try_to<P: Protocol>(&mut self, port: &str) -> Option<P::To> {
        self.end(port)
    }

    fn end<E: 'static>(&mut self, port: &str) -> Option<E> {
        let end = self.ends.remove(port)?;
        Some(*end.downcast().unwrap_or_else(|_| panic!("{}: port {port} speaks something else", self.path)))
    }
}

/// A component, and a handle through which the run reads it.
pub struct Built {
    pub(super) component: Box<dyn Component>,
    pub(super) handle: Rc<dyn Any>,
}

impl Built {
    /// Makes a component that the run can access by path and type while the simulation is paused.
    pub fn new<C: Component + 'static>(component: C) -> Built {
        let shared = Rc::new(RefCell::new(component));
        Built { component: Box::new(shared.clone()), handle: shared }
    }
}

/// Objects that a run provides to parts: traffic, firmware, places for results. At most one object of each type.
#[derive(Default)]
pub struct Environment(HashMap<TypeId, Rc<dyn Any>>);

impl Environment {
    /// Adds an object.
    pub fn insert<T: 'static>(&mut self, thing: Rc<T>) {
        self.0.insert(TypeId::of::<T>(), thing);
    }

    /// The object of this type.
    pub fn get<T: 'static>(&self) -> Option<Rc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }
}

/// A kind of part with its parameter type erased.
#[derive(Clone)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// TOML parameters of a typical instance.
    pub example: &'static str,
    /// JSON schema of its parameters.
    pub schema: fn() -> schemars::Schema,
    /// The ports with these parameters, or an error.
    pub ports: fn(&toml::Table) -> Result<Vec<PortSpec>, ParameterProblem>,
    pub(super) build: fn(&toml::Table, &mut Site) -> Built,
}

/// An error in a module's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterProblem {
    /// Path of the key, as far as known: `cache.line_bytes`.
    pub key: String,
    /// True if the module has no such key.
    pub is_unknown: bool,
    /// The value found and the values allowed.
    pub text: String,
}

impl ParameterProblem {
    /// Translates an error of serde.
    fn of_types(error: &toml::de::Error) -> ParameterProblem {
        let message = error.to_string();
        let path = message.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`')).unwrap_or_default();
        let message = error.message();
        let mut quoted = message.split('`').skip(1).step_by(2);
        let named = quoted.next().unwrap_or_default();
        let inner = if path.is_empty() { String::new() } else { format!("{path}: ") };
        let full = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if message.starts_with("unknown field") {
            let known: Vec<&str> = quoted.collect();
            let near = suggestion(named, known.iter().copied());
            let text = format!("{inner}there is no parameter `{named}`; its parameters: {}{near}", listed(known));
            return ParameterProblem { key: full(named), is_unknown: true, text };
        }
        if message.starts_with("missing field") {
            return ParameterProblem {
                key: path.to_owned(),
                is_unknown: false,
                text: format!("{inner}parameter `{named}` is missing"),
            };
        }
        ParameterProblem {
            key: path.to_owned(),
            is_unknown: false,
            text: format!("{inner}{}", explain_serde_error(message)),
        }
    }

    /// An error of a module's `check`; by convention its first word is the parameter.
    fn of_check(text: String) -> ParameterProblem {
        let key = text.split([' ', ':', '[']).next().unwrap_or_default().trim_matches('`').to_owned();
        ParameterProblem { key, is_unknown: false, text }
    }
}

impl Kind {
    fn of<M: Module>() -> Kind {
        fn read<M: Module>(parameters: &toml::Table) -> Result<M, ParameterProblem> {
            let module: M = parameters.clone().try_into().map_err(|error| ParameterProblem::of_types(&error))?;
            module.check().map_err(ParameterProblem::of_check)?;
            Ok(module)
        }
        Kind {
            name: M::NAME,
            about: M::ABOUT,
            example: M::EXAMPLE,
            schema: || schemars::schema_for!(M),
            ports: |parameters| Ok(read::<M>(parameters)?.ports()),
            build: |parameters, site| read::<M>(parameters).expect("the parameters were checked").build(site),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The kinds of parts that a card's file may name.
#[derive(Clone, Default)]
pub struct Catalog(BTreeMap<&'static str, Kind>);

impl Catalog {
    /// Adds a kind.
    pub fn with<M: Module>(mut self) -> Catalog {
        let old = self.0.insert(M::NAME, Kind::of::<M>());
        assert!(old.is_none(), "two modules are called {}", M::NAME);
        self
    }

    /// The kind of this name.
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.0.get(name)
    }

    /// All kinds, by name.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.0.values()
    }
}
