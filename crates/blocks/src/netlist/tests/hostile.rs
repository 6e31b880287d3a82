//! Hostile files: each is soon answered by an error or a design.

use super::{PAIR, design_with, find, parts};
use crate::netlist::{Card, Environment, Netlist};
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(text: &str, want: Expect) {
    want.assert_eq(&design_with(text, &[]).map(|_| ()).expect_err("it is too large").to_string());
}

#[test]
fn absurd_sizes_are_refused() {
    check(
        &PAIR.replace("reads = 4", "count = 1000000000, reads = 4"),
        expect![[r#"
            card.toml: line 8: count is 1000000000, must be 0 to 10000
              left = { module = "asker", count = 1000000000, reads = 4 }
                                                 ^^^^^^^^^^"#]],
    );
    check(
        &PAIR.replace("requesters[1]", "requesters[0..99999999999]"),
        expect![[r#"
            card.toml: line 4: there is no `store.requesters[2]`; the range is [0] to [1]
              ....memory -> store.requesters[0]", "right.memory -> store.requesters[0..99999999999]"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &PAIR.replace("requesters[1]", "requesters[9223372036854775807..]"),
        expect![[r#"
            card.toml: line 4: `right.memory` is 1 port, `store.requesters[9223372036854775807..]` is 0 ports; both sides must have the same number
              ...nections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[9223372036854775...
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            card.toml: line 10: `store.requesters[1]` (memory, right of an arrow) is not connected; it may connect to `left.spare`, `right.memory`, `right.spare`
              store = { module = "store", requesters = 2 }
              ^^^^^"#]],
    );
    let twice = |i: u32| format!("[modules.m{i}.instances]\nx = {{ module = \"m{}\", count = 2 }}\n", i + 1);
    let doubling: String = (0..30).map(twice).collect();
    check(
        &format!("{PAIR}x = {{ module = \"m0\" }}\n{doubling}[modules.m30]\n"),
        expect![[r#"
            card.toml: line 69: the card has more than 10000 parts, must be at most 10000
              x = { module = "m29", count = 2 }
              ^"#]],
    );
    let deep = |i: u32| format!("[modules.m{i}.instances]\nx = {{ module = \"m{}\" }}\n", i + 1);
    let chain: String = (0..40).map(deep).collect();
    check(
        &format!("{PAIR}x = {{ module = \"m0\" }}\n{chain}[modules.m40]\n"),
        expect![[r#"
            card.toml: line 75: modules are nested 33 deep, must be at most 32
              x = { module = "m32" }
              ^"#]],
    );
}

/// A card that uses every feature; the tests mutilate it.
const RICH: &str = r#"
name = "rich"
include = ["behind.toml"]
base = "pair"
remove = ["left"]
connections = [
  "a[*].memory -> s.requesters[1..$n + 1]",
  { wires = ["g.memories[*] -> store.requesters[0..1]", "a0.memory -> s.requesters[0]"], latency = 2, room = "$n" },
]
[parameters]
n = 3
m = "$n * 2"
[clocks]
mem = "66.6 MHz"
[modules.pass]
parameters = { k = 1 }
ports = { up = "r.upper", down = "r.lower" }
instances = { r = { module = "relay" } }
[instances]
a = { module = "asker", clock = "core", count = "$n", reads = "$m" }
a0 = { module = "asker", clock = "mem", reads = 1 }
s = { module = "store", clock = "mem", requesters = "($n + 1)" }
g = { module = "behind", clock = "core" }
right = { clock = "core" }
store = { clock = "core" }
"#;

/// Fragments of cards, inserted at random positions.
const BITS: &[&str] = &[
    "[*]",
    "[0..]",
    "[",
    "]",
    "->",
    ".",
    "$",
    "$n",
    "$index",
    "\"",
    "count = 1000000000",
    "{",
    "}",
    "\n",
    "=",
    "-1",
    "0",
    "99999999999999999999",
    "module = \"behind\"",
    "base = \"rich\"",
    "[instances]",
    "[modules.behind]",
    "é",
    "\0",
    "'",
    "*",
    "0..",
    "\\",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_mutilated_card_is_an_error_or_a_card(
        cuts in prop::collection::vec((0usize..1200, 0usize..12, 0usize..BITS.len()), 1..5),
    ) {
        let mut text = RICH.to_owned();
        for (at, length, bit) in cuts {
            let start = text.floor_char_boundary(at.min(text.len()));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, BITS[bit]);
        }
        match Netlist::read("card.toml", &text, &[], &find).and_then(|netlist| netlist.design(&parts::catalog())) {
            Ok(design) => drop(Card::build(&design, 1, &Environment::default())),
            Err(errors) => {
                prop_assert!((1..=20).contains(&errors.problems.len()));
                prop_assert!(!errors.to_string().is_empty());
            }
        }
    }
}

#[test]
fn the_rich_card_is_valid() {
    let design = design_with(RICH, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((design.parts.len(), design.connections.len()), (9, 7));
}
