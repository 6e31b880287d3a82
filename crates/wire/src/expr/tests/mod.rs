//! Semantics of expressions.

mod errors;
mod properties;

use super::*;
use crate::format::unhex;
use expect_test::{Expect, expect};

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

/// Letters of the packets that match: `u` and `t`.
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
fn masks_keep_bits_of_a_slice() {
    // The UDP packet: version and length of the header are 0x45, the destination port is 0x270f.
    check("bytes[14:1] & 0xf0 == 0x40", "u");
    check("bytes[36:2]&0xff in 0x0f..0x10 && udp", "u");
    check("udp.payload[0:2] & 0xff00 == 0x6800", "u");
    check("bytes[0:1] & 2 == 2&& udp", "u");
    check("bytes[100:1] & 1 == 0", "");
    assert_eq!(Matcher::parse("bytes[0]&3==1").unwrap().to_string(), "bytes[0:1] & 0x3 == 1");
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
fn external_fields_can_be_used() {
    let number = |name: &str, bits| ExternalField { name: name.into(), kind: Kind::Number { bits } };
    let known = [number("meta.tenant", 8), number("kv.key", 32), ExternalField { name: "kv".into(), kind: Kind::Flag }];
    let ask = |text: &str, values: &[Option<u128>]| {
        let matcher = Matcher::parse_with(text, &known).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(matcher.to_string(), text);
        matcher.matches_with(&udp(), &Layers::parse(&udp()), values)
    };
    assert!(ask("udp && meta.tenant == 3 && kv", &[Some(3), None, Some(1)]));
    assert!(ask("kv.key in {1, 7..9}", &[Some(3), Some(8), Some(1)]));
    // A missing value is absent, even if the caller passes too few values.
    assert!(!ask("kv.key != 1", &[Some(3), None, None]));
    assert!(ask("!kv", &[]));
    let error = Matcher::parse_with("meta.tennant == 1", &known).unwrap_err().to_string();
    assert!(error.starts_with("unknown name `meta.tennant`; did you mean `meta.tenant`?"), "{error}");
    assert!(Matcher::parse_with("meta.tenant == 256", &known).is_err());
    assert_eq!(Field::parse("kv.key", &known).unwrap().external_index(), Some(1));
    assert!(Field::parse("kv.key 1", &known).is_err());
}

/// Executes `field = value` on the packet and shows the bytes that change.
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
