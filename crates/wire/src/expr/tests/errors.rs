//! Error messages and their positions.

use super::super::{ExprProblem, Matcher};
use super::check;
use expect_test::{Expect, expect};

/// Compares the error message.
fn fails(expr: &str, want: Expect) {
    want.assert_eq(&Matcher::parse(expr).unwrap_err().to_string());
}

#[test]
fn masks_fit_their_slice() {
    fails(
        "bytes[0:1] & 0x100 == 0",
        expect![[r#"
            0x100 does not fit `bytes[0:1]`, must be 0 to 0xff
              bytes[0:1] & 0x100 == 0
                           ^^^^^"#]],
    );
    fails(
        "bytes[0:1] & 0 == 0",
        expect![[r#"
            the mask is 0, must keep at least one bit
              bytes[0:1] & 0 == 0
                           ^"#]],
    );
}

#[test]
fn errors_point_into_the_text() {
    fails("", expect!["the expression is empty; write for example `udp.dst_port == 9999`"]);
    fails(
        "ipv4 && udp.dstport == 1",
        expect![[r#"
        unknown name `udp.dstport`; did you mean `udp.dst_port`?
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
        `10.0.0.1` is not a value of `udp.dst_port`, must be a number, 0 to 65535
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
        `udp.dst_port` is not a flag; compare it, for example `udp.dst_port == 1`
          udp.dst_port
          ^^^^^^^^^^^^"#]],
    );
    fails(
        "udp.dst_port < 0",
        expect![[r#"
            the comparison can never be true, `udp.dst_port` must be compared with 0 to 65535
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
            found `tcp`, must be `&&`, `||` or the end, as in `ipv4 && udp.dst_port == 53`
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
            found `&`, must be `&&`, `||` or the end, as in `ipv4 && udp.dst_port == 53`
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
            found a prefix, which means many addresses; must be `ipv4.src in 10.0.0.0/8`
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
        `2001:db8::1` is not a value of `ipv4.src`, must be an IPv4 address such as 10.0.0.1
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
            the end of the range is below its start, must be at or above it
              udp.dst_port in 9..1
                              ^^^^"#]],
    );
    fails(
        "udp.dst_port in 9/1",
        expect![[r#"
            `udp.dst_port` has no prefixes, must be an IPv4 or IPv6 address
              udp.dst_port in 9/1
                              ^^"#]],
    );
    fails(
        "bytes == 1",
        expect![[r#"
            `bytes` needs an offset and a length, for example `bytes[0:4]` for 4 bytes at offset 0
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
        `"abc"` is not a value of `bytes[0:2]`, must be 2 bytes long, not 3
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
        `2` is not a value of `tcp.flags.syn`, must be 0 or 1
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
            found `==`, must be `&&`, `||` or the end, as in `ipv4 && udp.dst_port == 53`
              udp == 1
                  ^^"#]],
    );
}

#[test]
fn names_of_other_tools_get_suggestions() {
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
fn errors_have_three_lines_despite_line_breaks() {
    let text = r#"(bytes[0:2] == "\x02\x00")"#;
    for at in 0..text.len() {
        let mut broken = text.to_string();
        broken.replace_range(at..=at, "\n");
        if let Err(error) = Matcher::parse(&broken) {
            assert_eq!(error.to_string().lines().count(), 3, "{at}: {error}");
        }
    }
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
