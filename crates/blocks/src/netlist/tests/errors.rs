//! Error messages of invalid cards.

use super::{DEEP, PAIR, design_with};
use expect_test::{Expect, expect};

/// Compares the errors of `text`.
fn check(text: &str, want: Expect) {
    check_with(text, &[], want);
}

fn check_with(text: &str, settings: &[(&str, &str)], want: Expect) {
    let message = design_with(text, settings).map(|_| ()).expect_err("it is wrong").to_string();
    want.assert_eq(&message);
}

/// [`PAIR`] with `old` replaced.
fn pair(old: &str, new: &str) -> String {
    assert!(PAIR.contains(old), "{old}");
    PAIR.replacen(old, new, 1)
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    check(
        &pair("left.memory", "left.memry"),
        expect![[r#"
            card.toml: line 4: `left` (asker) has no port `memry`; its ports: `memory`, `spare`; did you mean `memory`?
              connections = ["left.memry -> store.requesters[0]", "right.memory -> store.requesters[1]"]
                              ^^^^^^^^^^"#]],
    );
    check(
        &pair("left.memory", "letf.memory"),
        expect![[r#"
            card.toml: line 4: `letf.memory`: there is no instance `letf`; did you mean `left`?
              connections = ["letf.memory -> store.requesters[0]", "right.memory -> store.requesters[1]"]
                              ^^^^^^^^^^^"#]],
    );
    check(
        &pair("\"store\"", "\"stor\""),
        expect![[r#"
        card.toml: line 10: there is no module `stor`; did you mean `store`?
          store = { module = "stor", requesters = 2 }
                             ^^^^^^"#]],
    );
    check(
        &pair("reads = 4", "reds = 4"),
        expect![[r#"
            card.toml: line 8: `left` (asker): there is no parameter `reds`; its parameters: `reads`, `first`; did you mean `reads`?
              left = { module = "asker", reds = 4 }
                                         ^^^^"#]],
    );
    check(
        &pair("reads = 4 }", "reads = 4, clock = \"cor\" }"),
        expect![[r#"
        card.toml: line 8: `left`: there is no clock `cor`; the card's clocks: `core`; did you mean `core`?
          left = { module = "asker", reads = 4, clock = "cor" }
                                                        ^^^^^"#]],
    );
    check(
        &pair("about", "abuot"),
        expect![[r#"
            card.toml: line 3: a card has no key `abuot`; allowed: `name`, `about`, `base`, `include`, `remove`, `parameters`, `clocks`, `modules`, `instances`, `connections`; did you mean `about`?
              abuot = "Two askers and a store."
              ^^^^^"#]],
    );
    check(
        &pair("\nstore =", "\nbus = { module = \"widget\" }\nstore ="),
        expect![[r#"
        card.toml: line 10: there is no module `widget`; `spinet nic modules` lists them
          bus = { module = "widget" }
                           ^^^^^^^^"#]],
    );
}

#[test]
fn a_port_takes_one_connection_and_needs_one() {
    check(
        &pair("requesters[1]", "requesters[0]"),
        expect![[r#"
            card.toml: line 4: `store.requesters[0]` is already connected, in card.toml, line 4; a port takes one connection
              connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[0]"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            card.toml: line 10: `store.requesters[1]` (memory, right of an arrow) is not connected; it may connect to `left.spare`, `right.spare`
              store = { module = "store", requesters = 2 }
              ^^^^^"#]],
    );
    check(
        &pair("requesters = 2", "requesters = 5"),
        expect![[r#"
        card.toml: line 10: `store.requesters[2]` and 2 more like it (memory, right of an arrow) are not connected; it may connect to `left.spare`, `right.spare`
          store = { module = "store", requesters = 5 }
          ^^^^^"#]],
    );
    check(
        &pair(", \"right.memory -> store.requesters[1]\"", ""),
        expect![[r#"
        card.toml: line 9: `right.memory` (memory, left of an arrow) is not connected; it may connect to `store.requesters[1]`
          right = { module = "asker", reads = 2, first = 100 }
          ^^^^^
        card.toml: line 10: `store.requesters[1]` (memory, right of an arrow) is not connected; it may connect to `left.spare`, `right.memory`, `right.spare`
          store = { module = "store", requesters = 2 }
          ^^^^^"#]],
    );
    check(
        &pair("requesters[1]", "requesters[2]"),
        expect![[r#"
            card.toml: line 4: there is no `store.requesters[2]`; the range is [0] to [1]
              connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[2]"]
                                                                                    ^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("requesters[1]", "requesters"),
        expect![[r#"
            card.toml: line 4: `store.requesters` is 2 ports, must be with brackets such as `requesters[*]` or `requesters[0]`
              connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters"]
                                                                                    ^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("right.memory", "right.memory[0]"),
        expect![[r#"
            card.toml: line 4: `right.memory` is one port, must be without brackets
              connections = ["left.memory -> store.requesters[0]", "right.memory[0] -> store.requesters[1]"]
                                                                    ^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("right.memory", "right[0].memory"),
        expect![[r#"
            card.toml: line 4: `right` is one part, must be without brackets
              connections = ["left.memory -> store.requesters[0]", "right[0].memory -> store.requesters[1]"]
                                                                    ^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("requesters[1]", "requesters[*]"),
        expect![[r#"
            card.toml: line 4: `right.memory` is 1 port, `store.requesters[*]` is 2 ports; both sides must have the same number
              connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[*]"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

#[test]
fn an_arrow_has_two_sides_of_one_protocol() {
    check(
        &pair("right.memory -> store.requesters[1]", "store.requesters[1] -> right.memory"),
        expect![[r#"
        card.toml: line 4: the arrow is the wrong way round, write `right.memory -> store.requesters[1]`
          connections = ["left.memory -> store.requesters[0]", "store.requesters[1] -> right.memory"]
                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("right.memory -> store.requesters[1]", "right.memory -> left.spare"),
        expect![[r#"
            card.toml: line 4: `right.memory` and `left.spare` both stand left of an arrow; `right.memory` may connect to `store.requesters[1]`
              connections = ["left.memory -> store.requesters[0]", "right.memory -> left.spare"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            card.toml: line 10: `store.requesters[1]` (memory, right of an arrow) is not connected; it may connect to `left.spare`, `right.memory`, `right.spare`
              store = { module = "store", requesters = 2 }
              ^^^^^"#]],
    );
    check(
        &pair("right.memory -> store.requesters[1]", "right.memory => store.requesters[1]"),
        expect![[r#"
            card.toml: line 4: found `right.memory => store.requesters[1]`, must be `instance.port -> instance.port`
              connections = ["left.memory -> store.requesters[0]", "right.memory => store.requesters[1]"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("right.memory -> store.requesters[1]", "right -> store.requesters[1]"),
        expect![[r#"
            card.toml: line 4: found `right`, must be `instance.port`
              connections = ["left.memory -> store.requesters[0]", "right -> store.requesters[1]"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("right.memory -> store.requesters[1]", "right.memory -> store.requesters[1"),
        expect![[r#"
            card.toml: line 4: found `requesters[1`, must end with `]`
              connections = ["left.memory -> store.requesters[0]", "right.memory -> store.requesters[1"]
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

#[test]
fn latency_and_room_have_bounds() {
    let group = |more: &str| {
        pair(
            "\"right.memory -> store.requesters[1]\"",
            &format!("{{ wires = [\"right.memory -> store.requesters[1]\"], {more} }}"),
        )
    };
    check(
        &group("latency = 0"),
        expect![[r#"
        card.toml: line 4: latency is 0, must be 1 to 1000000; what is sent at an edge is seen at a later one: without latency, parts that are connected in a circle would wait for each other within the edge
          ..."right.memory -> store.requesters[1]"], latency = 0 }]
                                                               ^"#]],
    );
    check(
        &group("room = -1"),
        expect![[r#"
        card.toml: line 4: room is -1, must be 1 to 1000000
          ...= ["right.memory -> store.requesters[1]"], room = -1 }]
                                                               ^^"#]],
    );
    check(
        &group("latency = 99999999999"),
        expect![[r#"
        card.toml: line 4: latency is 99999999999, must be 1 to 1000000
          ..."right.memory -> store.requesters[1]"], latency = 99999999999 }]
                                                               ^^^^^^^^^^^"#]],
    );
    check(
        &group("latency = 99999999999999999999"),
        expect![[r#"
            card.toml: line 4: the number is 99999999999999999999, must be -2^63 to 2^63 - 1
              ..."right.memory -> store.requesters[1]"], latency = 99999999999999999999 }]
                                                                   ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &group("delay = 1"),
        expect![[r#"
            card.toml: line 4: a group of connections has no key `delay`; allowed: `wires`, `room`, `latency`, `about`
              ... wires = ["right.memory -> store.requesters[1]"], delay = 1 }]
                                                                   ^^^^^"#]],
    );
}

#[test]
fn parameters_are_checked_by_their_module() {
    check(
        &pair("requesters = 2", "requesters = 4000000000"),
        expect![[r#"
        card.toml: line 10: `store` (store): requesters is 4000000000, must be 1 to 64
          store = { module = "store", requesters = 4000000000 }
                                                   ^^^^^^^^^^"#]],
    );
    check(
        &pair("requesters = 2", "requesters = \"two\""),
        expect![[r#"
            card.toml: line 10: `store` (store): requesters: found the text "two", must be a whole number of at least 0
              store = { module = "store", requesters = "two" }
                                                       ^^^^^"#]],
    );
    check(
        &pair("requesters = 2", "requesters = -2"),
        expect![[r#"
            card.toml: line 10: `store` (store): requesters: found the number -2, must be a whole number of at least 0
              store = { module = "store", requesters = -2 }
                                                       ^^"#]],
    );
    check(
        &pair("requesters = 2", "requesters = \"$two\""),
        expect![[r#"
        card.toml: line 10: `requesters` of `store`: there is no parameter `two` here
          store = { module = "store", requesters = "$two" }
                                                   ^^^^^^"#]],
    );
    check(
        &pair(", requesters = 2", ""),
        expect![[r#"
            card.toml: line 10: `store` (store): parameter `requesters` is missing
              store = { module = "store" }
              ^^^^^"#]],
    );
    check(
        &pair("100 MHz", "100 mHz"),
        expect![[r#"
            card.toml: line 6: clocks.core: `100 mHz` is not a frequency from 1 kHz to 100 GHz; write a number with Hz, kHz, MHz or GHz, for example `312.5 MHz`
              core = "100 mHz"
                     ^^^^^^^^^"#]],
    );
    check_with(
        PAIR,
        &[("right.reds", "3")],
        expect![[r#"
            set: line 1: `right` (asker): there is no parameter `reds`; its parameters: `reads`, `first`; did you mean `reads`?
              right.reds = 3
              ^^^^^^^^^^^^^^"#]],
    );
    check_with(
        PAIR,
        &[("rihgt.reads", "3")],
        expect![[r#"
        set: line 1: the card has no instance `rihgt`; did you mean `right`?
          rihgt.reads = 3
          ^^^^^^^^^^^^^^^"#]],
    );
    check_with(
        PAIR,
        &[("reads", "3")],
        expect![[r#"
            set: line 1: the card has no parameter `reads`; its parameters: none; set a clock as clocks.NAME and a parameter of an instance as INSTANCE.NAME
              reads = 3
              ^^^^^^^^^"#]],
    );
}

#[test]
fn settings_of_parts_that_do_not_exist_are_refused() {
    check_with(
        DEEP,
        &[("cluster[2].reads", "3")],
        expect![[r#"
        set: line 1: there is no copy `cluster[2]`; `cluster` has 2 copies, from `cluster[0]` on
          cluster[2].reads = 3
          ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check_with(
        DEEP,
        &[("store[0].requesters", "3")],
        expect![[r#"
        set: line 1: there is no copy `store[0]`; `store` has no `count`
          store[0].requesters = 3
          ^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check_with(
        DEEP,
        &[("cluster.tow.reads", "3")],
        expect![[r#"
        set: line 1: module `cluster` has no parameter `tow`; its parameters: `reads`; its instances: `two`; did you mean `two`?
          cluster.tow.reads = 3
          ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check_with(
        DEEP,
        &[("cluster.two.asker.reds", "3")],
        expect![[r#"
            set: line 1: `asker` (asker): there is no parameter `reds`; its parameters: `reads`, `first`; did you mean `reads`?
              cluster.two.asker.reds = 3
              ^^^^^^^^^^^^^^^^^^^^^^^^^^
            behind.toml: line 9: `cluster[0].two.relay[0].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[0].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[0].two.relay[1].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[1].two.relay[0].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[1].two.relay[0].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[1].two.relay[1].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[0].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^"#]],
    );
    check_with(
        DEEP,
        &[("cluster.two.asker[2].reads", "3")],
        expect![[r#"
        set: line 1: there is no copy `asker[2]`; `asker` has 2 copies, from `asker[0]` on
          cluster.two.asker[2].reads = 3
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check_with(
        DEEP,
        &[("cluster.two.asker.reads", "\"many\"")],
        expect![[r#"
            set: line 1: `asker` (asker): reads: found the text "many", must be a whole number from 0 to 4294967295
              cluster.two.asker.reads = "many"
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            behind.toml: line 9: `cluster[0].two.relay[0].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[0].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[0].two.relay[1].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[1].two.relay[0].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[1].two.relay[0].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[1].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^
            behind.toml: line 9: `cluster[1].two.relay[1].lower` (memory, left of an arrow) is not connected; it may connect to `cluster[0].two.relay[0].upper`, `cluster[0].two.relay[1].upper`, `cluster[1].two.relay[0].upper`, `store.requesters[0..4]`
                      relay = { module = "relay", count = "$n" }
                      ^^^^^"#]],
    );
}

#[test]
fn modules_files_and_bases_are_found_or_refused() {
    check(
        &pair("about =", "include = [\"behnd.toml\", \"circle.toml\", 4]\nabout ="),
        expect![[r#"
            card.toml: line 3: include: there is no `behnd.toml`
              include = ["behnd.toml", "circle.toml", 4]
                         ^^^^^^^^^^^^
            card.toml: line 3: include is a whole number, must be the name of a file or of a preset
              include = ["behnd.toml", "circle.toml", 4]
                                                      ^
            circle.toml: line 1: include: files include each other in a cycle: card.toml -> circle.toml -> circle.toml
              include = ["circle.toml"]
                         ^^^^^^^^^^^^^"#]],
    );
    check(
        &pair("about =", "include = [\"behind.toml\", \"other.toml\", \"number.toml\"]\nabout ="),
        expect![[r#"
            card.toml: line 3: both behind.toml and other.toml have a module `behind`, must be in one of them only
              include = ["behind.toml", "other.toml", "number.toml"]
                                        ^^^^^^^^^^^^
            number.toml: line 1: name is a whole number, must be a text
              name = 4
                     ^"#]],
    );
    check(
        "name = \"x\"\nbase = \"pair\"\nremove = [\"lefd\", \"left.memry\", 4]\n",
        expect![[r#"
        card.toml: line 3: remove: the base has no instance `lefd`; did you mean `left`?
          remove = ["lefd", "left.memry", 4]
                    ^^^^^^
        card.toml: line 3: remove: the base has no connection at a port `left.memry`; did you mean `left.memory`?
          remove = ["lefd", "left.memry", 4]
                            ^^^^^^^^^^^^
        card.toml: line 3: remove has a whole number, must have the name of an instance, or a port such as "cpu.memory"
          remove = ["lefd", "left.memry", 4]
                                          ^"#]],
    );
    let selfish = "[modules.a.instances]\nb = { module = \"b\" }\n[modules.b.instances]\na = { module = \"a\" }\n";
    check(
        &format!("{PAIR}{selfish}"),
        expect![[r#"
            card.toml: line 14: a module cannot contain itself: a -> b -> a
              a = { module = "a" }
              ^"#]],
    );
    check(
        &format!(
            "{PAIR}[modules.relay]\nparameters = {{ a-b = 1 }}\n[modules.unused.instances]\na = {{ module = \"askr\" }}\n"
        ),
        expect![[r#"
            card.toml: line 12: modules.relay.parameters has `a-b`, must be a name of letters, digits and `_`; `-` means minus
              parameters = { a-b = 1 }
                             ^^^"#]],
    );
}

#[test]
fn malformed_cards_are_described_plainly() {
    check("", expect![[r#"card.toml: line 1: the card has no `name`, must be a text such as name = "my card""#]]);
    check(
        "name = \"x\n",
        expect![[r#"
        card.toml: line 1: invalid basic string, expected `"`
          name = "x
                   ^"#]],
    );
    check(
        "name = \"x\"\n[instances]\nconnections = []\n\"a b\" = {}\n",
        expect![[r#"
            card.toml: line 3: instances.connections is a list, must be a table such as { module = "..." }; keys of the card itself must come before its first [table]
              connections = []
                            ^^
            card.toml: line 4: instances has `a b`, must be a name of letters, digits, `_` and `-`
              "a b" = {}
              ^^^^^"#]],
    );
    check(
        "name = 4\nconnections = 4\ninstances = 4\nclocks = [1]\nmodules = { a = 1 }\nremove = [\"x\"]\n",
        expect![[r#"
            card.toml: line 1: name is a whole number, must be a text
              name = 4
                     ^
            card.toml: line 2: connections is a whole number, must be a list
              connections = 4
                            ^
            card.toml: line 3: instances is a whole number, must be a table
              instances = 4
                          ^
            card.toml: line 4: clocks is a list, must be a table
              clocks = [1]
                       ^^^
            card.toml: line 5: modules.a is a whole number, must be a table
              modules = { a = 1 }
                              ^
            card.toml: line 6: found `remove` without `base`, must have a `base` to remove parts from
              remove = ["x"]
                        ^^^"#]],
    );
}

#[test]
fn an_unused_name_gets_a_suggestion() {
    let derived = "base = \"many\"\n[parameters]\nasker = 3\n[clocks]\ncoer = \"50 MHz\"\n";
    check(
        derived,
        expect![[r#"
            card.toml: line 5: no part has the clock `coer`; did you mean `core`?
              coer = "50 MHz"
              ^^^^
            card.toml: line 3: nothing uses the parameter `asker`; did you mean `askers`?
              asker = 3
              ^^^^^"#]],
    );
}
