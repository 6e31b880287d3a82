//! Actions of tables on packets.

use super::*;
use expect_test::{Expect, expect};

const PORT0: ExternalPort = ExternalPort::Network(0);

/// Classifies each packet in its cycle from port 0, and lists one line for each.
fn check(toml: &str, packets: &[(Cycle, &str)], want: Expect) {
    let mut rmt = rmt(toml);
    let lines: Vec<String> = packets.iter().map(|&(now, packet)| ask(&mut rmt, now, PORT0, packet)).collect();
    want.assert_eq(&lines.join("\n"));
}

/// Applies actions to the UDP packet and the TCP packet.
fn check_actions(actions: &str, want: Expect) {
    let toml = format!("metadata = ['x']\n[[tables]]\nname = 't'\nentries = [{{ actions = {actions} }}]");
    check(&toml, &[(0, UDP), (0, TCP6)], want);
}

#[test]
fn an_unmatched_packet_goes_straight_to_the_host() {
    check(
        "",
        &[(0, UDP), (0, TCP6), (0, "")],
        expect![[r#"
        => host:0
        => host:0
        => host:0"#]],
    );
}

#[test]
fn chains_are_entries() {
    check(
        r#"
        [[chains]]
        name = "ipsec"
        match = "udp.dst_port == 9999"
        services = ["sha", { service = "aes", class = 2, priority = 7, metadata = "payload.offset" }]
        class = 1
        priority = 3
        slack_cycles = 500
        [[chains]]
        name = "rest"
        services = []
        exit = "network:1"
        order = 9
        [[chains]]
        name = "web"
        match = "tcp"
        services = ["dpi"]
        exit = "host:3""#,
        &[(0, UDP), (0, TCP6), (0, "ffff")],
        expect![[r#"
            sha(c1 p3) -> aes(c2 p7 m42) => host:0, class 1, slack 500
            dpi => host:3
            => network:1"#]],
    );
}

#[test]
fn stages_see_the_changes_of_earlier_stages() {
    check(
        r#"
        metadata = ["tenant"]
        [[tables]]
        name = "tenants"
        entries = [
            { match = "ipv4.src in 10.0.0.0/8", actions = [{ set = { field = "meta.tenant", to = 2 } }] },
            { match = "ipv4", order = 1, actions = [{ set = { field = "meta.tenant", to = 1 } }] },
        ]
        [[tables]]
        name = "nat"
        entries = [{ match = "meta.tenant == 2", actions = [{ set = { field = "udp.dst_port", to = 80 } }] }]
        otherwise = [{ exit = "drop" }, "stop"]
        [[tables]]
        name = "classes"
        entries = [{ match = "udp.dst_port == 80", actions = [{ class = "meta.tenant" }, { chain = { services = ["nat"] } }] }]
        "#,
        &[(0, UDP), (0, TCP6)],
        expect![[r#"
            nat(c2) => host:0, class 2 | 36:00 37:50
            => drop"#]],
    );
}

#[test]
fn fields_are_rewritten() {
    check_actions(
        "[{ set = { field = 'eth.dst', to = '0a:00:00:00:00:0b' } }]",
        expect![[r#"
        => host:0 | 0:0a 5:0b
        => host:0 | 0:0a 5:0b"#]],
    );
    check_actions(
        "[{ set = { field = 'ipv4.dst', to = 'ipv4.src' } }, { set = { field = 'ipv4.dscp', to = 46 } }]",
        expect![[r#"
        => host:0 | 15:b8 30:0a 31:01 32:02 33:03
        => host:0"#]],
    );
    check_actions(
        "[{ set = { field = 'ipv6.dst', to = 'fe80::1' } }, 'decrement_ttl']",
        expect![[r#"
        => host:0 | 22:3f
        => host:0 | 25:3f 42:fe 43:80"#]],
    );
    check_actions(
        "[{ set = { field = 'vlan.id', to = 9 } }, { set = { field = 'udp.payload[0:2]', to = '\"HE\"' } }]",
        expect![[r#"
        => host:0 | 42:48 43:45
        => host:0 | 15:09"#]],
    );
    check_actions(
        "[{ push_vlan = { id = 7, priority = 1 } }]",
        expect![[r#"
        => host:0 | 0200000000020200000000018100200708004500002100010000401100000a010203c0a800011388270f000d000068656c6c6f
        => host:0 | 020000000002020000000001810020078100a00586dd600000000014064020010db8000000000000000000000001000000000000000000000000000000010050ffff00000001000000005002000000000000"#]],
    );
    check_actions(
        "['pop_vlan']",
        expect![[r#"
        => host:0
        => host:0 | 02000000000202000000000186dd600000000014064020010db8000000000000000000000001000000000000000000000000000000010050ffff00000001000000005002000000000000"#]],
    );
    check_actions(
        "[{ checksum = ['ipv4', 'udp', 'tcp'] }]",
        expect![[r#"
        => host:0 | 24:ae 25:1e 40:b4 41:bd
        => host:0 | 74:81 75:d7"#]],
    );
}

#[test]
fn words_are_computed() {
    check_actions(
        "[{ compute = { field = 'meta.x', left = 'len', op = 'shift-right', right = 4 } }, { priority = 'meta.x' }, { chain = { services = ['kv'] } }]",
        expect![[r#"
            kv(p2) => host:0
            kv(p4) => host:0"#]],
    );
    check_actions(
        "[{ compute = { field = 'meta.x', left = 'hash', op = 'and', right = 3 } }, { host_queue = 'meta.x' }]",
        expect![[r#"
            => host:0
            => host:3"#]],
    );
    check_actions(
        "[{ hash = { function = 'crc32', fields = ['udp.dst_port'] } }, { chain = { services = [{ service = 'kv', metadata = 'hash' }] } }]",
        expect![[r#"
            kv(m195280139) => host:0
            kv => host:0"#]],
    );
    // Values that are out of range or missing have no effect.
    check_actions(
        "[{ class = 'len' }, { host_queue = 'udp.dst_port' }, { slack_cycles = 'arp.operation' }]",
        expect![[r#"
        => host:0
        => host:0"#]],
    );
}

#[test]
fn state_lasts_from_packet_to_packet() {
    check(
        r#"
        metadata = ["n", "age", "over"]
        registers = [
            { kind = "words", name = "packets", size = 3 },
            { kind = "words", name = "seen", size = 1024 },
            { kind = "meter", name = "rate", size = 1, bytes_per_1000_cycles = 1000, burst_bytes = 100 },
        ]
        [[tables]]
        name = "state"
        entries = [{ actions = [
            { count = { register = "packets", index = "class", to = "meta.n" } },
            { last_seen = { register = "seen", index = "flow", to = "meta.age" } },
            { meter = { register = "rate", index = 0, to = "meta.over" } },
        ] }]
        [[tables]]
        name = "police"
        entries = [{ match = "meta.over == 1", actions = [{ exit = "drop" }] }]
        otherwise = [
            { priority = "meta.n" },
            { chain = { services = [{ service = "kv", metadata = "meta.age" }] } },
        ]
        "#,
        &[(5, UDP), (7, UDP), (10, UDP), (57, UDP)],
        expect![[r#"
            kv(p1 m18446744073709551615) => host:0
            kv(p2 m2) => host:0
            => drop
            kv(p4 m47) => host:0"#]],
    );
}

#[test]
fn the_parser_finds_user_defined_headers() {
    let toml = r#"
        [[parser.headers]]
        name = "kv"
        after = "udp"
        when = "udp.dst_port == 9999"
        bytes = 3
        fields = [{ name = "op", at_bit = 4, bits = 8 }, { name = "key", at_bit = 12, bits = 12 }]
        [[parser.headers]]
        name = "tail"
        after = "kv"
        when = "kv.op == 0x86"
        bytes = 2
        [[tables]]
        name = "t"
        entries = [
            { match = "tail && kv.key == 0x56c", actions = [
                { set = { field = "kv.key", to = 0xfff } },
                { chain = { services = [{ service = "kv", metadata = "tail.offset" }] } },
            ] },
            { match = "kv && malformed", actions = [{ exit = "drop" }] },
        ]
        "#;
    let cut = UDP.replace("68656c6c6f", "68656c6c").replace("000d", "000c").replace("45000021", "45000020");
    check(
        toml,
        &[(0, UDP), (0, &cut), (0, TCP6)],
        expect![[r#"
        kv(m45) => host:0 | 43:6f 44:ff
        => drop
        => host:0"#]],
    );
}

#[test]
fn a_parser_without_a_layer_does_not_match_it() {
    check(
        r#"
        parser.layers = ["eth", "ipv4"]
        chains = [{ name = "udp", match = "udp", services = ["kv"] }, { name = "ip", match = "ipv4", services = ["nat"] }]
        "#,
        &[(0, UDP), (0, TCP6)],
        expect![[r#"
            nat => host:0
            => host:0"#]],
    );
}

#[test]
fn headers_after_an_unknown_layer_are_not_malformed() {
    let malformed = |layers: &str, packet: &str| {
        let mut rmt = rmt(&format!("parser.layers = [{layers}]"));
        ask(&mut rmt, 0, PORT0, packet);
        rmt.counters().malformed
    };
    let cut = &TCP6[..TCP6.len() - 4];
    assert_eq!(malformed("'eth', 'ipv6', 'tcp'", TCP6), 0);
    assert_eq!(malformed("'eth', 'ipv6', 'tcp'", cut), 0);
    assert_eq!(malformed("'eth', 'vlan', 'ipv6', 'tcp'", TCP6), 0);
    assert_eq!(malformed("'eth', 'vlan', 'ipv6', 'tcp'", cut), 1);
    // Three tags: the layers after them are found, although expressions can name only two tags.
    let tags = UDP.replace("0800 45", "8100 0001 8100 0002 8100 0003 0800 45");
    let verdict = rmt("").classify(0, PORT0, &mut unhex(&tags));
    assert_eq!((verdict.fields.network, verdict.fields.payload), (26, 54));
}

#[test]
fn the_host_can_read_counters() {
    let mut rmt = rmt("
        registers = [{ kind = 'words', name = 'bytes', size = 3 }]
        [[tables]]
        name = 't'
        otherwise = [{ class = 2 }, { count = { register = 'bytes', index = 'class', add = 'len' } }]");
    ask(&mut rmt, 0, PORT0, UDP);
    ask(&mut rmt, 0, PORT0, TCP6);
    assert_eq!(rmt.words("bytes").unwrap(), [0, 0, 47 + 78]);
    assert!(rmt.words("byte").is_err());
}

#[test]
fn transmit_queues_have_their_chains() {
    let mut rmt = rmt(r#"
        [[chains]]
        name = "out"
        queues = [1, 2]
        services = ["aes"]
        class = 2
        exit = "network:1"
        [[chains]]
        name = "in"
        services = ["sha"]"#);
    let lines: Vec<String> = (0..3).map(|queue| ask(&mut rmt, 0, ExternalPort::Host(queue), UDP)).collect();
    expect![[r#"
        => network:0
        aes(c2) => network:1, class 2
        aes(c2) => network:1, class 2"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn units_get_header_offsets() {
    let mut lines = Vec::new();
    for packet in [UDP, TCP6, "020000000002 020000000001 88b5 00", "0200"] {
        let verdict = rmt("").classify(0, PORT0, &mut unhex(packet));
        lines.push(format!("{:?}, flow {:#x}", verdict.fields, verdict.flow));
    }
    expect![[r#"
        Fields { network: 14, transport: 34, payload: 42, hash: 448540528 }, flow 0x1abc2f70
        Fields { network: 18, transport: 58, payload: 78, hash: 3483470551 }, flow 0xcfa18ad7
        Fields { network: 14, transport: 0, payload: 14, hash: 0 }, flow 0x0
        Fields { network: 0, transport: 0, payload: 0, hash: 0 }, flow 0x0"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn actions_and_drops_are_counted() {
    let mut rmt = rmt(r#"
        [[tables]]
        name = "t"
        entries = [
            { match = "udp", actions = [{ set = { field = "tcp.dst_port", to = 1 } }] },
            { match = "ipv6", actions = [{ class = "len" }, { exit = "drop" }] },
        ]"#);
    let cut = &UDP[..60];
    for packet in [UDP, UDP, TCP6, cut, ""] {
        ask(&mut rmt, 0, PORT0, packet);
    }
    ask(&mut rmt, 0, ExternalPort::Host(3), UDP);
    expect![[r#"
        RmtCounters {
            packets: 6,
            from_host: 1,
            malformed: 2,
            unmatched: 3,
            dropped: 1,
            absent: 2,
            out_of_range: 1,
        }"#]]
    .assert_eq(&format!("{:#?}", rmt.counters()));
    let took: Vec<_> = rmt.tables()[0].entries.iter().map(|entry| (entry.packets, entry.bytes)).collect();
    expect!["[(2, 94), (1, 78)], misses 2"].assert_eq(&format!("{took:?}, misses {}", rmt.tables()[0].misses));
}
