//! Errors in tables and chains name their place.

use super::*;
use expect_test::{Expect, expect};

fn check(toml: &str, want: Expect) {
    let error = Rmt::new(&params(toml), &card()).map(|_| ()).expect_err("the parameters are wrong");
    want.assert_eq(&error.to_string());
}

/// Errors from reading the file.
fn check_toml(toml: &str, want: Expect) {
    let error =
        toml::from_str::<RmtParams>(&format!("stages = 4\nmax_hops = 4\n{toml}")).expect_err("the file is wrong");
    want.assert_eq(&diagnostics::near::explain_serde_error(error.message()));
}

fn check_action(action: &str, want: Expect) {
    check(
        &format!(
            "metadata = ['x']\nregisters = [{{ kind = 'words', name = 'count', size = 1 }}]\n[[tables]]\nname = 't'\nentries = [{{ actions = [{action}] }}]"
        ),
        want,
    );
}

#[test]
fn chains() {
    let chain = |rest: &str| format!("[[chains]]\nname = 'a'\n{rest}");
    check(
        &chain("services = ['sha', 'ase']"),
        expect!["chains[0].services[1]: unknown service `ase`; known: sha, aes, dpi, kv, nat; did you mean `aes`?"],
    );
    check(
        &chain("services = ['sha', 'aes', 'dpi', 'kv', 'nat']"),
        expect!["chains[0].services: found 5 services, must be at most 4, which a descriptor holds"],
    );
    check(
        &chain("services = ['sha', 'aes', 'sha']"),
        expect!["chains[0].services[2]: `sha` is service 1 of the chain too, must occur once unless `repeat` is set"],
    );
    check(
        &chain("services = ['sha', 'sha']"),
        expect!["chains[0].services[1]: `sha` is service 1 of the chain too, must occur once unless `repeat` is set"],
    );
    check(
        &chain("services = [{ service = 'sha', class = 3 }]"),
        expect!["chains[0].services[0].class: found 3, must be 0 to 2"],
    );
    check(
        &chain("services = []\nexit = 'hots'"),
        expect![
            "chains[0].exit: found `hots`, must be `host`, `host:QUEUE`, `network:PORT` or `drop`; did you mean `host`?"
        ],
    );
    check(
        &chain("services = []\nexit = 'network:2'"),
        expect!["chains[0].exit: found `network:2`, must be `network:0` to `network:1`"],
    );
    check(
        &chain("services = []\nqueues = [1]\nexit = 'host'"),
        expect!["chains[0].exit: found `host`, must be `network:PORT`, because the chain is for transmit queues"],
    );
    check(&chain("services = []\nqueues = [4]"), expect!["chains[0].queues[0]: found 4, must be 0 to 3"]);
    check(
        &chain("services = []\nqueues = [1]\nmatch = 'udp'"),
        expect![
            "chains[0].match: a chain of transmit queues cannot have a match: the queue alone selects its packets (paper, section 3)"
        ],
    );
    check(
        &chain("services = []\nmatch = 'udp.dstport == 1'"),
        expect![[r#"
        chains[0].match: unknown name `udp.dstport`; did you mean `udp.dst_port`?
          udp.dstport == 1
          ^^^^^^^^^^^"#]],
    );
    check(
        "[[chains]]\nname = ''\nservices = []",
        expect![
            "chains[0].name: found ``, must be letters, digits, `_`, `-` and `.`, up to 64, the first a letter or digit"
        ],
    );
    check(
        &chain(&format!("services = []\n{}", chain("services = []"))),
        expect!["chains[1].name: found a second chain `a`, must be one only"],
    );
    check(
        "[[chains]]\nname = 'a'\nqueues = [1]\nservices = []\n[[chains]]\nname = 'b'\nqueues = [0, 1]\nservices = []",
        expect!["chains[1].queues[1]: queue 1 is bound to chain `a`, must be bound to one chain only"],
    );
    assert!(Rmt::new(&params(&chain("services = ['sha', 'aes', 'sha']\nrepeat = true")), &card()).is_ok());
}

#[test]
fn tables_and_stages() {
    let table = |name: &str| format!("[[tables]]\nname = '{name}'\n");
    check(
        &["a", "b", "c", "d", "e"].map(table).concat(),
        expect!["tables: found 5 tables, must be at most 4, the pipeline's stages"],
    );
    check(
        &format!("chains = [{{ name = 'x', services = [] }}]\n{}", ["a", "b", "c", "d"].map(table).concat()),
        expect!["chains[0]: found 4 tables and the chains, must be at most 4, the pipeline's stages"],
    );
    check(&["a", "a"].map(table).concat(), expect!["tables[1].name: found a second table `a`, must be one only"]);
    check(
        &table("Routes"),
        expect![
            "tables[0].name: found `Routes`, must be lower-case letters, digits and `_`, up to 64, the first a letter"
        ],
    );
    check(
        &format!("{}size = 1\nentries = [{{ actions = [] }}, {{ actions = [] }}]", table("a")),
        expect!["tables[0].entries[1]: table `a` would have more entries than its size, must be at most 1"],
    );
    check(
        &format!("{}entries = [{{ match = 'udp &&', actions = [] }}]", table("a")),
        expect![[r#"
        tables[0].entries[0].match: found the end, must be a protocol, a field, `!` or `(`
          udp &&
                ^"#]],
    );
    check("metadata = ['x', 'x']", expect!["metadata[1]: found a second metadata word `x`, must be one only"]);
    check(
        "registers = [{ kind = 'words', name = 'r', size = 0 }]",
        expect!["registers[0].size: found 0, must be 1 to 65536"],
    );
}

#[test]
fn headers() {
    let header = |rest: &str| format!("[[parser.headers]]\nname = 'kv'\n{rest}");
    check(
        &header("after = 'upd'\nbytes = 4"),
        expect![
            "parser.headers[0].after: unknown layer or earlier header `upd`; known: eth, vlan, vlan2, arp, ipv4, ipv6, udp, tcp, icmp, icmpv6; did you mean `udp`?"
        ],
    );
    check(&header("after = 'udp'\nbytes = 300"), expect!["parser.headers[0].bytes: found 300, must be 1 to 256"]);
    check(
        &header("after = 'udp'\nbytes = 4\nwhen = 'kv.op == 1'"),
        expect![[r#"
        parser.headers[0].when: unknown name `kv.op`
          kv.op == 1
          ^^^^^"#]],
    );
    check(
        &header("after = 'udp'\nbytes = 4\nfields = [{ name = 'op', at_bit = 30, bits = 4 }]"),
        expect!["parser.headers[0].fields[0].bits: found 4, must be 1 to 2"],
    );
    check(
        &header("after = 'udp'\nbytes = 4\nfields = [{ name = 'offset', at_bit = 0, bits = 4 }]"),
        expect!["parser.headers[0].fields[0].name: found a second field `kv.offset`, must be one only"],
    );
    check(
        "[[parser.headers]]\nname = 'udp'\nafter = 'eth'\nbytes = 4",
        expect!["parser.headers[0].name: found a second name `udp`, must be one only"],
    );
    check(
        "parser.layers = ['eth', 'ipv5']",
        expect![
            "parser.layers[1]: unknown layer `ipv5`; known: eth, vlan, vlan2, arp, ipv4, ipv6, udp, tcp, icmp, icmpv6; did you mean `ipv4`?"
        ],
    );
    check(
        &header("after = 'udp'\nbytes = 4\nwhen = 'class == 1'"),
        expect![[r#"
            parser.headers[0].when: unknown name `class`
              class == 1
              ^^^^^"#]],
    );
}

#[test]
fn actions() {
    check_action("{ class = 3 }", expect!["tables[0].entries[0].actions[0].class: found 3, must be 0 to 2"]);
    check_action("{ host_queue = 4 }", expect!["tables[0].entries[0].actions[0].host_queue: found 4, must be 0 to 3"]);
    check_action(
        "{ set = { field = 'ipv4.tll', to = 1 } }",
        expect!["tables[0].entries[0].actions[0].set.field: unknown name `ipv4.tll`; did you mean `ipv4.ttl`?"],
    );
    check_action(
        "{ set = { field = 'ipv4.ttl', to = 256 } }",
        expect!["tables[0].entries[0].actions[0].set.to: found 256, must be 0 to 255"],
    );
    check_action(
        "{ set = { field = 'ipv4.dst', to = '10.0.0.256' } }",
        expect![
            "tables[0].entries[0].actions[0].set.to: `10.0.0.256` is not a value of `ipv4.dst`, must be an IPv4 address such as 10.0.0.1"
        ],
    );
    check_action(
        "{ set = { field = 'ipv4.dst', to = 'ipv4.scr' } }",
        expect!["tables[0].entries[0].actions[0].set.to: unknown name `ipv4.scr`; did you mean `ipv4.src`?"],
    );
    check_action(
        "{ set = { field = 'ipv4.header_words', to = 5 } }",
        expect![
            "tables[0].entries[0].actions[0].set.field: `ipv4.header_words` cannot be changed: that would move the bytes after it"
        ],
    );
    check_action(
        "{ set = { field = 'class', to = 1 } }",
        expect!["tables[0].entries[0].actions[0].set.field: `class` cannot be changed; use the action of this name"],
    );
    check_action(
        "{ set = { field = 'meta.y', to = 1 } }",
        expect!["tables[0].entries[0].actions[0].set.field: unknown name `meta.y`; did you mean `meta.x`?"],
    );
    check_action(
        "{ count = { register = 'counts', index = 0 } }",
        expect![
            "tables[0].entries[0].actions[0].count.register: unknown register of words `counts`; known: count; did you mean `count`?"
        ],
    );
    check_action(
        "{ meter = { register = 'count', index = 0, to = 'meta.x' } }",
        expect!["tables[0].entries[0].actions[0].meter.register: unknown meter `count`; there is no meter"],
    );
    check_action(
        "{ push_vlan = { id = 4096 } }",
        expect!["tables[0].entries[0].actions[0].push_vlan.id: found 4096, must be 0 to 4095"],
    );
    check_action(
        "{ hash = { fields = ['ipv4.src', 'ipv4.dts'] } }",
        expect!["tables[0].entries[0].actions[0].hash.fields[1]: unknown name `ipv4.dts`; did you mean `ipv4.dst`?"],
    );
    check_action(
        "{ chain = { services = ['aes', 'sah'] } }",
        expect![
            "tables[0].entries[0].actions[0].chain.services[1]: unknown service `sah`; known: sha, aes, dpi, kv, nat; did you mean `sha`?"
        ],
    );
}

#[test]
fn files() {
    check_toml(
        "stagse = 4",
        expect![
            "unknown field `stagse`, expected one of `stages`, `max_hops`, `parser`, `metadata`, `registers`, `tables`, `chains`; did you mean `stages`?"
        ],
    );
    check_toml(
        "chains = [{ name = 'a', services = ['sha'], clas = 1 }]",
        expect![
            "unknown field `clas`, expected one of `name`, `match`, `queues`, `services`, `class`, `priority`, `slack_cycles`, `exit`, `repeat`, `order`; did you mean `class`?"
        ],
    );
    check_toml(
        "chains = [{ name = 'a', services = [{ service = 'sha', prority = 1 }] }]",
        expect![
            "unknown field `prority`, expected one of `service`, `class`, `priority`, `metadata`; did you mean `priority`?"
        ],
    );
    check_toml(
        "chains = [{ name = 'a', services = [5] }]",
        expect![[
            r#"found the number 5, must be the name of a service or a table, for example { service = "aes", class = 1 }"#
        ]],
    );
    check_toml(
        "tables = [{ name = 'a', entries = [{ actions = [{ clas = 1 }] }] }]",
        expect![
            "unknown variant `clas`, expected one of `chain`, `class`, `priority`, `slack_cycles`, `flow`, `exit`, `host_queue`, `set`, `compute`, `hash`, `push_vlan`, `pop_vlan`, `decrement_ttl`, `checksum`, `count`, `last_seen`, `read`, `write`, `meter`, `stop`; did you mean `class`?"
        ],
    );
    check_toml(
        "tables = [{ name = 'a', entries = [{ actions = [{ class = true }] }] }]",
        expect!["must be a number or the name of a field"],
    );
    check_toml(
        "registers = [{ kind = 'word', name = 'a', size = 1 }]",
        expect!["unknown variant `word`, expected `words` or `meter`; did you mean `words`?"],
    );
}
