use super::*;
use crate::layers::Layers;
use crate::tcp::flag;
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// A TCP packet with `flags`; the flow `f` is its source port.
fn tcp(f: u8, flags: u8) -> Vec<u8> {
    let mut packet = crate::format::unhex(
        "020000000002 020000000001 0800 45000028 00000000 40060000 0a000001 0a000002
         0000 0050 00000001 00000000 50 00 0000 0000 0000",
    );
    packet[35] = f;
    packet[47] = flags;
    packet
}

fn arp() -> Vec<u8> {
    crate::format::unhex(
        "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002",
    )
}

/// One packet per letter: flow `a`, `b`...; upper case sets FIN; `-` is ARP.
fn packets(text: &str) -> Vec<Vec<u8>> {
    let packet = |c: char| match c {
        '-' => arp(),
        c if c.is_uppercase() => tcp(c.to_ascii_lowercase() as u8, flag::FIN),
        c => tcp(c as u8, flag::ACK),
    };
    text.chars().map(packet).collect()
}

fn classifier(spec: &str, traffic: &[Vec<u8>]) -> Classifier {
    let mut index = FlowIndex::new(spec.parse().unwrap());
    for packet in traffic {
        index.add(packet, &Layers::parse(packet));
    }
    index.into_classifier()
}

/// Number of each packet's message, with `(` before a first and `)` after a last packet; then the open messages.
fn check(spec: &str, traffic: &str, want: Expect) {
    let traffic = packets(traffic);
    let mut classifier = classifier(spec, &traffic);
    let mut text = String::new();
    for packet in &traffic {
        let v = classifier.classify(packet, &Layers::parse(packet));
        let (first, last) = (if v.is_first() { "(" } else { "" }, if v.is_last { ")" } else { "" });
        text += &format!("{first}{}{last} ", v.message);
    }
    for open in classifier.open_messages() {
        text += &format!("[{} open after {}]", open.message, open.packets);
    }
    want.assert_eq(text.trim_end());
}

#[test]
fn every_key_and_every_end() {
    check("each", "aab-", expect!["(0) (1) (2) (3)"]);
    check(
        "by 5-tuple until tcp.flags.fin || tcp.flags.rst",
        "aabAba",
        expect!["(0 0 (1 0) 1 (2 [1 open after 2][2 open after 1]"],
    );
    check("flow count 2", "abcabA", expect!["(0 (1 (2 0) 1) (3 [2 open after 1][3 open after 1]"]);
    check("by flow last", "abacb-", expect!["(0 (1 0) (2) 1) (3)"]);
    check("by flow", "aba", expect!["(0 (1) 0)"]);
    check("by tcp.src_port, ipv4.src last", "aba-", expect!["(0 (1) 0) (2)"]);
    check("by ipv4.src,udp.dst_port count 3", "abcd", expect!["(0 0 0) (1 [1 open after 1]"]);
    check("all count 3", "ab-c", expect!["(0 0 0) (1 [1 open after 1]"]);
    check("all", "ab-", expect!["(0 0 0)"]);
    check("by 5-tuple count 1", "aA", expect!["(0) (1)"]);
}

#[test]
fn a_definition_may_say_which_packet_is_the_first() {
    let traffic = packets("aAa");
    let headers = |spec: &str| {
        let mut classifier = classifier(spec, &traffic);
        let verdicts = traffic.iter().map(|packet| classifier.classify(packet, &Layers::parse(packet)));
        verdicts.map(|verdict| (verdict.is_first(), verdict.is_header)).collect::<Vec<_>>()
    };
    assert_eq!(headers("by flow last"), [(true, None), (false, None), (false, None)]);
    let late = [(true, Some(false)), (false, Some(true)), (false, Some(false))];
    assert_eq!(headers("by flow from tcp.flags.fin last"), late);
}

#[test]
fn packets_missing_in_the_index_are_counted_and_stay_open() {
    let mut classifier = classifier("by flow last", &packets("a"));
    for packet in packets("ab") {
        classifier.classify(&packet, &Layers::parse(&packet));
    }
    assert_eq!(classifier.counts().unindexed, 1);
    assert_eq!(classifier.open_messages(), [OpenMessage { message: 1, packets: 1 }]);
}

#[test]
fn canonical_text() {
    for (text, want) in [
        ("each", "each"),
        ("by each", "each"),
        ("by flow", "by 5-tuple last"),
        (" by  ipv4.src ,bytes[0:2]  count 7 ", "by ipv4.src, bytes[0:2] count 7"),
        ("all until udp and true", "all until udp && true"),
        ("flow from tcp.flags.syn", "by 5-tuple from tcp.flags.syn last"),
        ("by flow from tcp.flags.syn and true count 3", "by 5-tuple from tcp.flags.syn && true count 3"),
        ("all from udp until tcp", "all from udp until tcp"),
    ] {
        let spec = MessageSpec::parse(text).unwrap();
        assert_eq!(spec.to_string(), want);
        assert_eq!(MessageSpec::parse(want).unwrap(), spec);
    }
}

#[test]
fn errors_point_into_the_text() {
    let check = |text: &str, want: Expect| want.assert_eq(&MessageSpec::parse(text).unwrap_err().to_string());
    check(
        "  ",
        expect!["the message definition is empty; write for example `each` or `by 5-tuple until tcp.flags.fin`"],
    );
    check(
        "by",
        expect![[r#"
        found `by`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src`
          by
          ^^"#]],
    );
    check(
        "count 3",
        expect![[r#"
        found `count`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src`
          count 3
          ^^^^^"#]],
    );
    check(
        "eech",
        expect![[r#"
            unknown key `eech`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`; did you mean `each`?
              eech
              ^^^^"#]],
    );
    check(
        "by 5tuple last",
        expect![[r#"
            unknown key `5tuple`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`; did you mean `5-tuple`?
              by 5tuple last
                 ^^^^^^"#]],
    );
    check(
        "by ipv4.scr, udp.dst_port last",
        expect![[r#"
            unknown key `ipv4.scr`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`; did you mean `ipv4.src`?
              by ipv4.scr, udp.dst_port last
                 ^^^^^^^^"#]],
    );
    check(
        "by ipv4.src udp.dst_port",
        expect![[r#"
            found `udp.dst_port`, must be `,`, `from`, `count`, `until` or `last` after a field
              by ipv4.src udp.dst_port
                         ^^^^^^^^^^^^^"#]],
    );
    check(
        "by ipv4.src,, last",
        expect![[r#"
        unknown key ``, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`
          by ipv4.src,, last
                      ^"#]],
    );
    check(
        "by 5-tuple, until tcp.flags.fin",
        expect![[r#"
            found `,`, must be `from`, `count`, `until` or `last`: the key before it cannot be combined
              by 5-tuple, until tcp.flags.fin
                        ^"#]],
    );
    check(
        "by ipv4.src, flow last",
        expect![[r#"
            found `flow`, must be a field: this key cannot be combined
              by ipv4.src, flow last
                           ^^^^"#]],
    );
    check(
        "by flow count 0",
        expect![[r#"
            the number of packets is `0`, must be 1 or more
              by flow count 0
                            ^"#]],
    );
    check(
        "by flow count",
        expect![[r#"
            the number of packets is ``, must be 1 or more
              by flow count
                           ^"#]],
    );
    check(
        "by flow last 3",
        expect![[r#"
        found `3`, must be nothing after `last`
          by flow last 3
                       ^"#]],
    );
    check(
        "each count 3",
        expect![[r#"
            found `count` after `each`, must be `each` alone: each packet is a message
              each count 3
                   ^^^^^"#]],
    );
    check(
        "by flow until tcp.flags.fim",
        expect![[r#"
        unknown name `tcp.flags.fim`; did you mean `tcp.flags.fin`?
          by flow until tcp.flags.fim
                        ^^^^^^^^^^^^^"#]],
    );
    check(
        "by flow until",
        expect![[r#"
        the expression is empty; write for example `udp.dst_port == 9999`
          by flow until
                       ^"#]],
    );
    check(
        "by bytes[0:99] last",
        expect![[r#"
        a slice has 99 bytes, must be 1 to 16
          by bytes[0:99] last
                    ^^^"#]],
    );
}

proptest! {
    #[test]
    fn every_message_has_one_first_and_at_most_one_last(
        spec in prop::sample::select(vec!["each", "flow", "flow count 3", "flow until tcp.flags.fin", "all count 2"]),
        traffic in "[a-cA-C-]{0,60}",
    ) {
        let traffic = packets(&traffic);
        let mut classifier = classifier(spec, &traffic);
        let mut seen: Vec<(u64, bool)> = Vec::new();
        for packet in &traffic {
            let v = classifier.classify(packet, &Layers::parse(packet));
            if v.is_first() {
                prop_assert_eq!(v.message as usize, seen.len());
                seen.push((0, false));
            }
            let (packets, ended) = &mut seen[v.message as usize];
            prop_assert!(!*ended);
            prop_assert_eq!(v.position, *packets);
            *packets += 1;
            *ended = v.is_last;
        }
        let open = seen.iter().filter(|(_, ended)| !ended).count();
        prop_assert_eq!(open, classifier.open_messages().len());
        if spec == "flow" {
            prop_assert_eq!(open, 0);
        }
        prop_assert_eq!(classifier.counts().ended as usize, seen.len() - open);
    }

    #[test]
    fn any_text_is_read_without_harm(text in "[a-z0-9.:, \\[\\]()!&|]{0,40}") {
        if let Err(error) = MessageSpec::parse(&text) {
            prop_assert!(error.span.end <= text.len(), "{error}");
        }
        if let Err(error) = MessageSpec::parse(&format!("by {text} until {text}")) {
            let _ = error.to_string();
        }
    }
}
