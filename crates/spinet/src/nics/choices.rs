//! Applies settings to parameters. Some parameters are choices: tables whose key `kind` selects the other keys.

use super::{NicError, Setting, not_a_value, paths, set, value_at};
use diagnostics::near::nearest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The key that selects the variant of a table.
const CHOICE: &str = "kind";

/// The parameters in `table`, replaced by `settings`. Their order does not matter: a choice is set before its keys.
pub(crate) fn apply<T: Serialize + DeserializeOwned>(mut table: Table, settings: &[Setting]) -> Result<T, NicError> {
    // Sets outer choices before inner ones, each with the settings below it.
    let mut choices: Vec<&Setting> = settings.iter().filter(|setting| is_choice(setting)).collect();
    choices.sort_by_key(|(key, _)| key.len());
    let mut chosen: Vec<&str> = Vec::new();
    for (key, value) in choices {
        if value_at(&mut table, key).is_some_and(|before| before != value && before.is_str()) {
            choose::<T>(&mut table, (key, value), settings)?;
            chosen.push(key.strip_suffix(CHOICE).expect("choices end so"));
        }
    }
    let is_below = |key: &str| chosen.iter().any(|prefix| key.starts_with(prefix));
    for (key, value) in settings.iter().filter(|(key, _)| !is_below(key)) {
        set(&mut table, key, value)?;
        read::<T>(&table).map_err(|error| not_a_value(key, value, &error))?;
    }
    let params: T = read(&table).expect("it was read after the last setting");
    // Some types ignore keys that a choice does not have.
    let mut known = Table::try_from(&params).expect("parameters are tables of numbers and words");
    match settings.iter().find(|(key, _)| is_below(key) && value_at(&mut known, key).is_none()) {
        Some((key, _)) => Err(no_parameter(&known, key)),
        None => Ok(params),
    }
}

fn is_choice((key, _): &Setting) -> bool {
    key.rsplit('.').next() == Some(CHOICE)
}

fn read<T: DeserializeOwned>(table: &Table) -> Result<T, toml::de::Error> {
    Value::Table(table.clone()).try_into()
}

/// Sets another choice with its settings. Values of the previous choice stay if the new choice has the same keys.
fn choose<T: DeserializeOwned>(
    table: &mut Table,
    (key, value): (&str, &Value),
    settings: &[Setting],
) -> Result<(), NicError> {
    let prefix = key.strip_suffix(CHOICE).expect("choices end so");
    let own: Vec<(&str, &Value)> =
        settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value))).collect();
    let before = table_at(table, prefix).clone();
    let with = |kept: &Table| {
        let mut chosen = kept.clone();
        own.iter().for_each(|(key, value)| put(&mut chosen, key, value));
        chosen
    };
    let mut kept = before;
    loop {
        *table_at(table, prefix) = with(&kept);
        let Err(error) = read::<T>(table) else { return Ok(()) };
        let quoted = error.message().split('`').nth(1).unwrap_or_default().to_owned();
        let is_own = own.iter().any(|(key, _)| key.split('.').next() == Some(&quoted));
        match error.message() {
            message if message.starts_with("unknown field") && !is_own && kept.contains_key(&quoted) => {
                kept.remove(&quoted);
            }
            message if message.starts_with("unknown field") => {
                let names = error.message().split('`').skip(3).step_by(2);
                let near = nearest(&quoted, names).map(|near| format!("{prefix}{near}"));
                return Err(NicError::NoParameter { found: format!("{prefix}{quoted}"), near });
            }
            message if message.starts_with("missing field") => {
                let (key, found, missing) = (key.to_owned(), value.to_string(), format!("{prefix}{quoted}"));
                return Err(NicError::Incomplete { key, found, missing });
            }
            // Both have the key, but of different types, so the previous value does not apply.
            _ if kept.len() > 1 => kept = Table::from_iter([(CHOICE.to_owned(), value.clone())]),
            _ if error.message().starts_with("unknown variant") => return Err(not_a_value(key, value, &error)),
            _ => {
                let (key, value) = own.iter().find(|(key, _)| *key != CHOICE).copied().unwrap_or((CHOICE, value));
                return Err(not_a_value(&format!("{prefix}{key}"), value, &error));
            }
        }
    }
}

/// The table at a path that ends with a dot; for an empty path, the outermost table. It must exist.
fn table_at<'a>(table: &'a mut Table, prefix: &str) -> &'a mut Table {
    match prefix.strip_suffix('.') {
        None => table,
        Some(path) => value_at(table, path).and_then(Value::as_table_mut).expect("a table with a choice is there"),
    }
}

/// Puts a value at a path. Creates missing tables around it.
fn put(table: &mut Table, key: &str, value: &Value) {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value.clone())),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => put(inner, rest, value),
                // A value that should be a table is reported when it is read.
                other => *other = Value::Table(Table::from_iter([(rest.to_owned(), value.clone())])),
            }
        }
    }
}

/// The error for a path at which there is no parameter.
pub(super) fn no_parameter(table: &Table, key: &str) -> NicError {
    let known = paths(table, "");
    let last = |path: &&String| path.rsplit('.').next() == Some(key);
    let near = known.iter().find(last).or_else(|| {
        let near = nearest(key, known.iter().map(String::as_str))?;
        known.iter().find(|path| *path == near)
    });
    NicError::NoParameter { found: key.into(), near: near.cloned() }
}

#[cfg(test)]
mod tests {
    use super::super::parse_setting;
    use expect_test::{Expect, expect};
    use std::path::Path;

    /// Compares the values of a PANIC after `--set` with these settings, or the error.
    fn check(settings: &[&str], want: Expect) {
        let parsed: Vec<_> = settings.iter().map(|text| parse_setting(text).unwrap()).collect();
        let result = match crate::chains::load("panic", &parsed, Path::new("")) {
            Err(error) => error.to_string(),
            Ok(params) => {
                let table = toml::Table::try_from(&params).unwrap();
                let engine = &table["service"][1]["engine"];
                format!("{} / {}", table["interconnect"]["topology"], engine.get("clock").unwrap_or(engine))
            }
        };
        want.assert_eq(&result);
    }

    const BUTTERFLY: [&str; 6] = [
        "interconnect.topology.rows=2",
        "interconnect.topology.kind=flattened-butterfly",
        "interconnect.topology.columns=2",
        "interconnect.topology.link_flits=8",
        "interconnect.topology.link_cycles=2",
        "interconnect.topology.concentration=4",
    ];

    #[test]
    fn a_choice_takes_its_keys_with_it_in_any_order() {
        check(
            &BUTTERFLY,
            expect![[
                r#"{ columns = 2, concentration = 4, kind = "flattened-butterfly", link_cycles = 2, link_flits = 8, rows = 2 } / { kind = "nic" }"#
            ]],
        );
        let mut turned = BUTTERFLY;
        turned.reverse();
        check(
            &turned,
            expect![[
                r#"{ columns = 2, concentration = 4, kind = "flattened-butterfly", link_cycles = 2, link_flits = 8, rows = 2 } / { kind = "nic" }"#
            ]],
        );
        check(
            &[
                "service.aes.engine.clock.kind=own",
                "service.aes.engine.clock.khz=300_000",
                "service.aes.engine.clock.crossing_cycles=2",
            ],
            expect![[r#"{ kind = "crossbar" } / { crossing_cycles = 2, khz = 300000, kind = "own" }"#]],
        );
        check(
            &[
                "service.aes.engine.service.cycles=9",
                "service.aes.engine.kind=delay",
                "service.aes.engine.gap_cycles=1",
                "service.aes.engine.service.kind=fixed",
            ],
            expect![[
                r#"{ kind = "crossbar" } / { gap_cycles = 1, kind = "delay", service = { cycles = 9, kind = "fixed" } }"#
            ]],
        );
    }

    #[test]
    fn missing_and_unknown_keys_of_a_choice_are_reported() {
        check(
            &BUTTERFLY[..5],
            expect![[
                r#"set: interconnect.topology.kind is "flattened-butterfly", which needs `interconnect.topology.concentration` too: set that in the same run"#
            ]],
        );
        check(
            &["interconnect.topology.kind=butterfly"],
            expect![[r#"set: interconnect.topology.kind is "butterfly", must be `crossbar` or `flattened-butterfly`"#]],
        );
        check(
            &["interconnect.topology.kind=crossbar", "interconnect.topology.rows=2"],
            expect![
                "set: there is no `interconnect.topology.rows` in the preset; did you mean `interconnect.topology.kind`?"
            ],
        );
        check(
            &[&BUTTERFLY[..], &["interconnect.topology.link_flit=2"]].concat(),
            expect![
                "set: there is no `interconnect.topology.link_flit` in the preset; did you mean `interconnect.topology.link_flits`?"
            ],
        );
        check(
            &[
                "service.aes.engine.clock.kind=own",
                "service.aes.engine.clock.khz=fast",
                "service.aes.engine.clock.crossing_cycles=2",
            ],
            expect![[r#"set: service.aes.engine.clock.khz is "fast", must be a whole number from 0 to 4294967295"#]],
        );
        check(
            &["service.aes.engine.kind=delay"],
            expect![[
                r#"set: service.aes.engine.kind is "delay", which needs `service.aes.engine.service` too: set that in the same run"#
            ]],
        );
        check(
            &["interconnect.topology.rows=2"],
            expect![
                "set: there is no `interconnect.topology.rows` in the preset; did you mean `interconnect.topology.kind`?"
            ],
        );
        check(
            &["interconnect.topologie.kind=crossbar"],
            expect![
                "set: there is no `interconnect.topologie.kind` in the preset; did you mean `interconnect.topology.kind`?"
            ],
        );
    }
}
