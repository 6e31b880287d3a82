//! Reports parameters and clocks that nothing uses, which are often misspelt names.

use super::design::DesignPart;
use super::node::{Key, Node, Table, Value};
use super::problem::Problems;
use super::text::{InstanceText, Netlist, WireText};
use diagnostics::near::suggestion;

impl Netlist {
    /// Reports unused names in the card's own file.
    pub(super) fn report_unused(&self, parts: &[DesignPart], problems: &mut Problems) {
        let is_own = |key: &Key| key.place.file() == self.place.file();
        for (key, _) in self.clocks.iter().filter(|(key, _)| is_own(key)) {
            if !parts.is_empty() && !parts.iter().any(|part| part.clock == key.name) {
                let others =
                    self.clocks.iter().map(|(other, _)| other.name.as_str()).filter(|&other| other != key.name);
                let near = suggestion(&key.name, others);
                problems.add(&key.place, format!("no part has the clock `{}`{near}", key.name));
            }
        }
        for (key, _) in self.parameters.iter().filter(|(key, _)| is_own(key)) {
            if !self.mentions(&key.name) {
                let others = self.parameters.iter().map(|(other, _)| other.name.as_str());
                let near = suggestion(&key.name, others.filter(|&other| other != key.name));
                problems.add(&key.place, format!("nothing uses the parameter `{}`{near}", key.name));
            }
        }
    }

    /// Returns true if `$name` occurs in the card outside its modules, which have their own parameters.
    fn mentions(&self, name: &str) -> bool {
        let in_text = |text: &str| {
            text.match_indices('$').any(|(at, _)| {
                let word = text[at + 1..].trim_start_matches('{');
                let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
                word[..end] == *name
            })
        };
        fn any_text(node: &Node, in_text: &impl Fn(&str) -> bool) -> bool {
            match &node.value {
                Value::Plain(value) => value.as_str().is_some_and(in_text),
                Value::List(list) => list.iter().any(|node| any_text(node, in_text)),
                Value::Table(table) => table.iter().any(|(_, node)| any_text(node, in_text)),
            }
        }
        let in_node = |node: &Node| any_text(node, &in_text);
        let in_table = |table: &Table| table.iter().any(|(_, node)| in_node(node));
        let in_instance = |instance: &InstanceText| {
            let heads = [&instance.module, &instance.clock, &instance.count];
            heads.into_iter().flatten().any(in_node) || in_table(&instance.parameters)
        };
        let in_wire = |wire: &WireText| {
            in_text(&wire.from.text)
                || in_text(&wire.to.text)
                || [&wire.room, &wire.latency].into_iter().flatten().any(in_node)
        };
        in_table(&self.parameters)
            || in_table(&self.clocks)
            || self.body.instances.iter().any(in_instance)
            || self.body.wires.iter().any(in_wire)
    }
}
