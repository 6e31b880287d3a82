//! JSON schemas of cards' and experiments' files, for editors, and for pages generated from the types.
//!
//! Types and texts come from the Rust types. The allowed numbers come from [`PspinParams::validate`], because only this
//! function knows them: a parameter is set to an absurd value, and the error contains the allowed values.

use crate::nics;
use pspin::PspinParams;
use schemars::schema_for;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::LazyLock;

/// Schema of a card's file. If the types alone do not define the allowed values of a parameter, it has the text
/// `x-allowed`; `minimum` and `maximum` are given only if they do not depend on other parameters.
pub fn nic() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(with_bounds);
    &SCHEMA
}

fn with_bounds() -> Value {
    let mut schema = without_links(&schema_for!(PspinParams).to_value());
    let params = nics::load("pspin", &[], Path::new(".")).expect("a preset is valid");
    let base = serde_json::to_value(&params).expect("parameters are numbers, texts and tables");
    let keys = numbers(&base, "");
    let changed = changed(&base, &keys);
    for key in &keys {
        let Some(allowed) = allowed(&base, key) else { continue };
        let bounds = bounds(&allowed).filter(|_| !depends(key, &allowed, &changed));
        let slot = property(&mut schema, key);
        slot.insert("x-allowed".into(), json!(allowed));
        if let Some((least, most)) = bounds {
            slot.insert("minimum".into(), json!(least));
            slot.insert("maximum".into(), json!(most));
        }
    }
    schema
}

/// Schema of the file of a card that runs chains of offloads.
pub fn panic() -> Value {
    without_links(&schema_for!(panic::params::PanicParams).to_value())
}

/// Schema of the files of all cards that run chains of offloads: one alternative for each `model`.
pub fn chain_cards() -> Value {
    without_links(&schema_for!(panic::model::NicModel).to_value())
}

/// Removes links between items from the texts, because they mean nothing outside the code.
pub(crate) fn without_links(schema: &Value) -> Value {
    let text = schema.to_string().replace("[`", "`").replace("`]", "`");
    serde_json::from_str(&text).expect("it was JSON and still is")
}

/// Paths of all numbers.
fn numbers(table: &Value, prefix: &str) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| match value {
        Value::Object(_) => numbers(value, &format!("{prefix}{key}.")),
        Value::Number(_) => vec![format!("{prefix}{key}")],
        _ => Vec::new(),
    };
    table.as_object().into_iter().flatten().flat_map(of).collect()
}

/// The parameters with another value at `key`, if the types allow the value.
fn with(base: &Value, key: &str, value: u64) -> Option<(Value, PspinParams)> {
    let mut table = base.clone();
    *table.pointer_mut(&format!("/{}", key.replace('.', "/")))? = json!(value);
    let params = PspinParams::deserialize(&table).ok()?;
    Some((table, params))
}

/// The allowed values of a parameter, from the error for an absurd value.
fn allowed(base: &Value, key: &str) -> Option<String> {
    [u64::MAX, u64::from(u32::MAX), 0].into_iter().find_map(|absurd| {
        let refused = with(base, key, absurd)?.1.validate().err()?;
        (refused.key == key).then_some(refused.allowed)
    })
}

/// Variants of the parameters in which one parameter is halved or doubled, if they are valid. Each has the key of this
/// parameter.
fn changed<'a>(base: &Value, keys: &'a [String]) -> Vec<(&'a str, Value)> {
    let halved_and_doubled = |key: &'a String| {
        let value = base.pointer(&format!("/{}", key.replace('.', "/"))).and_then(Value::as_u64).unwrap_or(0);
        let valid = |value| with(base, key, value).filter(|(_, params)| params.validate().is_ok());
        [valid(value / 2), valid(value * 2)].into_iter().flatten().map(|(table, _)| (key.as_str(), table))
    };
    keys.iter().flat_map(halved_and_doubled).collect()
}

/// Returns true if the allowed values change with another parameter.
fn depends(key: &str, here: &str, changed: &[(&str, Value)]) -> bool {
    changed.iter().any(|(other, table)| *other != key && allowed(table, key).is_some_and(|there| there != here))
}

/// The ends of `A to B`.
fn bounds(allowed: &str) -> Option<(u64, u64)> {
    let (least, most) = allowed.split_once(" to ")?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

/// The schema of the parameter at a path. The schemas of tables are under `$defs`, by name.
fn property<'a>(schema: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let mut at = String::new();
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        at = format!("{at}/properties/{part}");
        if parts.peek().is_some() {
            let table = schema.pointer(&at).expect("a parameter has a schema");
            let target = table["$ref"].as_str().expect("a table of parameters has a name");
            at = target.trim_start_matches('#').to_owned();
        }
    }
    schema.pointer_mut(&at).and_then(Value::as_object_mut).expect("a parameter has a schema")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_parameter_has_its_text_its_type_and_what_it_may_be() {
        let mut schema = nic().clone();
        let mut of = |key| serde_json::to_string(property(&mut schema, key)).expect("JSON");
        expect![[r#"{"type":"integer","format":"uint32","minimum":1,"description":"Cores (HPUs) per cluster. The RTL's command identity has room for 8.","x-allowed":"1 to 16","maximum":16}"#]].assert_eq(&of("cluster.n_cores"));
        // The allowed values depend on another parameter, so there are no bounds that an editor would enforce.
        expect![[r#"{"type":"integer","format":"uint32","minimum":0,"description":"Maximum tasks in one cluster.","x-allowed":"1 to 20, as many as cluster.task_fifo holds"}"#]].assert_eq(&of("scheduler.max_tasks_per_cluster"));
        expect![[r#"{"type":"integer","format":"uint32","minimum":0,"description":"Default watchdog limit of a handler in cycles, and the maximum for tenants; 0 disables the watchdog."}"#]].assert_eq(&of("isolation.watchdog_cycles"));
    }

    #[test]
    fn every_number_of_every_preset_is_within_its_bounds() {
        let mut schema = nic().clone();
        for preset in ["pspin", "pspin-rtl", "pspin-paper"] {
            let params = nics::load(preset, &[], Path::new(".")).expect("a preset is valid");
            let table = serde_json::to_value(&params).expect("JSON");
            for key in numbers(&table, "") {
                let value =
                    table.pointer(&format!("/{}", key.replace('.', "/"))).and_then(Value::as_u64).expect("a number");
                let property = property(&mut schema, &key);
                let bound = |name: &str| property.get(name).and_then(Value::as_u64);
                assert!(bound("minimum").is_none_or(|least| value >= least), "{preset}: {key}");
                assert!(bound("maximum").is_none_or(|most| value <= most), "{preset}: {key}");
            }
        }
    }

    #[test]
    fn an_experiment_takes_a_text_or_a_table_where_the_file_does() {
        let schema = &*crate::kinds::HANDLERS.schema;
        assert_eq!(schema["required"], json!(["program", "context"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        let nic = schema.pointer("/properties/nic").expect("it has a schema").to_string();
        expect![[r##"{"$ref":"#/$defs/TextOr","description":"The card.","default":{"preset":"pspin"}}"##]]
            .assert_eq(&nic);
    }
}
