//! Keys of nodes: their own, and those of their cards.

use super::experiment::{NetworkExperiment, NetworkProblem, NodeSpec};
use super::setup::{Fault, fault, node_of};
use crate::kinds;
use diagnostics::near::suggestion;
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys of an experiment that a node's card cannot have, because the network has them, each with a hint.
const OF_NETWORK: [(&str, &str); 5] = [
    ("limit", ""),
    ("seed", ""),
    ("stall_limit", ""),
    ("faults", "; links lose packets"),
    ("traffic", "; packets come to a node from other nodes, whose `send` names them"),
];

/// Refuses keys of nodes that belong to the network, and those that neither nodes nor their cards have.
pub(super) fn check_keys(experiment: &NetworkExperiment) -> Result<(), Fault> {
    let own = schemars::schema_for!(NodeSpec).to_value();
    for (entry, spec) in experiment.nodes.iter().enumerate() {
        let at = |key: &str, problem| Err(fault(&["nodes", &entry.to_string(), key], problem));
        for (key, hint) in OF_NETWORK {
            if spec.card.contains_key(key) {
                return at(key, NetworkProblem::OfNetwork { key: key.into(), hint });
            }
        }
        // Keys of cards on a plain NIC have an error of their own.
        let kind = node_of(experiment, Some(entry), spec.name.clone()).kind;
        let kinds = kind.map_or_else(|| kinds::ALL.to_vec(), |kind| vec![kind]);
        let schemas = kinds.iter().map(|kind| -> &Value { &kind.schema }).chain([&own]);
        let known: BTreeSet<&str> = schemas.flat_map(keys_of).collect();
        if let Some(key) = spec.card.keys().find(|key| !known.contains(key.as_str())) {
            let of_card: &Value = kind.map_or(&Value::Null, |kind| &kind.schema);
            let is_of_network = |key: &&str| OF_NETWORK.iter().any(|(other, _)| other == key);
            let of_card =
                keys_of(of_card).filter(|key| !is_of_network(key) && !keys_of(&own).any(|other| other == *key));
            let mut allowed: Vec<&str> = keys_of(&own).chain(of_card).collect();
            allowed.extend(kind.is_none().then_some("nic"));
            let near = suggestion(key, allowed.iter().copied());
            let allowed: Vec<String> = allowed.iter().map(|key| format!("`{key}`")).collect();
            return at(key, NetworkProblem::UnknownKey { allowed: allowed.join(", ") + &near });
        }
    }
    Ok(())
}

/// The keys of a table's schema.
fn keys_of(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|keys| keys.keys().map(String::as_str))
}
