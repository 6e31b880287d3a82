use super::{Merged, Refused, merge};
use expect_test::{Expect, expect};

const WHOLE: &str = "\
# A card.
clock = 1   # source: a
[memory]
size = 4    # source: b
ways = [1,
  2]
kind = \"fast\"
[memory.bank]
count = 8   # source: c
[[service]]
name = \"sha\"
units = 2
[[service.key]]
of = 1
";

fn check(own: &str, want: Expect) {
    let own = format!("base = \"whole\"\n{own}");
    let text = match merge(WHOLE, &own) {
        Ok(Merged { text, .. }) => {
            text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}\n{text}"));
            text
        }
        Err(Refused(span, problem)) => format!("{}: {problem}", &own[span]),
    };
    let changed: Vec<String> = diff(WHOLE, &text);
    want.assert_eq(&changed.join("\n"));
}

/// Lines of `old` that are not in `new`, with `-`, and the other way round, with `+`.
fn diff(old: &str, new: &str) -> Vec<String> {
    let only = |these: &str, those: &str, sign: char| -> Vec<String> {
        let those: Vec<&str> = those.lines().collect();
        these
            .lines()
            .filter(|line| !line.is_empty() && !those.contains(line))
            .map(|line| format!("{sign}{line}"))
            .collect()
    };
    [only(old, new, '-'), only(new, old, '+')].concat()
}

#[test]
fn a_value_replaces_the_bases_with_its_comment() {
    check(
        "clock = 2 # mine",
        expect![[r#"
            -clock = 1   # source: a
            +clock = 2 # mine"#]],
    );
    check(
        "memory.ways = [7]\nmemory.bank = { count = 9 }",
        expect![[r#"
            -ways = [1,
            -  2]
            -count = 8   # source: c
            +ways = [7]
            +count = 9"#]],
    );
}

#[test]
fn new_values_join_their_table() {
    check(
        "[memory]\nports = 2 # mine\n[memory.bank]\nwords = 3\n[line]\nrate = 1\nlength = 2",
        expect![[r#"
            +ports = 2 # mine
            +words = 3
            +[line]
            +length = 2
            +rate = 1"#]],
    );
    check("volts = 3", expect!["+volts = 3"]);
    check("[memory]\nbank = { words = 3 }", expect!["+words = 3"]);
}

#[test]
fn a_table_of_another_kind_replaces_the_bases() {
    check(
        "[memory]\nkind = \"slow\"\nwait = 3",
        expect![[r#"
                -size = 4    # source: b
                -ways = [1,
                -  2]
                -kind = "fast"
                -[memory.bank]
                -count = 8   # source: c
                +kind = "slow"
                +wait = 3"#]],
    );
    check("[memory]\nkind = \"fast\"\nwait = 3", expect!["+wait = 3"]);
}

#[test]
fn entries_with_a_name_change_or_join_a_list() {
    check(
        "[[service]]\nname = \"sha\"\nunits = 3",
        expect![[r#"
            -units = 2
            +units = 3"#]],
    );
    check(
        "[[service]]\nname = \"aes\"\n[service.engine]\nkind = 1\n[[service.key]]\nof = 2\n[memory]\nsize = 5",
        expect![[r#"
                -size = 4    # source: b
                +size = 5
                +name = "aes"
                +[service.engine]
                +kind = 1
                +of = 2"#]],
    );
    check(
        "[[service]]\nunits = 3",
        expect![[r#"
            -# A card.
            -clock = 1   # source: a
            -[memory]
            -size = 4    # source: b
            -ways = [1,
            -  2]
            -kind = "fast"
            -[memory.bank]
            -count = 8   # source: c
            -[[service]]
            -name = "sha"
            -units = 2
            -[[service.key]]
            -of = 1
            +[[service]]: an entry of [[service]] must have a `name` in a file with `base`"#]],
    );
}

#[test]
fn what_would_land_in_another_entry_is_refused() {
    let check = |own: &str, want: &str| {
        let Err(Refused(_, problem)) = merge(WHOLE, &format!("base = \"whole\"\n[[service]]\nname = \"sha\"\n{own}"))
        else {
            panic!("it was taken: {own}")
        };
        assert_eq!(problem, want);
    };
    check(
        "[service.engine]\nclock = 2",
        "the base has no service.engine in this entry: write it as { ... } or [ ... ]",
    );
    check(
        "[[service.lock]]\nname = \"a\"",
        "the base has no service.lock in this entry: write it as { ... } or [ ... ]",
    );
    check("[[service.key]]\nof = 2", "an entry of [[service.key]] must have a `name` in a file with `base`");
}

#[test]
fn each_value_of_each_preset_can_be_changed_alone() {
    fn leaves(table: &toml::Table, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        for (key, value) in table {
            path.push(key.clone());
            match value {
                toml::Value::Table(inner) => leaves(inner, path, found),
                toml::Value::Integer(_) => found.push(path.clone()),
                _ => {}
            }
            path.pop();
        }
    }
    for preset in crate::nics::PRESETS.iter().chain(crate::chains::PRESETS) {
        let whole: toml::Table = preset.text.parse().expect("a preset");
        let mut found = Vec::new();
        leaves(&whole, &mut Vec::new(), &mut found);
        for path in found {
            let own = format!("base = \"x\"\n{} = 77 # changed", path.join("."));
            let merged = merge(preset.text, &own).expect("a value can be changed").text;
            let mut want = whole.clone();
            let (last, tables) = path.split_last().expect("a path");
            let table = tables.iter().fold(&mut want, |table, key| table[key].as_table_mut().expect("a table"));
            table.insert(last.clone(), 77.into());
            assert_eq!(merged.parse::<toml::Table>().expect("TOML"), want, "{}: {path:?}", preset.name);
        }
    }
}

proptest::proptest! {
    #[test]
    fn whatever_is_merged_is_a_toml_text(lines in proptest::collection::vec(proptest::sample::select(LINES), 0..8)) {
        let own = format!("base = \"whole\"\n{}", lines.join("\n"));
        if own.parse::<toml::Table>().is_ok()
            && let Ok(Merged { text, .. }) = merge(WHOLE, &own)
        {
            let found = text.parse::<toml::Table>();
            let mut want = WHOLE.parse().expect("TOML");
            over(&mut want, own.parse().expect("TOML"));
            want.remove("base");
            proptest::prop_assert_eq!(found, Ok(want), "{}\n---\n{}", own, text);
        }
    }
}

/// The definition of a merge, on values.
fn over(base: &mut toml::Table, own: toml::Table) {
    use toml::Value;
    let text = |table: &toml::Table, key| table.get(key).and_then(Value::as_str).map(str::to_owned);
    for (key, own) in own {
        match (base.get_mut(&key), own) {
            (Some(Value::Table(inner)), Value::Table(own))
                if text(&own, "kind").is_none() || text(&own, "kind") == text(inner, "kind") =>
            {
                over(inner, own);
            }
            (Some(Value::Array(list)), Value::Array(own)) if list.iter().any(Value::is_table) => {
                for own in own {
                    let Value::Table(own) = own else { panic!("it is a list of tables") };
                    let name = text(&own, "name");
                    let mut tables = list.iter_mut().filter_map(Value::as_table_mut);
                    match tables.find(|table| name.is_some() && text(table, "name") == name) {
                        Some(table) => over(table, own),
                        None => list.push(own.into()),
                    }
                }
            }
            (_, own) => {
                base.insert(key, own);
            }
        }
    }
}

const LINES: &[&str] = &[
    "clock = 2",
    "clock.a = 2",
    "clock = { kind = \"b\", c = 3 }",
    "[memory]",
    "[clock]",
    "[memory.bank]",
    "[memory.size]",
    "[new.table]",
    "memory = 3",
    "memory = { size = 5, bank = { count = 1 } }",
    "size = 3",
    "kind = \"slow\"",
    "\"ä\" = \"\"\"\n[x]\n\"\"\" # ö",
    "[[service]]",
    "[[memory]]",
    "[service]",
    "service = [{ name = \"sha\" }]",
    "name = \"sha\"",
    "name = \"aes\"",
    "[[service.key]]",
    "[service.key.inner]",
    "[service.engine]",
    "'a.b'.c = 1",
];
