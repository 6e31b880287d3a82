//! A card as written in its file, with names not yet resolved.

use super::endpoint::{Endpoint, parse_wire};
use super::expression::{Scope, evaluate};
use super::node::{Key, Node, Table, Value};
use super::problem::{FilePlace, Problems};
use diagnostics::near::{listed, suggestion};
use std::collections::BTreeMap;

/// A card as written: its own file, included files, and its base.
#[derive(Clone, Debug)]
pub struct Netlist {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) parameters: Table,
    pub(super) clocks: Table,
    pub(super) body: Body,
    pub(super) modules: BTreeMap<String, ModuleText>,
    /// The whole file.
    pub(super) place: FilePlace,
}

/// The parts and connections of a card or a module.
#[derive(Clone, Default, Debug)]
pub(super) struct Body {
    pub instances: Vec<InstanceText>,
    pub wires: Vec<WireText>,
}

/// An entry of `[instances]`.
#[derive(Clone, Debug)]
pub(super) struct InstanceText {
    pub key: Key,
    pub module: Option<Node>,
    pub clock: Option<Node>,
    pub count: Option<Node>,
    pub parameters: Table,
}

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct WireText {
    pub place: FilePlace,
    pub from: Endpoint,
    pub to: Endpoint,
    pub room: Option<Node>,
    pub latency: Option<Node>,
}

/// An entry of `[modules]`.
#[derive(Clone, Debug)]
pub(super) struct ModuleText {
    pub key: Key,
    pub parameters: Table,
    pub body: Body,
    pub ports: Vec<(Key, FilePlace, Endpoint)>,
}

/// The content of one file, before includes and base are merged.
pub(super) struct File {
    pub netlist: Netlist,
    pub include: Vec<Node>,
    pub base: Option<Node>,
    pub remove: Vec<Node>,
}

const CARD_KEYS: &[&str] =
    &["name", "about", "base", "include", "remove", "parameters", "clocks", "modules", "instances", "connections"];
const MODULE_KEYS: &[&str] = &["about", "parameters", "instances", "connections", "ports"];

/// Reads the keys of a file.
pub(super) fn read_file(table: Table, place: &FilePlace, problems: &mut Problems) -> File {
    let mut reader = Reader { problems };
    let mut fields = reader.fields(table, CARD_KEYS, "a card");
    let mut take = |key: &str| fields.remove(key);
    let netlist = Netlist {
        name: reader.text(take("name"), "name"),
        about: reader.text(take("about"), "about"),
        parameters: reader.parameters(take("parameters"), "parameters"),
        clocks: reader.named(take("clocks"), "clocks"),
        modules: reader.modules(take("modules")),
        body: Body {
            instances: reader.instances(take("instances"), "instances"),
            wires: reader.wires(take("connections"), "connections"),
        },
        place: place.clone(),
    };
    let include = reader.list(take("include"), "include");
    let remove = reader.list(take("remove"), "remove");
    File { netlist, include, base: take("base"), remove }
}

struct Reader<'a> {
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn wrong(&mut self, node: &Node, path: &str, allowed: &str) {
        self.problems.add(&node.place, format!("{path} is {}, must be {allowed}", node.kind()));
    }

    /// The values by key; keys not in `allowed` are errors.
    fn fields(&mut self, table: Table, allowed: &[&str], whose: &str) -> BTreeMap<String, Node> {
        let mut fields = BTreeMap::new();
        for (key, node) in table {
            if allowed.contains(&key.name.as_str()) {
                fields.insert(key.name, node);
                continue;
            }
            let near = suggestion(&key.name, allowed.iter().copied());
            let known = listed(allowed.iter().copied());
            self.problems.add(&key.place, format!("{whose} has no key `{}`; allowed: {known}{near}", key.name));
        }
        fields
    }

    fn text(&mut self, node: Option<Node>, path: &str) -> String {
        let Some(node) = node else { return String::new() };
        if node.text().is_none() {
            self.wrong(&node, path, "a text");
        }
        node.text().unwrap_or_default().to_owned()
    }

    fn list(&mut self, node: Option<Node>, path: &str) -> Vec<Node> {
        let Some(node) = node else { return Vec::new() };
        match node.list() {
            Some(list) => list.to_vec(),
            None => {
                self.wrong(&node, path, "a list");
                Vec::new()
            }
        }
    }

    /// A table with user-chosen keys.
    fn named(&mut self, node: Option<Node>, path: &str) -> Table {
        let Some(node) = node else { return Vec::new() };
        let Value::Table(table) = node.value else {
            self.wrong(&node, path, "a table");
            return Vec::new();
        };
        let is_name = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        };
        for (key, _) in table.iter().filter(|(key, _)| !is_name(&key.name)) {
            let text = format!("{path} has `{}`, must be a name of letters, digits, `_` and `-`", key.name);
            self.problems.add(&key.place, text);
        }
        table
    }

    fn parameters(&mut self, node: Option<Node>, path: &str) -> Table {
        let table = self.named(node, path);
        for (key, _) in table.iter().filter(|(key, _)| key.name.contains('-')) {
            let text = format!("{path} has `{}`, must be a name of letters, digits and `_`; `-` means minus", key.name);
            self.problems.add(&key.place, text);
        }
        table
    }

    fn instances(&mut self, node: Option<Node>, path: &str) -> Vec<InstanceText> {
        let mut found = Vec::new();
        for (key, node) in self.named(node, path) {
            let Value::Table(table) = node.value else {
                let lost = CARD_KEYS.contains(&key.name.as_str());
                let hint = if lost { "; keys of the card itself must come before its first [table]" } else { "" };
                let allowed = format!("a table such as {{ module = \"...\" }}{hint}");
                self.wrong(&node, &format!("{path}.{}", key.name), &allowed);
                continue;
            };
            let mut instance = InstanceText { key, module: None, clock: None, count: None, parameters: Vec::new() };
            for (key, node) in table {
                match key.name.as_str() {
                    "module" => instance.module = Some(node),
                    "clock" => instance.clock = Some(node),
                    "count" => instance.count = Some(node),
                    _ => instance.parameters.push((key, node)),
                }
            }
            found.push(instance);
        }
        found
    }

    /// A list of texts `"from -> to"`, or of groups of such texts with a room or latency of their own.
    fn wires(&mut self, node: Option<Node>, path: &str) -> Vec<WireText> {
        let mut found = Vec::new();
        for node in self.list(node, path) {
            match node.value {
                Value::Table(table) => {
                    let mut fields =
                        self.fields(table, &["wires", "room", "latency", "about"], "a group of connections");
                    let (room, latency) = (fields.remove("room"), fields.remove("latency"));
                    self.text(fields.remove("about"), "about");
                    if !fields.contains_key("wires") {
                        let text = "a group of connections needs `wires`, a list such as [\"cpu.memory -> sram.port\"]";
                        self.problems.add(&node.place, text);
                    }
                    for wire in self.list(fields.remove("wires"), "wires") {
                        found.extend(self.wire(&wire, &room, &latency));
                    }
                }
                _ => found.extend(self.wire(&node, &None, &None)),
            }
        }
        found
    }

    fn wire(&mut self, node: &Node, room: &Option<Node>, latency: &Option<Node>) -> Option<WireText> {
        let Some(text) = node.text() else {
            self.wrong(node, "a connection", "a text such as \"cpu.memory -> sram.port\"");
            return None;
        };
        match parse_wire(text) {
            Ok((from, to)) => {
                Some(WireText { place: node.place.clone(), from, to, room: room.clone(), latency: latency.clone() })
            }
            Err(problem) => {
                self.problems.add(&node.place, problem);
                None
            }
        }
    }

    fn modules(&mut self, node: Option<Node>) -> BTreeMap<String, ModuleText> {
        let mut found = BTreeMap::new();
        for (key, node) in self.named(node, "modules") {
            let path = format!("modules.{}", key.name);
            let Value::Table(table) = node.value else {
                self.wrong(&node, &path, "a table");
                continue;
            };
            let mut fields = self.fields(table, MODULE_KEYS, &format!("module `{}`", key.name));
            self.text(fields.remove("about"), "about");
            let module = ModuleText {
                parameters: self.parameters(fields.remove("parameters"), &format!("{path}.parameters")),
                body: Body {
                    instances: self.instances(fields.remove("instances"), &format!("{path}.instances")),
                    wires: self.wires(fields.remove("connections"), &format!("{path}.connections")),
                },
                ports: self.ports(fields.remove("ports"), &format!("{path}.ports")),
                key: key.clone(),
            };
            found.insert(key.name, module);
        }
        found
    }

    fn ports(&mut self, node: Option<Node>, path: &str) -> Vec<(Key, FilePlace, Endpoint)> {
        let mut found = Vec::new();
        for (key, node) in self.named(node, path) {
            match node.text().map(Endpoint::parse) {
                Some(Ok(inner)) => found.push((key, node.place, inner)),
                Some(Err(problem)) => self.problems.add(&node.place, problem),
                None => self.wrong(&node, &format!("{path}.{}", key.name), "a text such as \"cpu.memory\""),
            }
        }
        found
    }
}

/// The final values of parameters: those in `given`, otherwise the defaults, which may use the parameters above them.
pub(super) fn scope_of(defaults: &Table, given: &Scope, problems: &mut Problems) -> Scope {
    let mut scope = Scope::new();
    for (key, node) in defaults {
        let value = match given.get(&key.name) {
            Some(value) => value.clone(),
            None => evaluate(node, &scope).unwrap_or_else(|(node, problem)| {
                problems.add(&node.place, format!("parameter `{}`: {problem}", key.name));
                toml::Value::Integer(1)
            }),
        };
        scope.insert(key.name.clone(), value);
    }
    scope
}
