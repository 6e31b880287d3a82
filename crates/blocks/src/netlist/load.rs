//! Loads the files of a card into one [`Netlist`]: includes, base cards and `--set` values.

use super::changes::{self, split_copies};
use super::elaborate::SETTING;
use super::node::{Key, Node, Table, Value, kind};
use super::problem::{FilePlace, NetlistErrors, Problems, Source};
use super::text::{Body, File, InstanceText, ModuleText, Netlist, read_file};
use diagnostics::near::{listed, suggestion};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds a file. Arguments: the file to find and the file that refers to it. Returns its name and text, or an error.
pub type Finder<'a> = dyn Fn(&str, &str) -> Result<(String, String), String> + 'a;

/// Maximum number of keys in the path of a setting.
const DEEPEST_SETTING: usize = 16;
/// Maximum number of files of a card.
const MOST_FILES: usize = 64;

impl Netlist {
    /// Reads a card: `text` of `file`, with its includes and its base, then applies `settings`.
    ///
    /// A setting is a value with a key: a parameter's name, `clocks.NAME` or `INSTANCE.PARAMETER`, where the instance may be
    /// one inside a module, `cpu_a.core.stores`, or one copy of several, `cpu[2].stores`.
    pub fn read(
        file: &str,
        text: &str,
        settings: &[(String, toml::Value)],
        find: &Finder,
    ) -> Result<Netlist, NetlistErrors> {
        let mut loader = Loader { find, problems: Problems::default(), open: Vec::new(), n_files: 0 };
        let netlist = loader.load(file.to_owned(), text.to_owned()).map(|mut netlist| {
            settings.iter().for_each(|(key, value)| set(&mut netlist, key, value, &mut loader.problems));
            netlist
        });
        let netlist = loader.problems.in_files_order().into_result(netlist)?;
        Ok(netlist.expect("a file that could not be read is a problem"))
    }
}

struct Loader<'a> {
    find: &'a Finder<'a>,
    problems: Problems,
    /// Files that are being read, outermost first.
    open: Vec<String>,
    n_files: usize,
}

impl Loader<'_> {
    fn load(&mut self, name: String, text: String) -> Option<Netlist> {
        let source = Arc::new(Source { name, text });
        let table = Node::read(&source, &mut self.problems)?;
        let File { mut netlist, include, base, remove } =
            read_file(table, &FilePlace::new(&source, 0..0), &mut self.problems);
        self.open.push(source.name.clone());
        let mut included: BTreeMap<String, ModuleText> = BTreeMap::new();
        for node in include {
            let Some(other) = self.other(&node, "include") else { continue };
            for (name, module) in other.modules {
                let earlier = included.get(&name).filter(|earlier| earlier.key.place != module.key.place);
                if let Some(earlier) = earlier {
                    let (a, b) = (earlier.key.place.file(), module.key.place.file());
                    self.problems.add(
                        &node.place,
                        format!("both {a} and {b} have a module `{name}`, must be in one of them only"),
                    );
                }
                included.insert(name, module);
            }
        }
        match base {
            Some(node) => {
                let base = self.other(&node, "base");
                self.open.pop();
                let base = base?;
                Some(self.derive(base, netlist, included, &remove))
            }
            None => {
                self.open.pop();
                for node in &remove {
                    self.problems
                        .add(&node.place, "found `remove` without `base`, must have a `base` to remove parts from");
                }
                included.append(&mut netlist.modules);
                Some(Netlist { modules: included, ..netlist })
            }
        }
    }

    /// Loads the file that `node` names.
    fn other(&mut self, node: &Node, key: &str) -> Option<Netlist> {
        let Some(wanted) = node.text() else {
            self.problems
                .add(&node.place, format!("{key} is {}, must be the name of a file or of a preset", node.kind()));
            return None;
        };
        self.n_files += 1;
        if self.n_files > MOST_FILES {
            self.problems
                .add(&node.place, format!("the card has {} files, must be at most {MOST_FILES}", self.n_files));
            return None;
        }
        match (self.find)(wanted, node.place.file()) {
            Ok((name, _)) if self.open.contains(&name) => {
                let round = [&self.open[..], &[name]].concat().join(" -> ");
                self.problems.add(&node.place, format!("{key}: files include each other in a cycle: {round}"));
                None
            }
            Ok((name, text)) => self.load(name, text),
            Err(problem) => {
                self.problems.add(&node.place, format!("{key}: {problem}"));
                None
            }
        }
    }

    /// Applies the additions, changes and removals of a card to its base.
    fn derive(
        &mut self,
        mut base: Netlist,
        own: Netlist,
        included: BTreeMap<String, ModuleText>,
        remove: &[Node],
    ) -> Netlist {
        remove.iter().for_each(|node| self.remove(&mut base.body, node));
        over(&mut base.parameters, own.parameters);
        over(&mut base.clocks, own.clocks);
        for instance in own.body.instances {
            let old = base.body.instances.iter_mut().find(|old| old.key.name == instance.key.name);
            match old {
                Some(old) if instance.module.is_none() => change(old, instance, &base.modules),
                Some(old) => *old = instance,
                None => base.body.instances.push(instance),
            }
        }
        base.body.wires.extend(own.body.wires);
        base.modules.extend(included);
        base.modules.extend(own.modules);
        let inherit = |own: String, base: String| if own.is_empty() { base } else { own };
        Netlist { name: inherit(own.name, base.name), about: inherit(own.about, base.about), place: own.place, ..base }
    }

    /// Removes an instance with its connections, or the connections of a port.
    fn remove(&mut self, body: &mut Body, node: &Node) {
        let Some(wanted) = node.text().map(str::trim) else {
            let allowed = "the name of an instance, or a port such as \"cpu.memory\"";
            self.problems.add(&node.place, format!("remove has {}, must have {allowed}", node.kind()));
            return;
        };
        let before = body.instances.len() + body.wires.len();
        let names: Vec<String> = match wanted.contains('.') {
            false => {
                let names = body.instances.iter().map(|instance| instance.key.name.clone()).collect();
                body.instances.retain(|instance| instance.key.name != wanted);
                body.wires.retain(|wire| wire.from.instance.name != wanted && wire.to.instance.name != wanted);
                names
            }
            true => {
                let names = body.wires.iter().flat_map(|wire| [wire.from.text.clone(), wire.to.text.clone()]).collect();
                body.wires.retain(|wire| wire.from.text != wanted && wire.to.text != wanted);
                names
            }
        };
        if body.instances.len() + body.wires.len() == before {
            let what = if wanted.contains('.') { "connection at a port" } else { "instance" };
            let near = suggestion(wanted, names.iter().map(String::as_str));
            self.problems.add(&node.place, format!("remove: the base has no {what} `{wanted}`{near}"));
        }
    }
}

/// Overwrites `old` with `new`, key by key.
fn over(old: &mut Table, new: Table) {
    for (key, node) in new {
        match old.iter_mut().find(|(old, _)| old.name == key.name) {
            Some(entry) => *entry = (key, node),
            None => old.push((key, node)),
        }
    }
}

fn change(old: &mut InstanceText, new: InstanceText, modules: &BTreeMap<String, ModuleText>) {
    old.clock = new.clock.or(old.clock.take());
    old.count = new.count.or(old.count.take());
    changes::over(old, new.parameters, modules);
}

/// Applies one setting, as `--set` does.
fn set(netlist: &mut Netlist, key: &str, value: &toml::Value, problems: &mut Problems) {
    let text = format!("{key} = {value}");
    let source = Arc::new(Source { name: SETTING.to_owned(), text: text.clone() });
    let place = FilePlace::new(&source, 0..text.len());
    let node = node_of(value, &place);
    let n_keys = key.split('.').count();
    if n_keys > DEEPEST_SETTING {
        problems
            .add(&place, format!("the setting has {n_keys} keys separated by dots, must be at most {DEEPEST_SETTING}"));
        return;
    }
    match split_copies(key).split_once('.') {
        None => match netlist.parameters.iter_mut().find(|(old, _)| old.name == key) {
            Some((_, old)) => {
                if let (Value::Plain(old), Value::Plain(new)) = (&old.value, &node.value)
                    && !old.same_type(new)
                    && !old.as_str().is_some_and(|text| text.contains('$'))
                {
                    problems.add(
                        &place,
                        format!("parameter `{key}` is {}, must be {} such as {old}", kind(new), kind(old)),
                    );
                }
                *old = node;
            }
            None => {
                let known = || netlist.parameters.iter().map(|(key, _)| key.name.as_str());
                let text = format!("the card has no parameter `{key}`; its parameters: {}", listed(known()));
                let hint = "; set a clock as clocks.NAME and a parameter of an instance as INSTANCE.NAME";
                problems.add(&place, format!("{text}{}{hint}", suggestion(key, known())));
            }
        },
        Some(("clocks", clock)) => match netlist.clocks.iter_mut().find(|(old, _)| old.name == clock) {
            Some((_, old)) => *old = node,
            None => {
                let known = || netlist.clocks.iter().map(|(key, _)| key.name.as_str());
                let text = format!("the card has no clock `{clock}`; its clocks: {}", listed(known()));
                problems.add(&place, format!("{text}{}", suggestion(clock, known())));
            }
        },
        Some((instance, path)) => {
            let Some(found) = netlist.body.instances.iter_mut().find(|found| found.key.name == instance) else {
                let known = netlist.body.instances.iter().map(|found| found.key.name.as_str());
                let near = suggestion(instance, known);
                problems.add(&place, format!("the card has no instance `{instance}`{near}"));
                return;
            };
            match path {
                "clock" => found.clock = Some(node),
                "count" => found.count = Some(node),
                _ => set_at(&mut found.parameters, path, node, &place),
            }
        }
    }
}

/// Sets the value at a path of keys and creates missing tables.
fn set_at(table: &mut Table, path: &str, node: Node, place: &FilePlace) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let at = table.iter().position(|(key, _)| key.name == first).unwrap_or_else(|| {
        let key = Key { name: first.to_owned(), place: place.clone() };
        table.push((key, Node { place: place.clone(), value: Value::Table(Vec::new()) }));
        table.len() - 1
    });
    match (rest, &mut table[at].1.value) {
        (Some(rest), Value::Table(inner)) => set_at(inner, rest, node, place),
        (Some(rest), other) => {
            let mut inner = Vec::new();
            set_at(&mut inner, rest, node, place);
            *other = Value::Table(inner);
        }
        (None, _) => table[at].1 = node,
    }
}

fn node_of(value: &toml::Value, place: &FilePlace) -> Node {
    let value = match value {
        toml::Value::Array(list) => Value::List(list.iter().map(|value| node_of(value, place)).collect()),
        toml::Value::Table(table) => Value::Table(
            table
                .iter()
                .map(|(name, value)| (Key { name: name.clone(), place: place.clone() }, node_of(value, place)))
                .collect(),
        ),
        plain => Value::Plain(plain.clone()),
    };
    Node { place: place.clone(), value }
}
