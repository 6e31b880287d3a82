//! Changes of instances inside modules and of single copies: `cpu_a.core.memory_cycles`, `cpu[2].stores`.

use super::node::{Key, Node, Table, Value};
use super::text::{InstanceText, ModuleText};
use std::collections::BTreeMap;

/// The key that selects the variant of a table.
const CHOICE: &str = "kind";

/// The path of a setting, with the number of a copy as a key of its own: `cpu[2].stores` is `cpu.[2].stores`.
pub(super) fn split_copies(path: &str) -> String {
    let split = |key: &str| match key.split_once('[') {
        Some((name, number)) if !name.is_empty() && number.ends_with(']') => format!("{name}.[{number}"),
        _ => key.to_owned(),
    };
    path.split('.').map(split).collect::<Vec<_>>().join(".")
}

/// The number in a key that stands for one copy: 2 in `[2]`.
pub(super) fn copy_of(key: &str) -> Option<u64> {
    key.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The parameters of an instance with the changes that its surroundings make, but without changes of single copies.
pub(super) fn parameters(text: &InstanceText, changes: &Table, copy: Option<u64>) -> Table {
    let mut all = text.parameters.clone();
    if let Some((_, Node { value: Value::Table(change), .. })) =
        changes.iter().find(|(key, _)| key.name == text.key.name)
    {
        merge(&mut all, change);
    }
    let (of_copies, mut parameters): (Table, Table) =
        all.into_iter().partition(|(key, node)| copy_of(&key.name).is_some() && matches!(node.value, Value::Table(_)));
    for (_, node) in of_copies.iter().filter(|(key, _)| copy.is_some() && copy_of(&key.name) == copy) {
        if let Value::Table(change) = &node.value {
            merge(&mut parameters, change);
        }
    }
    parameters
}

/// Numbers of the single copies that are changed, each with its key.
pub(super) fn copies<'a>(text: &'a InstanceText, changes: &'a Table) -> impl Iterator<Item = (u64, &'a Key)> {
    let of_surroundings = changes.iter().find(|(key, _)| key.name == text.key.name);
    let of_surroundings = of_surroundings.and_then(|(_, node)| match &node.value {
        Value::Table(change) => Some(change),
        _ => None,
    });
    let all = text.parameters.iter().chain(of_surroundings.into_iter().flatten());
    all.filter_map(|(key, _)| Some((copy_of(&key.name)?, key)))
}

/// Separates parameters of a module from changes of its instances.
pub(super) fn of_module(module: &ModuleText, parameters: Table) -> (Table, Table) {
    parameters
        .into_iter()
        .partition(|(key, node)| !is_change(module, &key.name) || !matches!(node.value, Value::Table(_)))
}

fn is_change(module: &ModuleText, name: &str) -> bool {
    !module.parameters.iter().any(|(key, _)| key.name == name)
        && module.body.instances.iter().any(|inner| inner.key.name == name)
}

/// Overwrites the parameters of an instance. Changes of instances inside its module, and of its copies, add up.
pub(super) fn over(old: &mut InstanceText, new: Table, modules: &BTreeMap<String, ModuleText>) {
    let module = old.module.as_ref().and_then(Node::text).and_then(|name| modules.get(name));
    let adds_up = |name: &str| copy_of(name).is_some() || module.is_some_and(|module| is_change(module, name));
    for (key, node) in new {
        match old.parameters.iter_mut().find(|(old, _)| old.name == key.name) {
            Some((old, before)) => match (&mut before.value, &node.value) {
                (Value::Table(before), Value::Table(change)) if adds_up(&old.name) => merge(before, change),
                _ => *before = node,
            },
            None => old.parameters.push((key, node)),
        }
    }
}

/// Lays `new` over `old`. Tables are merged. If `new` selects another variant, it replaces the whole table.
fn merge(old: &mut Table, new: &Table) {
    for (key, node) in new {
        match old.iter_mut().find(|(old, _)| old.name == key.name) {
            Some((_, before)) => match (&mut before.value, &node.value) {
                (Value::Table(before), Value::Table(change)) if !change.iter().any(|(key, _)| key.name == CHOICE) => {
                    merge(before, change);
                }
                _ => *before = node.clone(),
            },
            None => old.push((key.clone(), node.clone())),
        }
    }
}
