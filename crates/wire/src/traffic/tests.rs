use super::*;
use crate::checksum::PseudoHeader;
use crate::expr::Matcher;
use crate::format::hex;
use crate::ipv4::Ipv4View;
use crate::layers::{Layer, Layers};
use crate::message::FlowIndex;
use crate::pacing::Pacing;
use crate::source::Source;
use crate::{tcp::TcpView, udp::UdpView};
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// Arrival time in fs, and bytes, of each packet.
fn packets(spec: &str) -> Vec<(u64, Vec<u8>)> {
    let spec = TrafficSpec::parse(spec).unwrap_or_else(|e| panic!("{e}"));
    let mut generator = Generator::new(spec, Pacing::TIMES).unwrap();
    let mut packets = Vec::new();
    while let Some(frame) = generator.next().unwrap() {
        assert_eq!(frame.index as usize, packets.len());
        packets.push((frame.arrival_fs, frame.bytes.to_vec()));
    }
    packets
}

#[test]
fn known_bytes() {
    let check = |spec: &str, want: Expect| {
        let text: Vec<String> = packets(spec).iter().map(|(at, p)| format!("{at} {}", hex(p))).collect();
        want.assert_eq(&text.join("\n"));
    };
    check(
        "udp:size=60,count=2,payload=counter,rate=100G,dst_port=53",
        expect![[r#"
        0 02000000000202000000000108004500002e00004000401126bd0a0000010a00000227100035001ac46c000000000000000100000002000000030000
        6720000 02000000000202000000000108004500002e00014000401126bc0a0000010a00000227100035001ac454000400000005000000060000000700000008"#]],
    );
    check(
        "tcp:size=90,count=1,payload=random,seed=3,src=2001:db8::1,dst=2001:db8::2",
        expect![
            "0 02000000000202000000000186dd600000000024064020010db800000000000000000000000120010db80000000000000000000000022710270f00000000000000005003ffff33730000b668e28f0c4d6b8a271e661303e330e6"
        ],
    );
}

/// Headers have 28 bytes, and numbers follow without padding.
#[test]
fn packets_of_pspins_drivers_begin_with_ip_and_have_no_padding() {
    let text = |spec: &str| packets(spec).iter().map(|(_, p)| hex(p)).collect::<Vec<_>>().join("\n");
    expect![[r#"
        54003c0000000000401100000100000a0200000a10270f27280000007c010000ef000000890000009e0000009d030000eb00000050010000fd030000
        54003c0001000000401100000100000a0200000a11270f27280000007102000084010000810000000c00000047030000f1030000420300007b010000"#]]
    .assert_eq(&text("pspin:size=60,count=2,flows=2,payload=ints:1024"));
    expect!["54003d0000000000401100000100000a0200000a10270f2729000000000000000000000100000002000000030000000400000005000000060000000700"]
        .assert_eq(&text("pspin:size=61,count=1,payload=counter"));
    let error = TrafficSpec::parse("pspin:src=::1,dst=::2").unwrap_err().to_string();
    assert!(error.contains("src is ::1, must be an IPv4 address"), "{error}");
}

/// The payloads of all packets, in hexadecimal.
fn payloads(spec: &str) -> String {
    let of = |packet: &[u8]| hex(&packet[Layers::parse(packet).payload()]);
    packets(spec).iter().map(|(_, packet)| of(packet)).collect::<Vec<_>>().join("\n")
}

#[test]
fn numbers_begin_at_a_multiple_of_4_in_the_packet() {
    expect![[r#"
        00007c010000ef000000890000009e000000
        00009d030000eb00000050010000fd030000
        00007102000084010000810000000c000000"#]]
    .assert_eq(&payloads("udp:size=60,count=3,payload=ints:1024"));
    // Each packet has three bytes of data: first their position, then the data.
    expect![[r#"
        000000000000992805
        0000030000005d1f4e
        000000000000c72a42
        0000030000007bdb9b"#]]
    .assert_eq(&payloads("tcp:size=63,count=4,messages=2,payload=segment"));
    expect![[r#"
        0000010000006c02000001000000
        000001000000d300000002000000
        0000000000006c02000000000000"#]]
    .assert_eq(&payloads("udp:size=76,src=::1,dst=::2,count=3,payload=ycsb:a:1.1"));
    let all = packets("udp:size=1068,count=200,payload=ints:3,seed=9");
    let words =
        all.iter().flat_map(|(_, p)| p[44..].chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())));
    let mut hits = [0; 3];
    words.for_each(|word| hits[word as usize] += 1);
    assert!(hits.iter().all(|n| (16_700..17_500).contains(n)), "{hits:?}");
}

#[test]
fn flows_are_assigned_to_senders_in_turn() {
    let senders = |spec: &str| {
        let from = |p: &[u8]| format!("{}:{}", p[29], u16::from_be_bytes([p[34], p[35]]));
        packets(spec).iter().map(|(_, p)| from(p)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(senders("udp:count=4,flows=4"), "1:10000 1:10001 1:10002 1:10003");
    assert_eq!(senders("udp:count=5,flows=4,senders=2"), "1:10000 2:10000 1:10001 2:10001 1:10000");
    assert_eq!(senders("udp:count=3,flows=3,senders=3"), "1:10000 2:10000 3:10000");
    let many = packets("udp:count=32768,flows=32768,senders=2");
    assert_eq!(
        &many[32_766].1[26..36],
        [10, 0, 0, 1, 10, 0, 0, 2, 0x67, 0x0f],
        "the last number of flows that the ports of two senders allow"
    );
}

#[test]
fn checksums_and_lengths_are_right() {
    for spec in [
        "udp:size=60..200,count=50,payload=random,flows=3",
        "tcp:size=imix,count=50,payload=counter",
        "udp:size=62..99,count=50,src=fe80::1,dst=fe80::2,payload=random",
        "tcp:size=list:74:75:9000,count=50,src=::1,dst=::2",
    ] {
        for (_, packet) in packets(spec) {
            let layers = Layers::parse(&packet);
            let (pseudo, upper) = match (layers.offset(Layer::Ipv4), layers.offset(Layer::Ipv6)) {
                (Some(at), _) => {
                    let ip = Ipv4View::new(&packet[at..]).unwrap();
                    assert!(ip.checksum_is_valid() && usize::from(ip.total_len()) == packet.len() - at);
                    (PseudoHeader::V4 { src: ip.src(), dst: ip.dst() }, at + 20)
                }
                (None, at) => {
                    let ip = crate::ipv6::Ipv6View::new(&packet[at.unwrap()..]).unwrap();
                    (PseudoHeader::V6 { src: ip.src(), dst: ip.dst() }, at.unwrap() + 40)
                }
            };
            if layers.has(Layer::Udp) {
                assert!(UdpView::new(&packet[upper..]).unwrap().checksum_is_valid(pseudo));
            } else {
                assert!(TcpView::new(&packet[upper..]).unwrap().checksum_is_valid(pseudo));
            }
        }
    }
}

#[test]
fn a_constant_rate_fills_the_line_exactly() {
    // 64 + 24 bytes at 400 Gbit/s: 1.76 ns.
    let times: Vec<u64> = packets("udp:size=64,count=4,rate=400G").iter().map(|p| p.0).collect();
    assert_eq!(times, [0, 1_760_000, 3_520_000, 5_280_000]);
    let times: Vec<u64> = packets("udp:size=64,count=4,rate=3pps").iter().map(|p| p.0).collect();
    assert_eq!(times, [0, 333_333_333_333_333, 666_666_666_666_666, 1_000_000_000_000_000]);
}

#[test]
fn poisson_arrivals_keep_the_mean_rate() {
    for (spec, mean_fs) in [
        ("udp:size=64,count=50000,rate=1Mpps,arrivals=poisson", 1_000_000_000),
        // Mean of IMIX on the line: (7 * 84 + 4 * 614 + 1538) / 12 bytes = 381.83 bytes, which take 30.547 ns at 100
        // Gbit/s.
        ("udp:size=imix,count=50000,rate=100G,arrivals=poisson", 30_546_666),
    ] {
        let packets = packets(spec);
        let found = packets.last().unwrap().0 / 49_999;
        assert!(found.abs_diff(mean_fs) < mean_fs / 50, "{spec}: {found}");
    }
}

#[test]
fn sizes_follow_their_distribution() {
    let count = |spec: &str, len: usize| packets(spec).iter().filter(|(_, p)| p.len() == len).count();
    let imix = "udp:size=imix,count=12000";
    assert!((6_800..7_200).contains(&count(imix, 60)) && (850..1_150).contains(&count(imix, 1514)));
    assert!((8_800..9_200).contains(&count("udp:size=bimodal:64:1500:90,count=10000", 64)));
    assert_eq!(count("udp:size=list:64:128:64,count=9", 64), 6);
    let uniform = packets("udp:size=60..63,count=1000");
    assert!((60..=63).all(|len| uniform.iter().filter(|(_, p)| p.len() == len).count() > 200));
}

#[test]
fn messages_and_flows_match_their_definition() {
    let traffic = packets("tcp:count=103,flows=4,messages=5,payload=counter");
    let mut index = FlowIndex::new("by flow until tcp.flags.fin".parse().unwrap());
    for (_, packet) in &traffic {
        index.add(packet, &Layers::parse(packet));
    }
    let mut classifier = index.into_classifier();
    let syn = Matcher::parse("tcp.flags.syn").unwrap();
    let mut longest = 0;
    for (_, packet) in &traffic {
        let layers = Layers::parse(packet);
        let verdict = classifier.classify(packet, &layers);
        assert_eq!(verdict.is_first(), syn.matches(packet));
        longest = longest.max(verdict.position + 1);
        // Each packet carries 10 bytes, so the counter at its start gives its position in the message.
        let payload = &packet[layers.payload()];
        let word = (verdict.position * 10) / 4;
        assert_eq!(payload[3 - (verdict.position * 10 % 4) as usize], word as u8, "{verdict:?}");
        assert_eq!(payload.len(), 10);
    }
    let counts = classifier.counts();
    assert_eq!((counts.messages, counts.ended, longest), (20, 20, 6));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    let spec = "udp:size=60..1500,count=50,payload=random,arrivals=poisson,seed=";
    assert_eq!(packets(&format!("{spec}5")), packets(&format!("{spec}5")));
    assert_ne!(packets(&format!("{spec}5")), packets(&format!("{spec}6")));
}

#[test]
fn a_file_payload_repeats() {
    let path = std::env::temp_dir().join(format!("wire-payload-{}", std::process::id()));
    std::fs::write(&path, b"abcdefg").unwrap();
    let packets = packets(&format!("udp:size=60,count=2,payload=file:{}", path.display()));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(&packets[0].1[42..], b"abcdefgabcdefgabcd");
    assert_eq!(&packets[1].1[42..], b"efgabcdefgabcdefga");
    let missing = TrafficSpec::parse("udp:payload=file:/nonexistent").unwrap();
    let error = Generator::new(missing, Pacing::TIMES).err().unwrap().to_string();
    assert_eq!(error, "traffic: payload: /nonexistent: No such file or directory (os error 2)");
}

#[test]
fn errors_point_into_the_text() {
    let check = |text: &str, want: Expect| want.assert_eq(&TrafficSpec::parse(text).unwrap_err().to_string());
    check("", expect!["unknown generator ``, must be one of udp, tcp, pspin; for other packets use a capture"]);
    check(
        "upd:size=64",
        expect![[r#"
            unknown generator `upd`, must be one of udp, tcp, pspin; did you mean `udp`?
              upd:size=64
              ^^^"#]],
    );
    check(
        "udp:sise=64",
        expect![[r#"
            unknown key `sise`, must be one of size, count, rate, arrivals, flows, senders, messages, payload, seed, src, dst, src_port, dst_port, src_mac, dst_mac, ecn; did you mean `size`?
              udp:sise=64
                  ^^^^"#]],
    );
    check(
        "udp:size=64,size=65",
        expect![[r#"
        `size` is given twice
          udp:size=64,size=65
                      ^^^^"#]],
    );
    check(
        "udp:size",
        expect![[r#"
        found `size`, must be `key=value`
          udp:size
              ^^^^"#]],
    );
    check(
        "udp:size=large",
        expect![[r#"
        size is `large`, must be a length such as `64`, `64..1500`, `bimodal:64:1500:90`, `imix` or `list:64:128`
          udp:size=large
                   ^^^^^"#]],
    );
    check(
        "udp:size=42",
        expect![[r#"
            size is 42, must be 60 to 65535 bytes
              udp:size=42
                       ^^"#]],
    );
    check(
        "udp:size=list:",
        expect![[r#"
        size is `list:`, must be a length such as `64`, `64..1500`, `bimodal:64:1500:90`, `imix` or `list:64:128`
          udp:size=list:
                   ^^^^^"#]],
    );
    check(
        "udp:size=100..60",
        expect![[r#"
            size is 100..60, must be written with the shorter first
              udp:size=100..60
                       ^^^^^^^"#]],
    );
    check(
        "udp:size=bimodal:64:128:101",
        expect![[r#"
            size is bimodal with 101 %, must be 0 to 100 %
              udp:size=bimodal:64:128:101
                       ^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "tcp:size=64,src=::1,dst=::2",
        expect![[r#"
            size is 64, must be 74 to 65535 bytes
              tcp:size=64,src=::1,dst=::2
                       ^^"#]],
    );
    check(
        "udp:rate=fast",
        expect![[r#"
            rate is `fast`, must be a rate with its unit, such as `400G` or `1500bit/s` (bits a second) or `10Mpps` (packets a second)
              udp:rate=fast
                       ^^^^"#]],
    );
    check(
        "udp:rate=0G",
        expect![[r#"
            rate is 0, must be more than 0
              udp:rate=0G
                       ^^"#]],
    );
    check(
        "udp:arrivals=random",
        expect![[r#"
        arrivals is `random`, must be `constant` or `poisson`
          udp:arrivals=random
                       ^^^^^^"#]],
    );
    check(
        "udp:count=5,flows=3,messages=2",
        expect![[r#"
            count is 5, must be at least flows x messages = 6, so that no message is empty
              udp:count=5,flows=3,messages=2
                        ^"#]],
    );
    check(
        "udp:flows=2M,count=10M",
        expect![[r#"
            flows is 2000000, must be 1 to 1048576
              udp:flows=2M,count=10M
                        ^^"#]],
    );
    check(
        "udp:senders=4294967296",
        expect![[r#"
            senders is `4294967296`, must be 1 to 1048576
              udp:senders=4294967296
                          ^^^^^^^^^^"#]],
    );
    check(
        "udp:src=10.0.0.256",
        expect![[r#"
        src is `10.0.0.256`, must be an IP address
          udp:src=10.0.0.256
                  ^^^^^^^^^^"#]],
    );
    check(
        "udp:src=::1",
        expect![[r#"
        dst is 10.0.0.2, must be of the same IP version as src
          udp:src=::1
          ^^^^^^^^^^^"#]],
    );
    check(
        "udp:dst_port=70000",
        expect![[r#"
        dst_port is `70000`, must be 0 to 65535
          udp:dst_port=70000
                       ^^^^^"#]],
    );
    check(
        "udp:payload=file:",
        expect![[r#"
        payload is `file:`, must be `zero`, `random`, `counter`, `file:PATH`, `ints`, `ints:1024`, `segment` or a workload such as `ycsb:a:0.99:1000`
          udp:payload=file:
                      ^^^^^"#]],
    );
    check(
        "udp:payload=ints:0",
        expect![[r#"
        payload is `ints:0`, must be `ints:N` with N from 1 to 4294967296
          udp:payload=ints:0
                      ^^^^^^"#]],
    );
    check(
        "udp:payload=ycsb:g",
        expect![[r#"
        payload is `ycsb:g`, must be `ycsb:MIX:THETA:RECORDS` such as `ycsb:a:0.99:1000`
          udp:payload=ycsb:g
                      ^^^^^^"#]],
    );
    check(
        "udp:payload=ycsb:a:1.1:0",
        expect![[r#"
        payload is ycsb of 0 records, must be of 1 to 1048576 records
          udp:payload=ycsb:a:1.1:0
                      ^^^^^^^^^^^^"#]],
    );
    check(
        "udp:size=73,src=::1,dst=::2,payload=ycsb:a",
        expect![[r#"
        size is 73, must be 76 to 65535 bytes
          udp:size=73,src=::1,dst=::2,payload=ycsb:a
                   ^^"#]],
    );
    check(
        "udp:flows=3,senders=4",
        expect![[r#"
        senders is 4, must be 1 to the number of flows, 3
          udp:flows=3,senders=4
                              ^"#]],
    );
}

#[test]
fn toml_has_the_same_values_as_text() {
    let spec: TrafficSpec = toml::from_str(
        "transport = 'tcp'\nsize = 128\nrate = '10Mpps'\nflows = 4\npayload = 'counter'\nsrc = '10.1.0.1'",
    )
    .unwrap();
    assert_eq!(spec, TrafficSpec::parse("tcp:size=128,rate=10Mpps,flows=4,payload=counter,src=10.1.0.1").unwrap());
    let again: TrafficSpec = toml::from_str(&toml::to_string(&spec).unwrap()).unwrap();
    assert_eq!(again, spec);
    let error = toml::from_str::<TrafficSpec>("sise = 64").unwrap_err().to_string();
    assert!(error.contains("unknown field `sise`"), "{error}");
    let error = toml::from_str::<TrafficSpec>("size = 'big'").unwrap_err().to_string();
    assert!(error.contains("size is `big`, must be a length such as"), "{error}");
}

proptest! {
    #[test]
    fn text_both_ways(
        size in prop::sample::select(vec!["64", "60..1500", "imix", "bimodal:60:1500:10", "list:60:61"]),
        rate in prop::sample::select(vec!["1bit/s", "400G", "2.5M", "7pps", "10Mpps"]),
        flows in 1u32..100, messages in 1u64..10, seed: u64, src: u32, port: u16,
        payload in prop::sample::select(vec!["zero", "random", "counter", "file:/a/b", "ints", "ints:1024", "segment", "ycsb:e:1.05:20"]),
    ) {
        let src = std::net::Ipv4Addr::from(src);
        let text = format!(
            "udp:size={size},rate={rate},flows={flows},messages={messages},seed={seed},src={src},dst_port={port},payload={payload}"
        );
        let spec = TrafficSpec::parse(&text).unwrap();
        prop_assert_eq!(&TrafficSpec::parse(&spec.to_string()).unwrap(), &spec);
    }

    #[test]
    fn any_text_is_read_without_harm(text in "(udp|tcp|): ?[a-z_=0-9.:,]{0,40}") {
        if let Err(error) = TrafficSpec::parse(&text) {
            prop_assert!(error.span.end <= text.len(), "{error}");
        }
    }
}

#[test]
fn ecn_bits_are_those_of_the_text() {
    for (text, want) in [("udp:count=1", 0), ("udp:count=1,ecn=2", 2), ("tcp:count=2,ecn=1", 1)] {
        let mut packets = Generator::new(TrafficSpec::parse(text).unwrap(), Pacing::TIMES).unwrap();
        let packet = packets.next().unwrap().unwrap();
        assert_eq!(packet.bytes[crate::eth::HEADER_LEN + crate::ipv4::DSCP_ECN], want, "{text}");
    }
    let v6 = "udp:count=1,ecn=3,src=fd00::1,dst=fd00::2";
    let mut packets = Generator::new(TrafficSpec::parse(v6).unwrap(), Pacing::TIMES).unwrap();
    // The traffic class is between the version and the flow label.
    assert_eq!(packets.next().unwrap().unwrap().bytes[crate::eth::HEADER_LEN..][..2], [0x60, 0x30]);
    assert_eq!(TrafficSpec::parse("udp:ecn=2").unwrap().to_string().split(',').next_back(), Some("ecn=2"));
    for text in ["udp:ecn=4", "udp:ecn=x", "pspin:ecn=2"] {
        assert!(TrafficSpec::parse(text).unwrap_err().to_string().contains("ecn is"), "{text}");
    }
}
