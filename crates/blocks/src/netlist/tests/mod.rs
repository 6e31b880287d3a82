//! Cards of small test modules: their design, their behavior, and their errors.

mod errors;
mod hostile;
mod parts;

use super::{Card, Design, Environment, Netlist, NetlistErrors};
use expect_test::{Expect, expect};
use kernel::Time;

/// Files that the test cards include.
const FILES: &[(&str, &str)] = &[
    ("pair", PAIR),
    (
        "many",
        r#"
        name = "many"
        connections = ["asker[*].memory -> store.requesters[0..]"]
        [parameters]
        askers = 2
        [clocks]
        core = "100 MHz"
        [instances]
        asker = { module = "asker", count = "$askers", clock = "core", reads = 2 }
        store = { module = "store", requesters = "$askers", clock = "core" }
        "#,
    ),
    (
        "behind.toml",
        r#"
        [modules.behind]
        about = "Askers, each behind a relay."
        parameters = { n = 1, reads = 4 }
        ports = { memories = "relay[*].lower" }
        connections = ["asker[*].memory -> relay[*].upper"]
        [modules.behind.instances]
        asker = { module = "asker", count = "$n", reads = "$reads", first = "16 * $index" }
        relay = { module = "relay", count = "$n" }
        "#,
    ),
    ("deep", DEEP),
    ("again.toml", "include = [\"behind.toml\"]"),
    ("circle.toml", "include = [\"circle.toml\"]"),
    ("other.toml", "[modules.behind]\n"),
    ("number.toml", "name = 4\n"),
];

const PAIR: &str = r#"
name = "pair"
about = "Two askers and a store."
connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[1]"]
[clocks]
core = "100 MHz"
[instances]
left = { module = "asker", reads = 4 }
right = { module = "asker", reads = 2, first = 100 }
store = { module = "store", requesters = 2 }
"#;

/// Copies of a module that has copies inside.
const DEEP: &str = r#"
name = "deep"
include = ["behind.toml", "again.toml"]
connections = [{ wires = ["cluster[*].memories[*] -> store.requesters[*]"], latency = 3, room = 4 }]
[clocks]
core = "100 MHz"
slow = "25 MHz"
[modules.cluster]
parameters = { reads = 1 }
ports = { memories = "two.memories[*]" }
[modules.cluster.instances]
two = { module = "behind", n = 2, reads = "$reads" }
[instances]
cluster = { module = "cluster", clock = "core", count = 2, reads = "1 + $index" }
store = { module = "store", clock = "slow", requesters = 4 }
"#;

fn find(wanted: &str, _by: &str) -> Result<(String, String), String> {
    match FILES.iter().find(|(name, _)| *name == wanted) {
        Some((name, text)) => Ok(((*name).to_owned(), (*text).to_owned())),
        None => Err(format!("there is no `{wanted}`")),
    }
}

fn design_with(text: &str, settings: &[(&str, &str)]) -> Result<Design, NetlistErrors> {
    let value = |text: &str| toml::from_str::<toml::Table>(&format!("v = {text}")).expect("TOML")["v"].clone();
    let settings: Vec<_> = settings.iter().map(|(key, text)| ((*key).to_owned(), value(text))).collect();
    Netlist::read("card.toml", text, &settings, &find)?.design(&parts::catalog())
}

/// Shows parts with parameters, connections, and for each asker the bytes that it read and the cycle of the last one.
fn check(text: &str, settings: &[(&str, &str)], want: Expect) {
    let design = design_with(text, settings).unwrap_or_else(|errors| panic!("{errors}"));
    let mut shown = String::new();
    for part in &design.parts {
        let values: Vec<String> = part.parameters.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        shown += &format!("{}: {} {}{}\n", part.path, part.module, part.clock, values.concat());
    }
    for wire in &design.connections {
        let odd = if (wire.room, wire.latency) == (2, 1) {
            String::new()
        } else {
            format!("  room {} latency {}", wire.room, wire.latency)
        };
        shown += &format!("{} -> {}{odd}\n", wire.from, wire.to);
    }
    let mut card = Card::build(&design, 1, &Environment::default());
    card.system.run_until(Time::from_ns(10_000));
    for (path, asker) in card.parts::<parts::AskerPart>() {
        shown += &format!("{path} read {:?} by {}\n", asker.borrow().read, asker.borrow().done);
    }
    want.assert_eq(&shown);
}

#[test]
fn a_card_is_its_parts_and_connections() {
    check(
        PAIR,
        &[],
        expect![[r#"
        left: asker core reads=4
        right: asker core first=100 reads=2
        store: store core requesters=2
        left.memory -> store.requesters[0]
        right.memory -> store.requesters[1]
        left read [0, 1, 2, 3] by 7
        right read [100, 101] by 5
    "#]],
    );
}

#[test]
fn copies_are_connected_by_ranges() {
    let text = r#"
name = "many"
connections = ["asker[*].memory -> store.requesters[1..]", "first.memory -> store.requesters[0]"]
[parameters]
askers = 2
[clocks]
core = "100 MHz"
[instances]
first = { module = "asker", reads = 1 }
asker = { module = "asker", count = "$askers", reads = 2, first = "10 * $index" }
store = { module = "store", requesters = "1 + $askers" }
"#;
    check(
        text,
        &[],
        expect![[r#"
        first: asker core reads=1
        asker[0]: asker core first=0 reads=2
        asker[1]: asker core first=10 reads=2
        store: store core requesters=3
        asker[0].memory -> store.requesters[1]
        asker[1].memory -> store.requesters[2]
        first.memory -> store.requesters[0]
        asker[0] read [0, 1] by 5
        asker[1] read [10, 11] by 6
        first read [0] by 2
    "#]],
    );
    check(
        text,
        &[("askers", "3"), ("asker.reads", "1"), ("clocks.core", "'50 MHz'")],
        expect![[r#"
        first: asker core reads=1
        asker[0]: asker core first=0 reads=1
        asker[1]: asker core first=10 reads=1
        asker[2]: asker core first=20 reads=1
        store: store core requesters=4
        asker[0].memory -> store.requesters[1]
        asker[1].memory -> store.requesters[2]
        asker[2].memory -> store.requesters[3]
        first.memory -> store.requesters[0]
        asker[0] read [0] by 3
        asker[1] read [10] by 4
        asker[2] read [20] by 5
        first read [0] by 2
    "#]],
    );
}

#[test]
fn modules_have_parameters_and_ports_of_their_own() {
    check(
        DEEP,
        &[],
        expect![[r#"
        cluster[0].two.asker[0]: asker core first=0 reads=1
        cluster[0].two.asker[1]: asker core first=16 reads=1
        cluster[0].two.relay[0]: relay core
        cluster[0].two.relay[1]: relay core
        cluster[1].two.asker[0]: asker core first=0 reads=2
        cluster[1].two.asker[1]: asker core first=16 reads=2
        cluster[1].two.relay[0]: relay core
        cluster[1].two.relay[1]: relay core
        store: store slow requesters=4
        cluster[0].two.asker[0].memory -> cluster[0].two.relay[0].upper
        cluster[0].two.asker[1].memory -> cluster[0].two.relay[1].upper
        cluster[1].two.asker[0].memory -> cluster[1].two.relay[0].upper
        cluster[1].two.asker[1].memory -> cluster[1].two.relay[1].upper
        cluster[0].two.relay[0].lower -> store.requesters[0]  room 4 latency 3
        cluster[0].two.relay[1].lower -> store.requesters[1]  room 4 latency 3
        cluster[1].two.relay[0].lower -> store.requesters[2]  room 4 latency 3
        cluster[1].two.relay[1].lower -> store.requesters[3]  room 4 latency 3
        cluster[0].two.asker[0] read [0] by 17
        cluster[0].two.asker[1] read [16] by 21
        cluster[1].two.asker[0] read [0, 1] by 33
        cluster[1].two.asker[1] read [16, 17] by 37
    "#]],
    );
    let design = design_with(DEEP, &[]).expect("it is right");
    expect![[r#"
        Group {
            path: "cluster[0].two",
            module: "behind",
            ports: {
                "memories[0]": "cluster[0].two.relay[0].lower",
                "memories[1]": "cluster[0].two.relay[1].lower",
            },
        }
    "#]]
    .assert_debug_eq(&design.groups[1]);
}

#[test]
fn a_card_may_derive_from_another() {
    let text = r#"
name = "trio"
base = "pair"
remove = ["left", "right.memory"]
connections = ["middle.memory -> relay.upper", "relay.lower -> store.requesters[0]", "right.memory -> store.requesters[1]"]
[instances]
middle = { module = "asker", reads = 1 }
relay = { module = "relay" }
right = { reads = 3 }
"#;
    check(
        text,
        &[],
        expect![[r#"
        right: asker core first=100 reads=3
        store: store core requesters=2
        middle: asker core reads=1
        relay: relay core
        middle.memory -> relay.upper
        relay.lower -> store.requesters[0]
        right.memory -> store.requesters[1]
        middle read [0] by 4
        right read [100, 101, 102] by 5
    "#]],
    );
}

/// The askers of [`DEEP`], or of a card that derives from it, with their reads.
fn check_reads(text: &str, settings: &[(&str, &str)], want: Expect) {
    let design = design_with(text, settings).unwrap_or_else(|errors| panic!("{errors}"));
    let askers = design.parts.iter().filter(|part| part.module == "asker");
    let shown: Vec<String> = askers.map(|part| format!("{} {}", part.path, part.parameters["reads"])).collect();
    want.assert_eq(&shown.join("\n"));
}

#[test]
fn parts_inside_modules_and_single_copies_can_be_set() {
    check_reads(
        DEEP,
        &[("cluster.two.asker.reads", "7"), ("cluster[1].two.asker[0].reads", "9")],
        expect![[r#"
            cluster[0].two.asker[0] 7
            cluster[0].two.asker[1] 7
            cluster[1].two.asker[0] 9
            cluster[1].two.asker[1] 7"#]],
    );
    check_reads(
        DEEP,
        &[("cluster[1].reads", "5")],
        expect![[r#"
        cluster[0].two.asker[0] 1
        cluster[0].two.asker[1] 1
        cluster[1].two.asker[0] 5
        cluster[1].two.asker[1] 5"#]],
    );
    check_reads(
        DEEP,
        &[("cluster[0].two.reads", "6")],
        expect![[r#"
        cluster[0].two.asker[0] 6
        cluster[0].two.asker[1] 6
        cluster[1].two.asker[0] 2
        cluster[1].two.asker[1] 2"#]],
    );
}

#[test]
fn a_derived_card_may_change_parts_inside_modules() {
    let derived = r#"
base = "deep"
[instances.cluster.two.asker]
reads = 7
[instances.cluster."[1]".two.asker."[0]"]
reads = "$n + 7"
"#;
    check_reads(
        derived,
        &[("cluster[0].two.asker[1].reads", "8")],
        expect![[r#"
        cluster[0].two.asker[0] 7
        cluster[0].two.asker[1] 8
        cluster[1].two.asker[0] 9
        cluster[1].two.asker[1] 7"#]],
    );
}
