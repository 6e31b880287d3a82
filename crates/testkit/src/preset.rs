//! Presets that derive from another, for tests of crates below the facade.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The parameters of preset `own` applied to preset `base`, both as TOML text.
pub fn preset<T: DeserializeOwned>(base: &str, own: &str) -> T {
    let read = |text: &str| text.parse::<Table>().unwrap_or_else(|error| panic!("a preset: {error}"));
    let (mut values, mut changes) = (read(base), read(own));
    changes.remove("base");
    merge(&mut values, changes);
    Value::Table(values).try_into().unwrap_or_else(|error| panic!("a preset: {error}"))
}

fn merge(values: &mut Table, changes: Table) {
    for (key, change) in changes {
        match (values.get_mut(&key), change) {
            (Some(Value::Table(inner)), Value::Table(change)) => merge(inner, change),
            (_, change) => {
                values.insert(key, change);
            }
        }
    }
}
