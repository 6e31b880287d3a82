//! No input causes a panic, and outputs are correct.

use super::*;
use crate::rmt::ChainParams;
use proptest::prelude::*;
use wire::checksum::PseudoHeader;
use wire::{ipv4, ipv6, tcp, udp};

/// Uses every action.
const ALL: &str = r#"
metadata = ["x", "y"]
registers = [
    { kind = "words", name = "words", size = 7 },
    { kind = "meter", name = "meter", size = 3, bytes_per_1000_cycles = 9, burst_bytes = 2000 },
]
parser.headers = [
    { name = "inner", after = "udp", bytes = 5, fields = [{ name = "a", at_bit = 3, bits = 17 }] },
    { name = "more", after = "inner", when = "inner.a > 3", bytes = 2 },
    { name = "raw", after = "eth", when = "!ipv4", bytes = 256, fields = [{ name = "z", at_bit = 1920, bits = 128 }] },
]
[[tables]]
name = "first"
entries = [
    { match = "malformed", actions = [{ count = { register = "words", index = "hash", add = "len", to = "meta.x" } }] },
    { match = "udp", actions = [{ set = { field = "inner.a", to = "udp.src_port" } }, { hash = { fields = ["more.offset", "ipv6.src", "bytes[3:9]"] } }] },
]
otherwise = [{ set = { field = "raw.z", to = "now" } }, "pop_vlan", { flow = "now" }]
[[tables]]
name = "second"
otherwise = [
    { meter = { register = "meter", index = "flow", to = "meta.y" } },
    { last_seen = { register = "words", index = "meta.x", to = "meta.x" } },
    { compute = { field = "meta.x", left = "meta.x", op = "shift-left", right = "meta.y" } },
    { write = { register = "words", index = "meta.x", value = "len" } },
    { read = { register = "words", index = "meta.x", to = "ipv4.src" } },
    { set = { field = "ipv4.dst", to = "10.0.0.1" } }, { set = { field = "ipv4.dscp", to = 3 } },
    { set = { field = "ipv6.src", to = "fe80::1" } },
    { set = { field = "udp.dst_port", to = 77 } }, { set = { field = "tcp.src_port", to = "hash" } },
    { push_vlan = { id = 5 } }, "decrement_ttl", { host_queue = "meta.y" }, { class = "meta.x" },
    { checksum = ["ipv4", "udp", "tcp", "icmp", "icmpv6"] },
]
"#;

/// Bytes that often resemble a packet.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![unhex(UDP), unhex(TCP6), Vec::new()]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (known, edits, prop::collection::vec(any::<u8>(), 0..300), any::<prop::sample::Index>()).prop_map(
        |(mut bytes, edits, more, len)| {
            bytes.extend(more);
            for (at, byte) in edits {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            if !bytes.is_empty() && len.index(4) == 0 {
                bytes.truncate(len.index(bytes.len()));
            }
            bytes
        },
    )
}

/// Returns true if the checksums of all complete layers are correct.
fn checksums_are_right(packet: &[u8]) -> bool {
    let layers = wire::layers::Layers::parse(packet);
    let (pseudo, upper) = if let Some(at) = layers.offset(wire::layers::Layer::Ipv4) {
        let view = ipv4::Ipv4View::new(&packet[at..]).expect("the layer must be there");
        if !view.checksum_is_valid() {
            return false;
        }
        let is_whole = !view.more_fragments() && packet.len() - at >= usize::from(view.total_len());
        (PseudoHeader::V4 { src: view.src(), dst: view.dst() }, is_whole.then(|| view.payload().to_vec()))
    } else if let Some(at) = layers.offset(wire::layers::Layer::Ipv6) {
        let view = ipv6::Ipv6View::new(&packet[at..]).expect("the layer must be there");
        let is_plain = [ipv4::protocol::UDP, ipv4::protocol::TCP].contains(&view.next_header());
        let is_whole = is_plain && view.payload().len() == usize::from(view.payload_len());
        (PseudoHeader::V6 { src: view.src(), dst: view.dst() }, is_whole.then(|| view.payload().to_vec()))
    } else {
        return true;
    };
    let Some(upper) = upper else { return true };
    if layers.has(wire::layers::Layer::Udp) {
        let view = udp::UdpView::new(&upper).expect("the layer must be there");
        let datagram = upper.get(..usize::from(view.len()));
        return datagram.is_none_or(|bytes| udp::UdpView::new(bytes).is_ok_and(|view| view.checksum_is_valid(pseudo)));
    }
    !layers.has(wire::layers::Layer::Tcp) || tcp::TcpView::new(upper).is_ok_and(|view| view.checksum_is_valid(pseudo))
}

#[test]
fn files_state_all_parameters() {
    let chain = "[[chains]]\nname = 'a'\nservices = ['sha', { service = 'aes', class = 1 }]";
    let params = params(&format!("{ALL}\n{chain}"));
    let text = toml::to_string(&params).unwrap();
    assert_eq!(toml::from_str::<RmtParams>(&text).unwrap(), params, "{text}");
}

proptest! {
    #[test]
    fn packets_never_panic_and_leave_with_right_checksums(
        packets in prop::collection::vec((0u64..2000, packet()), 1..8), all in Just(rmt(ALL)),
    ) {
        let mut rmt = all;
        for (now, mut packet) in packets {
            let verdict = rmt.classify(now, ExternalPort::Network(1), &mut packet);
            prop_assert!(checksums_are_right(&packet), "{packet:02x?}");
            prop_assert!(verdict.class < 3);
            prop_assert!(usize::from(verdict.fields.payload) <= packet.len());
            prop_assert!(verdict.fields.network <= verdict.fields.payload);
        }
    }

    #[test]
    fn classification_alone_changes_no_byte(packet in packet()) {
        let mut after = packet.clone();
        rmt("chains = [{ name = 'a', services = ['sha'] }]").classify(3, ExternalPort::Network(0), &mut after);
        prop_assert_eq!(after, packet);
    }

    #[test]
    fn files_never_panic(at in any::<prop::sample::Index>(), text in "[a-z0-9_.'\"{}\\[\\]=, \n-]{0,12}", len in 0usize..12) {
        let chars: Vec<char> = ALL.chars().collect();
        let start = at.index(chars.len());
        let end = (start + len).min(chars.len());
        let file: String = chars[..start].iter().copied().chain(text.chars()).chain(chars[end..].iter().copied()).collect();
        if let Ok(params) = toml::from_str::<RmtParams>(&format!("stages = 4\nmax_hops = 4\n{file}"))
            && let Ok(mut rmt) = Rmt::new(&params, &card())
        {
            for packet in [UDP, TCP6, "00"] {
                rmt.classify(0, ExternalPort::Network(0), &mut unhex(packet));
            }
        }
    }

    #[test]
    fn texts_never_panic_and_canonical_text_is_equivalent(text in "(a|ipsec|class|queues|metadata|sha|=|=>|->|:|,|\\[udp\\]|\\(|\\)|\\[|\\]|\"|1|300| |\\PC){0,14}") {
        if let Ok(chain) = ChainParams::parse(&text) {
            prop_assert_eq!(ChainParams::parse(&chain.to_string()), Ok(chain));
        }
        if let Err(error) = rmt("").parse_chain(&text) {
            prop_assert!(error.span.end <= text.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
