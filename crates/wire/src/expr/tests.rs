use super::*;
use crate::format::unhex;
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// UDP from 10.1.2.3:5000 to 192.168.0.1:9999 with payload "hello".
fn udp() -> Vec<u8> {
    unhex(
        "020000000002 020000000001 0800 45000021 00010000 40110000 0a010203 c0a80001
         1388 270f 000d 0000 68656c6c6f",
    )
}

/// TCP SYN from 2001:db8::1 to ::1 in VLAN 5.
fn tcp() -> Vec<u8> {
    unhex(
        "020000000002 020000000001 8100 a005 86dd 60000000 0014 06 40
         20010db8000000000000000000000001 00000000000000000000000000000001
         0050 ffff 00000001 00000000 50 02 0000 0000 0000",
    )
}

/// Which of the two packets match.
fn check(expr: &str, want: &str) {
    let matcher = Matcher::parse(expr).unwrap_or_else(|e| panic!("{e}"));
    let hits: String =
        [("u", udp()), ("t", tcp())].iter().filter(|(_, p)| matcher.matches(p)).map(|(n, _)| *n).collect();
    assert_eq!(hits, want, "{expr}");
}

#[test]
fn layers_flags_and_logic() {
    check("udp", "u");
    check("ipv6 && tcp && vlan && !vlan2", "t");
    check("tcp.flags.syn", "t");
    check("tcp.flags.syn == 1 and not tcp.flags.ack", "t");
    check("udp or tcp.flags.fin or vlan.id == 5", "ut");
    check("udp && ipv6 || tcp", "t");
    check("udp && (ipv6 || tcp)", "");
    check("!(udp || arp)", "t");
    check("!!!udp", "t");
    check("true", "ut");
    check("false || not false && udp", "u");
}

#[test]
fn comparisons_and_sets() {
    check("ipv4 && udp.dst_port == 9999", "u");
    check("udp.dst_port >= 9999 && udp.dst_port <= 9999 && udp.dst_port > 9998 && udp.dst_port < 10_000", "u");
    check("udp.dst_port in 9000..9999", "u");
    check("udp.dst_port in 9000 .. 9998", "");
    check("udp.dst_port in {53, 0x270f}", "u");
    check("udp.src_port in {53, 4999..5000, 7}", "u");
    check("udp.src_port in {1..10, 5001..5003, 4000..4999}", "");
    check("ipv4.src in 10.0.0.0/8", "u");
    check("ipv4.src in 10.1.2.99/24 && ipv4.dst in 0.0.0.0/0", "u");
    check("ipv4.src in 10.1.2.2/32", "");
    check("ipv4.src in 10.1.2.1..10.1.2.3 && ipv4.src < 10.1.2.4", "u");
    check("ipv4.dst in {10.0.0.0/8, 192.168.0.1}", "u");
    check("ipv6.src in 2001:db8::/32 && ipv6.dst == ::1", "t");
    check("ipv6.src in ::/0", "t");
    check("eth.src == 02:00:00:00:00:01 && eth.dst in {02:00:00:00:00:02}", "ut");
    check("vlan.priority == 5 && vlan.type == 0x86dd && eth.type == 0x8100", "t");
    check("len == 47", "u");
    check("tcp.dst_port == 65535 && tcp.flags == 0x02 && tcp.header_words == 5", "t");
}

#[test]
fn slices_of_packet_and_payload() {
    check("bytes[36:2] == 0x270f", "u");
    check("bytes[0] == 2 && bytes[5] == 2", "ut");
    check("bytes[46:2] >= 0", "t");
    check("bytes[47:1] >= 0", "t");
    check(r#"udp.payload[0:5] == "hello""#, "u");
    check(r#"udp.payload[1:2] in {"el", "xx"}"#, "u");
    check("udp.payload[3:2] == 0x6c6f && udp.payload_len == 5", "u");
    check("udp.payload[4:2] >= 0", "");
    check("tcp.payload_len == 0", "t");
    check("bytes[4294967295:16] == 0", "");
}

#[test]
fn what_is_known_besides_can_be_named() {
    let number = |name: &str, bits| Known { name: name.into(), kind: Kind::Number { bits } };
    let known = [number("meta.tenant", 8), number("kv.key", 32), Known { name: "kv".into(), kind: Kind::Flag }];
    let ask = |text: &str, values: &[Option<u128>]| {
        let matcher = Matcher::parse_with(text, &known).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(matcher.to_string(), text);
        matcher.matches_with(&udp(), &Layers::parse(&udp()), values)
    };
    assert!(ask("udp && meta.tenant == 3 && kv", &[Some(3), None, Some(1)]));
    assert!(ask("kv.key in {1, 7..9}", &[Some(3), Some(8), Some(1)]));
    // What is not there is absent, also when nobody says what it is.
    assert!(!ask("kv.key != 1", &[Some(3), None, None]));
    assert!(ask("!kv", &[]));
    let error = Matcher::parse_with("meta.tennant == 1", &known).unwrap_err().to_string();
    assert!(error.starts_with("unknown name `meta.tennant`, did you mean `meta.tenant`?"), "{error}");
    assert!(Matcher::parse_with("meta.tenant == 256", &known).is_err());
    assert_eq!(Field::parse("kv.key", &known).unwrap().known_index(), Some(1));
    assert!(Field::parse("kv.key 1", &known).is_err());
}

/// `field = value` on the packet, then the bytes of it that are others than before.
fn check_store(packet: Vec<u8>, field: &str, value: &str, want: &str) {
    let field = Field::parse(field, &[]).unwrap();
    let (mut changed, layers) = (packet.clone(), Layers::parse(&packet));
    let is_there = field.store(&mut changed, &layers, field.parse_value(value).unwrap());
    let differing = (0..packet.len()).filter(|&i| packet[i] != changed[i]);
    let text: Vec<String> = differing.map(|i| format!("{i}:{:02x}", changed[i])).collect();
    assert_eq!(if is_there { text.join(" ") } else { "absent".into() }, want);
}

#[test]
fn fields_can_be_stored() {
    check_store(udp(), "ipv4.ttl", "63", "22:3f");
    check_store(udp(), "ipv4.dscp", "46", "15:b8");
    check_store(udp(), "udp.dst_port", "0x1234", "36:12 37:34");
    check_store(udp(), "ipv4.dst", "10.0.0.1", "30:0a 31:00");
    check_store(udp(), "eth.src", "0a:00:00:00:00:0b", "6:0a 11:0b");
    check_store(udp(), "udp.payload[1:2]", r#""EL""#, "43:45 44:4c");
    check_store(udp(), "udp.payload[4:2]", "1", "absent");
    check_store(tcp(), "vlan.id", "6", "15:06");
    check_store(tcp(), "vlan.priority", "1", "14:20");
    check_store(tcp(), "ipv6.hop_limit", "1", "25:01");
    check_store(tcp(), "tcp.flags.ack", "1", "71:12");
    check_store(tcp(), "udp.dst_port", "1", "absent");
    check_store(tcp(), "len", "1", "absent");
}

#[test]
fn a_comparison_with_an_absent_field_is_false() {
    check("udp.dst_port != 53", "u");
    check("!(udp.dst_port == 53)", "ut");
    check("udp.dst_port == 53 || udp.dst_port != 53", "u");
    check("arp.operation >= 0", "");
}

/// What an error looks like.
fn fails(expr: &str, want: Expect) {
    want.assert_eq(&Matcher::parse(expr).unwrap_err().to_string());
}

#[test]
fn errors_point_into_the_text() {
    fails("", expect!["the expression is empty, must be such as `udp.dst_port == 9999`"]);
    fails(
        "ipv4 && udp.dstport == 1",
        expect![[r#"
        unknown name `udp.dstport`, did you mean `udp.dst_port`?
          ipv4 && udp.dstport == 1
                  ^^^^^^^^^^^"#]],
    );
    fails(
        "udp.dst_port == 70000",
        expect![[r#"
        70000 does not fit `udp.dst_port`, must be 0 to 65535
          udp.dst_port == 70000
                          ^^^^^"#]],
    );
    fails(
        "udp.dst_port == 10.0.0.1",
        expect![[r#"
        `10.0.0.1` is no value of `udp.dst_port`, must be a number, 0 to 65535
          udp.dst_port == 10.0.0.1
                          ^^^^^^^^"#]],
    );
    fails(
        "udp.dst_port = 1",
        expect![[r#"
        found `=`, must be `==`
          udp.dst_port = 1
                       ^"#]],
    );
    fails(
        "udp.dst_port",
        expect![[r#"
        `udp.dst_port` is no flag, must be compared, such as `udp.dst_port == 1`
          udp.dst_port
          ^^^^^^^^^^^^"#]],
    );
    fails(
        "udp.dst_port < 0",
        expect![[r#"
        the comparison can never be true: `udp.dst_port` is 0 to 65535
          udp.dst_port < 0
                       ^^^"#]],
    );
    fails(
        "udp.dst_port ==",
        expect![[r#"
        found the end, must be a value
          udp.dst_port ==
                         ^"#]],
    );
    fails(
        "udp tcp",
        expect![[r#"
        found `tcp`, must be `&&`, `||` or the end
          udp tcp
              ^^^"#]],
    );
    fails(
        "(udp",
        expect![[r#"
        found the end, must be `)`, `&&` or `||`
          (udp
              ^"#]],
    );
    fails(
        "udp &&",
        expect![[r#"
        found the end, must be a protocol, a field, `!` or `(`
          udp &&
                ^"#]],
    );
    fails(
        "udp & tcp",
        expect![[r#"
        found `&`, must be `&&`, `||` or the end
          udp & tcp
              ^"#]],
    );
    fails(
        "eth.src < 02:00:00:00:00:01",
        expect![[r#"
        `eth.src` has no order, must be compared with ==, != or in
          eth.src < 02:00:00:00:00:01
                  ^"#]],
    );
    fails(
        "ipv4.src == 10.0.0.0/8",
        expect![[r#"
        a prefix means many addresses: use `ipv4.src in 10.0.0.0/8`
          ipv4.src == 10.0.0.0/8
                      ^^^^^^^^^^"#]],
    );
    fails(
        "ipv4.src in 10.0.0.0/33",
        expect![[r#"
        the prefix is 33, must be 0 to 32
          ipv4.src in 10.0.0.0/33
                               ^^"#]],
    );
    fails(
        "ipv4.src in 10.0.0.1",
        expect![[r#"
        found `10.0.0.1`, must be a range `a..b`, a prefix `10.0.0.0/8` or a set `{a, b}`
          ipv4.src in 10.0.0.1
                      ^^^^^^^^"#]],
    );
    fails(
        "ipv4.src == 2001:db8::1",
        expect![[r#"
        `2001:db8::1` is no value of `ipv4.src`, must be an IPv4 address such as 10.0.0.1
          ipv4.src == 2001:db8::1
                      ^^^^^^^^^^^"#]],
    );
    fails(
        "udp.dst_port in {}",
        expect![[r#"
        the set is empty, must hold at least one value
          udp.dst_port in {}
                          ^^"#]],
    );
    fails(
        "udp.dst_port in {1 2}",
        expect![[r#"
        found `2`, must be `,` or `}`
          udp.dst_port in {1 2}
                             ^"#]],
    );
    fails(
        "udp.dst_port in 9..1",
        expect![[r#"
        the range ends before it begins
          udp.dst_port in 9..1
                          ^^^^"#]],
    );
    fails(
        "udp.dst_port in 9/1",
        expect![[r#"
        only IPv4 and IPv6 addresses have prefixes, `udp.dst_port` is neither
          udp.dst_port in 9/1
                          ^^"#]],
    );
    fails(
        "bytes == 1",
        expect![[r#"
        `bytes` needs a place, such as `bytes[0:4]` for 4 bytes at offset 0
          bytes == 1
          ^^^^^"#]],
    );
    fails(
        "bytes[0:17] == 1",
        expect![[r#"
        a slice has 17 bytes, must be 1 to 16
          bytes[0:17] == 1
                 ^^^"#]],
    );
    fails(
        "bytes[0:1] == 256",
        expect![[r#"
        256 does not fit `bytes[0:1]`, must be 0 to 0xff
          bytes[0:1] == 256
                        ^^^"#]],
    );
    fails(
        "bytes[0:2] == \"abc\"",
        expect![[r#"
        `"abc"` is no value of `bytes[0:2]`, must be 2 bytes long, not 3
          bytes[0:2] == "abc"
                        ^^^^^"#]],
    );
    fails(
        "bytes[0:2] == \"ab",
        expect![[r#"
        found the end, must be a string that ends with `"`
          bytes[0:2] == "ab
                        ^^^"#]],
    );
    fails(
        "tcp.flags.syn == 2",
        expect![[r#"
        `2` is no value of `tcp.flags.syn`, must be 0 or 1
          tcp.flags.syn == 2
                           ^"#]],
    );
    fails(
        "ipv4.ttl == 99999999999999999999999999999999999999999999",
        expect![[r#"
        99999999999999999999999999999999999999999999 does not fit `ipv4.ttl`, must be 0 to 255
          ipv4.ttl == 99999999999999999999999999999999999999999999
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    fails(
        "é == 1",
        expect![[r#"
        unknown name `é`
          é == 1
          ^"#]],
    );
    fails(
        "bytes[0:16] == 0x100000000000000000000000000000000",
        expect![[r#"
            0x100000000000000000000000000000000 does not fit `bytes[0:16]`, must be 0 to 0xffffffffffffffffffffffffffffffff
              bytes[0:16] == 0x100000000000000000000000000000000
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    fails(
        "udp and and tcp",
        expect![[r#"
        found `and`, must be a protocol, a field, `!` or `(`
          udp and and tcp
                  ^^^"#]],
    );
    fails(
        "ipv4.src in 10.0.0.0/",
        expect![[r#"
        found the end, must be a number of bits such as 8
          ipv4.src in 10.0.0.0/
                               ^"#]],
    );
    fails(
        "udp == 1",
        expect![[r#"
        found `==`, must be `&&`, `||` or the end
          udp == 1
              ^^"#]],
    );
}

#[test]
fn names_of_other_tools_lead_to_ours() {
    let near = |text: &str| match Matcher::parse(text).unwrap_err().problem {
        ExprProblem::UnknownName { near, .. } => near,
        other => panic!("{other}"),
    };
    assert_eq!(near("ip").as_deref(), Some("ipv4"));
    assert_eq!(near("ip.src == 1").as_deref(), Some("ipv4.src"));
    assert_eq!(near("tcp.syn").as_deref(), Some("tcp.flags.syn"));
    assert_eq!(near("tcp.dstport == 80").as_deref(), Some("tcp.dst_port"));
    assert_eq!(near("adn").as_deref(), Some("and"));
    assert_eq!(near("frame.time").as_deref(), None);
}

#[test]
fn depth_and_length_are_limited() {
    let problem = |text: &str| Matcher::parse(text).unwrap_err().problem;
    assert_eq!(problem(&"(".repeat(60_000)), ExprProblem::TooDeep);
    assert_eq!(problem(&format!("{}udp{}", "(".repeat(65), ")".repeat(65))), ExprProblem::TooDeep);
    check(&format!("{}udp{}", "(".repeat(64), ")".repeat(64)), "u");
    check(&format!("{}udp", "!".repeat(60_000)), "u");
    check(&vec!["udp"; 10_000].join("&&"), "u");
    check(&format!("{}udp{}", "!(".repeat(64), ")".repeat(64)), "u");
    assert_eq!(problem(&"u".repeat(65_537)), ExprProblem::TooLong { found: 65_537 });
}

#[test]
fn canonical_text() {
    let check = |text: &str, want: Expect| want.assert_eq(&Matcher::parse(text).unwrap().to_string());
    check(
        "ipv4 and(udp . dst_port==9999)or  not tcp".replace(" . ", ".").as_str(),
        expect!["ipv4 && udp.dst_port == 9999 || !tcp"],
    );
    check(
        "a".replace('a', "(udp or (tcp or arp)) and (ipv4 and (ipv6 and eth))").as_str(),
        expect!["(udp || tcp || arp) && ipv4 && ipv6 && eth"],
    );
    check(
        "ipv4.src in 10.1.2.3/8 && udp.dst_port in { 0x35 ,80, 1 .. 2,}",
        expect!["ipv4.src in 10.0.0.0/8 && udp.dst_port in {0x35, 80, 1..2}"],
    );
    check("!(udp.dst_port==1) && !!tcp.flags.syn == true", expect!["!(udp.dst_port == 1) && tcp.flags.syn == 1"]);
    check(
        r#"udp.payload[0] == "\"" || bytes[1:3]=="\x00\n\\""#,
        expect![[r#"udp.payload[0:1] == "\"" || bytes[1:3] == "\x00\x0a\\""#]],
    );
}

/// Expressions of every form, as text.
fn exprs() -> impl Strategy<Value = String> {
    let test = prop::sample::select(vec![
        "udp",
        "ipv4",
        "tcp.flags.syn",
        "true",
        "false",
        "udp.dst_port == 9999",
        "udp.dst_port != 0x35",
        "ipv4.src in 10.0.0.0/8",
        "ipv6.dst in {::1, 2001:db8::/32}",
        "eth.src == 02:00:00:00:00:01",
        "bytes[0:2] == \"\\x02\\x00\"",
        "len >= 48",
        "tcp.dst_port in 1..65535",
        "udp.payload[0:1] < 0x69",
    ]);
    test.prop_map(String::from).prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|e| format!("!({e})")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|es| format!("({})", es.join(" && "))),
            prop::collection::vec(inner, 1..4).prop_map(|es| format!("({})", es.join(" or "))),
        ]
    })
}

#[test]
fn a_line_break_anywhere_leaves_an_error_of_three_lines() {
    let text = r#"(bytes[0:2] == "\x02\x00")"#;
    for at in 0..text.len() {
        let mut broken = text.to_string();
        broken.replace_range(at..=at, "\n");
        if let Err(error) = Matcher::parse(&broken) {
            assert_eq!(error.to_string().lines().count(), 3, "{at}: {error}");
        }
    }
}

proptest! {
    #[test]
    fn canonical_text_means_the_same(text in exprs()) {
        let matcher = Matcher::parse(&text).unwrap();
        let again = Matcher::parse(&matcher.to_string()).unwrap();
        prop_assert_eq!(&again, &matcher);
        prop_assert_eq!(again.to_string(), matcher.to_string());
        for packet in [udp(), tcp()] {
            prop_assert_eq!(matcher.matches(&packet), evaluate(&matcher.expr, &packet));
        }
    }

    #[test]
    fn broken_text_is_an_error_that_can_be_shown(
        text in exprs(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 1..4),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        for (index, c) in edits {
            let at = index.index(chars.len());
            chars[at] = c;
        }
        if let Err(error) = Matcher::parse(&chars.iter().collect::<String>()) {
            prop_assert!(error.span.end <= error.text.len());
            prop_assert_eq!(error.to_string().lines().count(), if error.text.trim().is_empty() { 1 } else { 3 });
        }
    }

    #[test]
    fn any_text_is_read_without_harm(text in "[a-z0-9.:/\\[\\]{}()!&|=<> \"\\\\]{0,60}") {
        let _ = Matcher::parse(&text);
    }
}

/// The meaning straight from the tree, to hold the program against.
fn evaluate(expr: &ast::Expr, packet: &[u8]) -> bool {
    use ast::{Expr, Op};
    let layers = Layers::parse(packet);
    match expr {
        Expr::Constant(value) => *value,
        Expr::Present(layer) => layers.has(*layer),
        Expr::Flag(field) => field.value(packet, &layers) == Some(1),
        Expr::Not(inner) => !evaluate(inner, packet),
        Expr::All(members) => members.iter().all(|m| evaluate(m, packet)),
        Expr::Any(members) => members.iter().any(|m| evaluate(m, packet)),
        Expr::Compare { field, op, value } => field.value(packet, &layers).is_some_and(|found| match op {
            Op::Eq => found == value.bits,
            Op::Ne => found != value.bits,
            Op::Lt => found < value.bits,
            Op::Le => found <= value.bits,
            Op::Gt => found > value.bits,
            Op::Ge => found >= value.bits,
        }),
        Expr::In { field, items } => field.value(packet, &layers).is_some_and(|found| {
            items.iter().any(|item| {
                let (low, high) = item.bounds(field.kind());
                low <= found && found <= high
            })
        }),
    }
}
