//! Chains as text.

use super::*;
use crate::rmt::{ChainParams, Problem};
use expect_test::{Expect, expect};

/// Checks the canonical text and the verdict for a UDP packet, or the error.
fn check(text: &str, want: Expect) {
    let mut rmt = rmt("metadata = ['x']");
    let outcome = match rmt.parse_chain(text) {
        Ok(chain) => {
            rmt.insert_chain(&chain).unwrap_or_else(|error| panic!("{error}"));
            let from = chain.queues.first().map_or(ExternalPort::Network(1), |&queue| ExternalPort::Host(queue));
            format!("{chain}\n{}", ask(&mut rmt, 0, from, UDP))
        }
        Err(error) => error.to_string(),
    };
    want.assert_eq(&outcome);
}

#[test]
fn short_and_long() {
    check(
        "ipsec: sha -> aes",
        expect![[r#"
        ipsec: sha -> aes
        sha -> aes => host:0"#]],
    );
    check(
        "ipsec[udp.dst_port == 9999]:sha->aes=>network",
        expect![[r#"
        ipsec [udp.dst_port == 9999]: sha -> aes => network
        sha -> aes => network:0"#]],
    );
    check(
        "kv [ udp.payload[0:2] == \"he\" ] class=1 priority=4: kv(metadata=payload.offset) => host:2",
        expect![[r#"
        kv [ udp.payload[0:2] == "he" ] class=1 priority=4: kv(metadata=payload.offset) => host:2
        kv(c1 p4 m42) => host:2, class 1"#]],
    );
    check(
        "background:",
        expect![[r#"
        background:
        => host:0"#]],
    );
    check(
        "all: => network:1",
        expect![[r#"
        all: => network:1
        => network:1"#]],
    );
    check(
        "out queues=1,3 slack_cycles=99: aes(class=2, priority=1)",
        expect![[r#"
        out slack_cycles=99 queues=1,3: aes(class=2, priority=1)
        aes(c2 p1) => network:0, slack 99"#]],
    );
    check(
        "twice repeat order=2: sha -> aes -> sha",
        expect![[r#"
        twice order=2 repeat: sha -> aes -> sha
        sha -> aes -> sha => host:0"#]],
    );
    check(
        "no [udp.payload[0:1] == \"]\"]: sha",
        expect![[r#"
        no [udp.payload[0:1] == "]"]: sha
        => host:0"#]],
    );
    check(
        "sink: => drop",
        expect![[r#"
        sink: => drop
        => drop"#]],
    );
}

#[test]
fn errors_point_into_the_text() {
    check("", expect!["found the end, must be a name, then `:` and services, for example `ipsec: sha -> aes`"]);
    check(
        "ipsec",
        expect![[r#"
            found the end, must be `:`, or before it `[MATCH]` and settings, for example `class=1`
              ipsec
                   ^"#]],
    );
    check(
        ": sha",
        expect![[r#"
            found `:`, must be a name, then `:` and services, for example `ipsec: sha -> aes`
              : sha
              ^"#]],
    );
    check(
        "ipsec: sha -> ase",
        expect![[r#"
        unknown service `ase`; known: sha, aes, dpi, kv, nat; did you mean `aes`?
          ipsec: sha -> ase
                        ^^^"#]],
    );
    check(
        "ipsec: sha -> aes -> sha",
        expect![[r#"
            `sha` is service 1 of the chain too, must occur once unless `repeat` is set
              ipsec: sha -> aes -> sha
                                   ^^^"#]],
    );
    check(
        "ipsec: sha -> aes -> dpi -> kv -> nat",
        expect![[r#"
            found 5 services, must be at most 4, which a descriptor holds
              ipsec: sha -> aes -> dpi -> kv -> nat
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "ipsec priority=1: sha -> aes(priority=2) -> dpi -> kv -> nat",
        expect![[r#"
            found 5 services, must be at most 4, which a descriptor holds
              ipsec priority=1: sha -> aes(priority=2) -> dpi -> kv -> nat
                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "ipsec: sha ->",
        expect![[r#"
        found the end, must be a service
          ipsec: sha ->
                       ^"#]],
    );
    check(
        "ipsec: sha aes",
        expect![[r#"
        found `aes`, must be `->`, `=>` or the end
          ipsec: sha aes
                     ^^^"#]],
    );
    check(
        "ipsec [udp.dstport == 1]: sha",
        expect![[r#"
        unknown name `udp.dstport`; did you mean `udp.dst_port`?
          ipsec [udp.dstport == 1]: sha
                 ^^^^^^^^^^^"#]],
    );
    check(
        "ipsec [udp: sha",
        expect![[r#"
            found `[` without an end, must be closed by `]` after the match expression
              ipsec [udp: sha
                    ^"#]],
    );
    check(
        "ipsec clas=1: sha",
        expect![[r#"
        unknown setting `clas`; known: class, priority, slack_cycles, queues, order, repeat; did you mean `class`?
          ipsec clas=1: sha
                ^^^^"#]],
    );
    check(
        "ipsec class=3: sha",
        expect![[r#"
        found 3, must be 0 to 2
          ipsec class=3: sha
                      ^"#]],
    );
    check(
        "ipsec class=1 class=2: sha",
        expect![[r#"
            found a second setting `class`, must be one only
              ipsec class=1 class=2: sha
                            ^^^^^"#]],
    );
    check(
        "ipsec: sha(class=7)",
        expect![[r#"
        found 7, must be 0 to 2
          ipsec: sha(class=7)
                           ^"#]],
    );
    check(
        "ipsec: sha(metadata=meta.y)",
        expect![[r#"
        unknown name `meta.y`; did you mean `meta.x`?
          ipsec: sha(metadata=meta.y)
                              ^^^^^^"#]],
    );
    check(
        "ipsec: sha => hots",
        expect![[r#"
        found `hots`, must be `host`, `host:QUEUE`, `network:PORT` or `drop`; did you mean `host`?
          ipsec: sha => hots
                        ^^^^"#]],
    );
    check(
        "ipsec: sha => network:2",
        expect![[r#"
            found `network:2`, must be `network:0` to `network:1`
              ipsec: sha => network:2
                            ^^^^^^^^^"#]],
    );
    check(
        "ipsec queues=9: sha",
        expect![[r#"
        found 9, must be 0 to 3
          ipsec queues=9: sha
                       ^"#]],
    );
    check(
        "ipsec [udp] queues=1: sha",
        expect![[r#"
            a chain of transmit queues cannot have a match: the queue alone selects its packets (paper, section 3)
              ipsec [udp] queues=1: sha
                     ^^^"#]],
    );
    check(
        "ipsec queues=1: sha => host",
        expect![[r#"
            found `host`, must be `network:PORT`, because the chain is for transmit queues
              ipsec queues=1: sha => host
                                     ^^^^"#]],
    );
}

#[test]
fn chain_names_are_unique() {
    let mut rmt = rmt("");
    rmt.insert_chain(&ChainParams::new("a", &["sha"])).unwrap();
    let error = rmt.parse_chain("a: aes").unwrap_err();
    assert_eq!((error.span, error.problem), (0..1, Problem::Taken { what: "chain", name: "a".into() }));
}
