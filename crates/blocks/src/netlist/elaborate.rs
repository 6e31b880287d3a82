//! Elaboration: opens modules, evaluates parameters and creates parts.

use super::changes;
use super::clock::ClockFreq;
use super::connect::Wiring;
use super::design::{Design, DesignPart, Group, PortId};
use super::endpoint::Endpoint;
use super::expression::{Scope, evaluate};
use super::module::Catalog;
use super::node::{Node, Table, kind};
use super::problem::{FilePlace, NetlistErrors, Problems};
use super::text::{Body, InstanceText, ModuleText, Netlist, scope_of};
use diagnostics::near::{listed, suggestion};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the file of a setting.
pub(super) const SETTING: &str = "set";
/// Maximum number of parts and module instances of a card.
const MOST_PARTS: usize = 10_000;
/// Maximum number of ports of all parts.
const MOST_PORTS: usize = 100_000;
/// Maximum nesting depth of modules.
const DEEPEST: usize = 32;

impl Netlist {
    /// Looks everything up in `catalog` and checks it.
    pub fn design(&self, catalog: &Catalog) -> Result<Design, NetlistErrors> {
        let mut problems = Problems::default();
        if self.name.is_empty() {
            problems.add(&self.place, "the card has no `name`, must be a text such as name = \"my card\"");
        }
        for module in self.modules.values().filter(|module| catalog.get(&module.key.name).is_some()) {
            let name = &module.key.name;
            problems.add(
                &module.key.place,
                format!("modules.{name}: `{name}` is a module of the library, must be another name"),
            );
        }
        let parameters = scope_of(&self.parameters, &Scope::new(), &mut problems);
        let clocks = self.clocks(&parameters, &mut problems);
        let wiring = Wiring::default();
        let (parts, groups, open, used) = Default::default();
        let mut work = Elaboration {
            netlist: self,
            catalog,
            problems,
            clocks,
            parts,
            groups,
            wiring,
            open,
            used,
            n_ports: 0,
            is_full: false,
        };
        let outer = Enclosing { scope: &parameters, path: "", clock: work.only_clock(), changes: &Table::new() };
        work.body(&self.body, &outer);
        let (parts, wiring) = (std::mem::take(&mut work.parts), std::mem::take(&mut work.wiring));
        let groups = std::mem::take(&mut work.groups);
        work.elaborate_unused();
        let Elaboration { clocks, mut problems, is_full, .. } = work;
        let connections = wiring.finish(&parts, is_full, &mut problems);
        self.report_unused(&parts, &mut problems);
        let (name, about) = (self.name.clone(), self.about.clone());
        problems.into_result(Design { name, about, parameters, clocks, parts, groups, connections })
    }

    fn clocks(&self, parameters: &Scope, problems: &mut Problems) -> BTreeMap<String, ClockFreq> {
        let mut clocks = BTreeMap::new();
        for (key, node) in &self.clocks {
            let freq =
                evaluate(node, parameters).map_err(|(_, problem)| problem).and_then(|value| match value.as_str() {
                    Some(text) => ClockFreq::try_from(text),
                    None => Err(format!("it is {}, must be a text such as \"88 MHz\"", kind(&value))),
                });
            match freq {
                Ok(freq) => drop(clocks.insert(key.name.clone(), freq)),
                Err(problem) => {
                    problems.add(&node.place, format!("clocks.{}: {problem}", key.name));
                    // Keep the name, so that its users do not report a missing clock.
                    clocks.insert(key.name.clone(), ClockFreq::default());
                }
            }
        }
        clocks
    }
}

/// The context of instances: a card or an enclosing module.
pub(super) struct Enclosing<'a> {
    pub scope: &'a Scope,
    /// Path of the enclosing instance followed by a dot, or empty.
    pub path: &'a str,
    /// Clock of instances that do not name one.
    pub clock: Option<String>,
    /// Changes of parameters of these instances, by name.
    pub changes: &'a Table,
}

/// The parts of an entry of `[instances]`.
pub(super) struct Instance {
    /// One, or `count` many; empty if the entry has an error.
    pub items: Vec<Item>,
    pub is_array: bool,
}

/// A part or a composed module, as its surroundings see it.
pub(super) struct Item {
    pub path: String,
    pub module: String,
    /// Its ports; `None` if it has an error.
    pub ports: Option<BTreeMap<String, PortId>>,
}

pub(super) struct Elaboration<'a> {
    netlist: &'a Netlist,
    catalog: &'a Catalog,
    pub problems: Problems,
    clocks: BTreeMap<String, ClockFreq>,
    pub parts: Vec<DesignPart>,
    groups: Vec<Group>,
    pub wiring: Wiring,
    /// Modules whose bodies are being elaborated.
    open: Vec<&'a str>,
    used: BTreeSet<&'a str>,
    n_ports: usize,
    is_full: bool,
}

impl<'a> Elaboration<'a> {
    fn only_clock(&self) -> Option<String> {
        if self.clocks.len() == 1 { self.clocks.keys().next().cloned() } else { None }
    }

    /// Creates the parts of a card or a module and connects them. Returns its instances by name.
    fn body(&mut self, body: &'a Body, enclosing: &Enclosing) -> BTreeMap<&'a str, Instance> {
        let mut instances = BTreeMap::new();
        for text in &body.instances {
            let instance = self.instance(text, enclosing).unwrap_or(Instance { items: Vec::new(), is_array: false });
            instances.insert(text.key.name.as_str(), instance);
        }
        for wire in &body.wires {
            self.wire(wire, &instances, enclosing.scope);
        }
        instances
    }

    fn instance(&mut self, text: &'a InstanceText, enclosing: &Enclosing) -> Option<Instance> {
        let name = &text.key.name;
        let Some(module) = text.module.as_ref().and_then(|node| self.text(node, "module", enclosing.scope)) else {
            if text.module.is_none() {
                self.problems.add(&text.key.place, format!("instance `{name}` has no `module`, must be the name of a module; `spinet nic modules` lists them"));
            }
            return None;
        };
        let count = match &text.count {
            None => 1,
            Some(node) => self.whole_number(node, "count", 0..=MOST_PARTS as u64, enclosing.scope)?,
        };
        let is_array = text.count.is_some();
        let mut items = Vec::new();
        for index in 0..count {
            if self.is_full {
                break;
            }
            let mut scope = enclosing.scope.clone();
            let path = match is_array {
                true => {
                    scope.insert("index".to_owned(), toml::Value::Integer(index as i64));
                    format!("{}{name}[{index}]", enclosing.path)
                }
                false => format!("{}{name}", enclosing.path),
            };
            let enclosing = Enclosing { scope: &scope, clock: enclosing.clock.clone(), ..*enclosing };
            let parameters = changes::parameters(text, enclosing.changes, is_array.then_some(index));
            items.push(self.item(text, parameters, &module, path, &enclosing));
        }
        self.check_copies(text, enclosing.changes, is_array.then_some(count));
        Some(Instance { items, is_array })
    }

    /// Reports changes of copies that do not exist; `count` is the number of copies of an array.
    fn check_copies(&mut self, text: &InstanceText, changes: &Table, count: Option<u64>) {
        let name = &text.key.name;
        for (number, key) in changes::copies(text, changes) {
            let problem = match count {
                Some(count) if number < count => continue,
                Some(count) => {
                    format!("there is no copy `{name}[{number}]`; `{name}` has {count} copies, from `{name}[0]` on")
                }
                None => format!("there is no copy `{name}[{number}]`; `{name}` has no `count`"),
            };
            self.problems.add(&key.place, problem);
        }
    }

    fn item(
        &mut self,
        text: &'a InstanceText,
        parameters: Table,
        module: &str,
        path: String,
        enclosing: &Enclosing,
    ) -> Item {
        let inner = self.netlist.modules.get(module);
        let (parameters, changes) = match inner {
            Some(inner) => changes::of_module(inner, parameters),
            None => (parameters, Table::new()),
        };
        let mut given = Scope::new();
        let mut is_sound = true;
        for (key, node) in &parameters {
            match evaluate(node, enclosing.scope) {
                Ok(value) => drop(given.insert(key.name.clone(), value)),
                Err((node, problem)) => {
                    self.problems.add(&node.place, format!("`{}` of `{}`: {problem}", key.name, text.key.name));
                    is_sound = false;
                }
            }
        }
        let clock = match &text.clock {
            Some(node) => self.text(node, "clock", enclosing.scope).map(|clock| (clock, node.place.clone())),
            None => enclosing.clock.clone().map(|clock| (clock, text.key.place.clone())),
        };
        let item = |ports| Item { path: path.clone(), module: module.to_owned(), ports };
        if !is_sound {
            return item(None);
        }
        if self.parts.len() + self.groups.len() >= MOST_PARTS {
            self.is_full = true;
            self.problems.add(
                &text.key.place,
                format!("the card has more than {MOST_PARTS} parts, must be at most {MOST_PARTS}"),
            );
            return item(None);
        }
        let clock_name = || clock.as_ref().map(|(clock, _)| clock.clone());
        let ports = match inner {
            Some(inner) => self.group(text, inner, (&parameters, given, &changes), &path, clock_name()),
            None => self.part(text, module, (&parameters, given), &path, clock),
        };
        item(ports)
    }

    /// A part: a module of the library.
    fn part(
        &mut self,
        text: &InstanceText,
        module: &str,
        (written, parameters): (&Table, Scope),
        path: &str,
        clock: Option<(String, FilePlace)>,
    ) -> Option<BTreeMap<String, PortId>> {
        let Some(kind) = self.catalog.get(module) else {
            let known =
                || self.catalog.kinds().map(|kind| kind.name).chain(self.netlist.modules.keys().map(String::as_str));
            let near = suggestion(module, known());
            let place = text.module.as_ref().map_or(&text.key.place, |node| &node.place);
            let hint = if near.is_empty() { "; `spinet nic modules` lists them" } else { "" };
            self.problems.add(place, format!("there is no module `{module}`{near}{hint}"));
            return None;
        };
        let clocks = || self.clocks.keys().map(String::as_str);
        match &clock {
            None => {
                let text_of = format!("`{path}` needs a `clock`; the card's clocks: {}", listed(clocks()));
                self.problems.add(&text.key.place, text_of);
            }
            Some((clock, place)) if !self.clocks.contains_key(clock) => {
                let near = suggestion(clock, clocks());
                let text_of =
                    format!("`{path}`: there is no clock `{clock}`; the card's clocks: {}{near}", listed(clocks()));
                self.problems.add(place, text_of);
            }
            Some(_) => {}
        }
        let table: toml::Table = parameters.clone().into_iter().collect();
        let ports = match (kind.ports)(&table) {
            Ok(ports) => ports,
            Err(problem) => {
                // The key that the problem names, if present, is a better place than the instance.
                let first = problem.key.split('.').next().unwrap_or_default();
                let named = written.iter().find(|(key, _)| !first.is_empty() && key.name == first);
                // If the problem also names a setting, that setting is the cause: the file is correct without it.
                let mentioned =
                    |key: &str| problem.text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == key);
                let set = written.iter().find(|(key, node)| node.place.file() == SETTING && mentioned(&key.name));
                let named = set.or(named);
                let place = match named {
                    Some((key, _)) if problem.is_unknown => &key.place,
                    Some((_, node)) => &node.place,
                    None => &text.key.place,
                };
                self.problems.add(place, format!("`{}` ({module}): {}", text.key.name, problem.text));
                return None;
            }
        };
        self.n_ports += ports.len();
        if self.n_ports > MOST_PORTS {
            self.is_full = true;
            self.problems.add(
                &text.key.place,
                format!("the parts of the card have {} ports, must be at most {MOST_PORTS}", self.n_ports),
            );
            return None;
        }
        let part = self.parts.len();
        let found = ports.iter().enumerate().map(|(port, spec)| (spec.name.clone(), PortId { part, port })).collect();
        let clock = clock.map_or_else(String::new, |(clock, _)| clock);
        let (path, place) = (path.to_owned(), text.key.place.clone());
        self.parts.push(DesignPart { path, module: kind.name, clock, parameters, ports, kind: kind.clone(), place });
        Some(found)
    }

    /// A composed module: its parts, and the ports that it exposes.
    fn group(
        &mut self,
        text: &InstanceText,
        module: &'a ModuleText,
        (written, given, changes): (&Table, Scope, &Table),
        path: &str,
        clock: Option<String>,
    ) -> Option<BTreeMap<String, PortId>> {
        let name = module.key.name.as_str();
        if self.open.contains(&name) || self.open.len() >= DEEPEST {
            let problem = match self.open.iter().position(|open| *open == name) {
                Some(at) => {
                    format!("a module cannot contain itself: {}", [&self.open[at..], &[name]].concat().join(" -> "))
                }
                None => format!("modules are nested {} deep, must be at most {DEEPEST}", self.open.len() + 1),
            };
            self.problems.add(&text.key.place, problem);
            return None;
        }
        for (key, _) in
            written.iter().filter(|(key, _)| !module.parameters.iter().any(|(known, _)| known.name == key.name))
        {
            let known = || module.parameters.iter().map(|(key, _)| key.name.as_str());
            let inner = || module.body.instances.iter().map(|inner| inner.key.name.as_str());
            let near = suggestion(&key.name, known().chain(inner()));
            let problem = format!(
                "module `{name}` has no parameter `{}`; its parameters: {}; its instances: {}{near}",
                key.name,
                listed(known()),
                listed(inner())
            );
            self.problems.add(&key.place, problem);
        }
        self.used.insert(name);
        self.open.push(name);
        let scope = scope_of(&module.parameters, &given, &mut self.problems);
        let at = self.groups.len();
        self.groups.push(Group { path: path.to_owned(), module: name.to_owned(), ports: BTreeMap::new() });
        let inner = format!("{path}.");
        let instances = self.body(&module.body, &Enclosing { scope: &scope, path: &inner, clock, changes });
        self.open.pop();
        if instances.values().flat_map(|inner| &inner.items).any(|inner| inner.ports.is_none()) {
            return None; // The error is reported; missing ports only follow from it.
        }
        let mut ports = BTreeMap::new();
        for (key, place, endpoint) in &module.ports {
            let shown = self.shown(&key.name, endpoint, &instances, &scope, place);
            ports.extend(shown);
        }
        self.groups[at].ports =
            ports.iter().map(|(name, id)| (name.clone(), Design::path_of(&self.parts, *id))).collect();
        Some(ports)
    }

    /// The inner ports that a module exposes under `name`.
    fn shown(
        &mut self,
        name: &str,
        inner: &Endpoint,
        instances: &BTreeMap<&str, Instance>,
        scope: &Scope,
        place: &FilePlace,
    ) -> Vec<(String, PortId)> {
        let Some(resolved) = self.resolve(inner, instances, scope, place) else { return Vec::new() };
        match resolved.is_list {
            true => resolved.ports.into_iter().enumerate().map(|(i, id)| (format!("{name}[{i}]"), id)).collect(),
            false => resolved.ports.into_iter().map(|id| (name.to_owned(), id)).collect(),
        }
    }

    /// Elaborates unused modules with their defaults, to report errors in them.
    fn elaborate_unused(&mut self) {
        for module in self.netlist.modules.values() {
            if !self.used.contains(module.key.name.as_str()) {
                self.n_ports = 0;
                let clock = self.clocks.keys().next().cloned().or(Some(String::new()));
                let key = module.key.clone();
                let text = InstanceText { key, module: None, clock: None, count: None, parameters: Vec::new() };
                self.group(&text, module, (&Table::new(), Scope::new(), &Table::new()), &module.key.name, clock);
                self.parts.clear();
                self.groups.clear();
                self.wiring = Wiring::default();
            }
        }
    }

    fn text(&mut self, node: &Node, what: &str, scope: &Scope) -> Option<String> {
        match evaluate(node, scope) {
            Ok(toml::Value::String(text)) => return Some(text),
            Ok(other) => self.problems.add(&node.place, format!("{what} is {}, must be a text", kind(&other))),
            Err((node, problem)) => self.problems.add(&node.place, format!("{what}: {problem}")),
        }
        None
    }

    pub fn whole_number(
        &mut self,
        node: &Node,
        what: &str,
        allowed: std::ops::RangeInclusive<u64>,
        scope: &Scope,
    ) -> Option<u64> {
        let found = match evaluate(node, scope) {
            Ok(toml::Value::Integer(number)) if u64::try_from(number).is_ok_and(|number| allowed.contains(&number)) => {
                return Some(number as u64);
            }
            Ok(other) => other.to_string(),
            Err((node, problem)) => {
                self.problems.add(&node.place, format!("{what}: {problem}"));
                return None;
            }
        };
        let why = match (what, found.as_str()) {
            ("latency", "0") => {
                "; what is sent at an edge is seen at a later one: without latency, parts that are connected in a circle \
                 would wait for each other within the edge"
            }
            _ => "",
        };
        let (least, most) = (allowed.start(), allowed.end());
        self.problems.add(&node.place, format!("{what} is {found}, must be {least} to {most}{why}"));
        None
    }
}
