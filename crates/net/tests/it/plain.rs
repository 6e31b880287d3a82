//! Plain NICs: messages, transport, matching.

use crate::rig::{RATE, direction, link, plan};
use kernel::Time;
use net::NodeId;
use net::host::Entry;
use net::host::{Event, Host, Payload, Program, Received};
use net::link::Direction;
use net::network::{Network, Options};
use net::node::{BuildNode, Node};
use net::observe::{DropReason, Row, What};
use net::plain::dcqcn::DcqcnParams;
use net::plain::params::{PlainParams, Transport};
use net::plain::{PlainCounts, PlainNic};
use net::plan::{NodePlan, Plan};
use net::span::{Ratio, Span};
use net::spec::{NetworkSpec, SwitchChoice};
use net::switch::params::{EcnParams, SwitchParams};
use net::topology::Topology;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Byte time at 100 Gbit/s, in ps.
const BYTE: u64 = 80;
const DELAY: u64 = 500_000;
/// Ethernet, IPv4, UDP, BTH, ICRC; and the RETH of a first packet.
const HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
const RETH: u64 = 16;

/// Posts messages at given times, appends entries at given times, and keeps all events.
#[derive(Default)]
pub struct Messages {
    pub posts: Vec<(Time, NodeId, u64, Payload)>,
    pub entries: Vec<(Time, Entry)>,
    pub received: Vec<(Time, Received)>,
    pub sent: Vec<Time>,
}

impl Messages {
    pub fn to(to: u32, payloads: impl IntoIterator<Item = Payload>) -> Self {
        let posts =
            payloads.into_iter().enumerate().map(|(tag, payload)| (Time::ZERO, NodeId(to), tag as u64, payload));
        Messages { posts: posts.collect(), ..Messages::receiver() }
    }

    pub fn receiver() -> Self {
        Messages { entries: vec![(Time::ZERO, Entry::ALL)], ..Messages::default() }
    }
}

impl Program for Messages {
    fn start(&mut self, host: &mut Host) {
        for i in 0..self.entries.len() {
            host.wait(self.entries[i].0, 1 << 32 | i as u64);
        }
        for i in 0..self.posts.len() {
            host.wait(self.posts[i].0, i as u64);
        }
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        match event {
            Event::Timer(token) if token >> 32 == 1 => drop(host.append(self.entries[token as u32 as usize].1)),
            Event::Timer(token) => {
                let (_, to, tag, payload) = self.posts[token as usize].clone();
                host.put(to, tag, payload);
            }
            Event::Received(received) => self.received.push((host.now(), received)),
            Event::Sent(_) => self.sent.push(host.now()),
            _ => {}
        }
    }
}

pub fn nic(name: &str, params: PlainParams, program: impl FnOnce() -> Messages + Send + 'static) -> NodePlan {
    let build: BuildNode =
        Box::new(move |place| Ok(Box::new(PlainNic::new(params, place, Box::new(program()))?) as Box<dyn Node>));
    NodePlan { name: name.into(), n_ports: 1, build }
}

fn pair(params: &PlainParams, from: Messages, to: Messages, direction: Direction) -> Network {
    let nodes = vec![nic("a", params.clone(), || from), nic("b", params.clone(), || to)];
    let plan: Plan = plan(nodes, vec![link("ab", (0, 0), (1, 0), direction)]);
    let mut network = Network::build(plan, Options { threads: 1, ..Options::default() }).unwrap();
    let progress = network.run_until(Time::from_ns(50_000_000)).unwrap();
    assert_eq!(progress.next, None, "everything comes to an end");
    assert!(network.ledger().unwrap().is_balanced());
    network
}

/// The program's events, and the counters.
pub fn outcome(network: &mut Network, node: u32) -> (Vec<(Time, Received)>, Vec<Time>, PlainCounts) {
    let act = |node: &mut dyn Node| {
        let nic = node.as_any().downcast_mut::<PlainNic>().unwrap();
        let counts = nic.counts();
        let program = nic.program_as::<Messages>().unwrap();
        (program.received.clone(), program.sent.clone(), counts)
    };
    network.with_node(NodeId(node), act).unwrap()
}

#[test]
fn a_message_takes_its_packets_in_a_row() {
    for len in [0u32, 1, 100, 4096, 4097, 20_000] {
        let mut network = pair(
            &PlainParams::default(),
            Messages::to(1, [Payload::Zeros(len)]),
            Messages::receiver(),
            direction(RATE, 500, ""),
        );
        let (received, _, _) = outcome(&mut network, 1);
        let (at, message) = &received[0];
        assert_eq!((message.len, message.tag, message.from), (len, 0, NodeId(0)));
        // The payload of each packet is padded to 4 bytes.
        let packets: Vec<u64> = (0..u64::from(len).div_ceil(4096).max(1))
            .map(|i| (u64::from(len) - i * 4096).min(4096).next_multiple_of(4))
            .collect();
        let bytes = |i: usize, payload: u64| HEADERS + payload + if i == 0 { RETH } else { 0 };
        let all: u64 = packets.iter().enumerate().map(|(i, &payload)| 8 + bytes(i, payload).max(60) + 4 + 12).sum();
        assert_eq!(
            (message.first.ps(), message.last.ps()),
            (DELAY + 8 * BYTE, DELAY + (all - 12) * BYTE),
            "{len} bytes"
        );
        assert_eq!(*at, message.last);
    }
}

#[test]
fn latencies_of_the_nic_add_up() {
    let params = PlainParams {
        post_latency: Some(Span::parse("100 ns").unwrap()),
        deliver_latency: Some(Span::parse("30 ns").unwrap()),
        ..PlainParams::default()
    };
    let mut network =
        pair(&params, Messages::to(1, [Payload::Zeros(64)]), Messages::receiver(), direction(RATE, 500, ""));
    let (received, _, _) = outcome(&mut network, 1);
    assert_eq!(received[0].0.ps(), 100_000 + (8 + HEADERS + RETH + 64 + 4) * BYTE + DELAY + 30_000);
    let (_, sent, _) = outcome(&mut network, 0);
    assert_eq!(sent[0].ps(), 100_000 + (8 + HEADERS + RETH + 64 + 4) * BYTE + 30_000);
}

fn numbered(n: u32, len: u32) -> Vec<Payload> {
    let content = |i: u32| (0..len + i).map(|at| (at.wrapping_mul(31) ^ i) as u8 | 1).collect::<Vec<u8>>();
    (0..n).map(|i| Payload::Bytes(Arc::from(content(i)))).collect()
}

/// Messages arrive once, whole and in order.
fn check_all(network: &mut Network, n: u32, len: u32) {
    let (received, _, _) = outcome(network, 1);
    let got: Vec<(u64, Option<Vec<u8>>)> =
        received.into_iter().map(|(_, message)| (message.tag, message.bytes)).collect();
    let want: Vec<(u64, Option<Vec<u8>>)> = numbered(n, len)
        .into_iter()
        .enumerate()
        .map(|(i, payload)| match payload {
            Payload::Bytes(bytes) => (i as u64, Some(bytes.to_vec())),
            Payload::Zeros(_) => unreachable!(),
        })
        .collect();
    assert!(got == want, "{} of {} messages", got.len(), want.len());
}

#[test]
fn bytes_arrive_on_a_lossless_network_that_reorders() {
    let params = PlainParams { mtu: 256, ..PlainParams::default() };
    for faults in ["", "reorder=0.2:8"] {
        let mut network =
            pair(&params, Messages::to(1, numbered(50, 1000)), Messages::receiver(), direction(RATE, 500, faults));
        check_all(&mut network, 50, 1000);
        let (_, sent, counts) = outcome(&mut network, 0);
        assert_eq!((sent.len(), counts.repeated), (50, 0));
    }
}

#[test]
fn reliable_transport_repeats_lost_packets() {
    for transport in [Transport::GoBackN, Transport::Selective] {
        for faults in ["", "loss=0.05", "duplicate=0.1", "reorder=0.1:5", "loss=0.1,duplicate=0.05,reorder=0.1:9"] {
            let params = PlainParams {
                mtu: 256,
                transport,
                window: 32,
                ack_every: 4,
                timeout: Span::parse("20 us").unwrap(),
                ..PlainParams::default()
            };
            let mut network =
                pair(&params, Messages::to(1, numbered(60, 1500)), Messages::receiver(), direction(RATE, 500, faults));
            check_all(&mut network, 60, 1500);
            let (_, sent, counts) = outcome(&mut network, 0);
            assert_eq!(sent.len(), 60, "{transport:?} {faults}");
            let ledger = network.ledger().unwrap();
            let (lost, useless) =
                (ledger.dropped_for(DropReason::Lost).frames, ledger.dropped_for(DropReason::Unwanted).frames);
            match faults {
                "" => assert_eq!((counts.repeated, lost, useless), (0, 0, 0)),
                "loss=0.05" => assert!(counts.repeated > 0 && lost > 0),
                _ => {}
            }
            if transport == Transport::Selective && faults == "loss=0.05" {
                // Each repeat is for a loss, of the packet or of its acknowledgment.
                assert!(counts.repeated <= 2 * lost, "{} repeats for {lost} losses", counts.repeated);
            }
        }
    }
}

#[test]
fn selective_repeats_fewer_packets_than_go_back_n() {
    let repeated = |transport| {
        let params = PlainParams {
            mtu: 256,
            transport,
            window: 64,
            timeout: Span::parse("20 us").unwrap(),
            ..PlainParams::default()
        };
        let mut network = pair(
            &params,
            Messages::to(1, [Payload::Zeros(200_000)]),
            Messages::receiver(),
            direction(RATE, 500, "loss=0.02"),
        );
        assert_eq!(outcome(&mut network, 1).0.len(), 1);
        outcome(&mut network, 0).2.repeated
    };
    let (selective, back) = (repeated(Transport::Selective), repeated(Transport::GoBackN));
    assert!(selective * 4 < back, "{selective} against {back}");
}

#[test]
fn selective_repeats_lost_repeats_before_the_timeout() {
    let params = PlainParams {
        mtu: 1024,
        transport: Transport::Selective,
        window: 64,
        timeout: Span::parse("1 ms").unwrap(),
        ..PlainParams::default()
    };
    let messages = Messages::to(1, [Payload::Zeros(4_000_000)]);
    let mut network = pair(&params, messages, Messages::receiver(), direction(RATE, 500, "loss=0.05"));
    let lost = network.ledger().unwrap().dropped_for(DropReason::Lost).frames;
    let repeated = outcome(&mut network, 0).2.repeated;
    // One in 20 repeats is lost, too, and so is one in 20 reports. About 20 of them would cost a timeout. Those at the end of a
    // window still do, because nothing follows that shows the loss.
    let last = outcome(&mut network, 1).0[0].1.last;
    assert!(last < Time::from_ns(8_000_000), "{} ns, {lost} lost, {repeated} repeated", last.ps() / 1000);
    assert!(repeated <= lost, "{repeated} repeats for {lost} losses");
}

#[test]
fn a_window_limits_the_rate_to_its_bytes_a_round_trip() {
    // Two packets leave in each round trip. The second acknowledgment comes one packet time after the first. Windows overlap in
    // steps of a round trip.
    let last = |transport| {
        let params = PlainParams { mtu: 1024, transport, window: 2, ack_every: 1, ..PlainParams::default() };
        let mut network =
            pair(&params, Messages::to(1, [Payload::Zeros(40 * 1024)]), Messages::receiver(), direction(RATE, 500, ""));
        outcome(&mut network, 1).0[0].1.last.ps()
    };
    let packet = (8 + HEADERS + 1024 + 4) * BYTE;
    // An acknowledgment has 14 + 20 + 8 + 12 + 4 + 4 = 62 bytes.
    let ack = (8 + 62 + 4) * BYTE;
    let round = packet + DELAY + ack + DELAY;
    let first = packet + RETH * BYTE + DELAY + ack + DELAY;
    // 20 pairs of packets: packet 2k leaves when packet 2k - 2 was acknowledged. The last packet is a line time behind its partner.
    let last_even = first + 18 * round;
    for transport in [Transport::GoBackN, Transport::Credits] {
        assert_eq!(last(transport), last_even + packet + 12 * BYTE + packet + DELAY);
    }
}

/// Two nodes send 2 MB each to a third through a switch that marks. Returns the numbers of marks and notifications, and the bytes in the
/// deepest queue.
fn incast(dcqcn: Option<DcqcnParams>) -> (u64, u64, u64) {
    let ecn = EcnParams { k_min_bytes: 20_000, k_max_bytes: 100_000, p_max: Ratio::new(1, 1) };
    let switch = SwitchParams { ecn: Some(ecn), ..SwitchParams::default() };
    let spec = NetworkSpec {
        topology: Some(Topology::Star { nodes: 3 }),
        switch: SwitchChoice::Params(Box::new(switch)),
        ..NetworkSpec::default()
    };
    let params = PlainParams { dcqcn, ..PlainParams::default() };
    let build = |id: NodeId, _: &str, _: &_| {
        let params = params.clone();
        let build: BuildNode = Box::new(move |place| {
            let program = match id {
                NodeId(0) => Messages::receiver(),
                _ => Messages::to(0, [Payload::Zeros(2_000_000)]),
            };
            Ok(Box::new(PlainNic::new(params, place, Box::new(program))?) as Box<dyn Node>)
        });
        Ok::<_, std::convert::Infallible>(build)
    };
    let plan = spec.design(&["plain"], |_| false).unwrap().plan(build).unwrap();
    let deepest = Arc::new(AtomicU64::new(0));
    let seen = deepest.clone();
    let observer = move |rows: &[Row]| {
        let depth = |row: &Row| if let What::Depth { bytes, .. } = row.what { bytes } else { 0 };
        seen.fetch_max(rows.iter().map(depth).max().unwrap_or(0), Ordering::Relaxed);
        Ok(())
    };
    let options = Options { threads: 1, observer: Some(Box::new(observer)), ..Options::default() };
    let mut network = Network::build(plan, options).unwrap();
    assert_eq!(network.run_until(Time::from_ns(20_000_000)).unwrap().next, None);
    let (received, _, counts) = outcome(&mut network, 0);
    assert_eq!(received.len(), 2);
    let notified = (1..3).map(|node| outcome(&mut network, node).2.notified).sum();
    (counts.marked, notified, deepest.load(Ordering::Relaxed))
}

#[test]
fn dcqcn_keeps_queues_short() {
    let (marked, notified, deepest) = incast(None);
    assert!(marked > 100 && notified == 0, "{marked} marks, {notified} notifications");
    let controlled = incast(Some(DcqcnParams::default()));
    // Each sender gets at most one notification in 50 us. The run takes at least 320 us.
    assert!((2..=40).contains(&controlled.1), "{} notifications", controlled.1);
    assert!(controlled.2 * 4 < deepest, "{} bytes of {deepest}", controlled.2);
}

#[test]
fn unexpected_messages_wait_for_their_entry() {
    let late = Time::from_ns(5_000);
    let entries = vec![
        (Time::ZERO, Entry::one(Some(NodeId(0)), 2)),
        (late, Entry::one(None, 0)),
        (late, Entry { ignore: 1, ..Entry::one(None, 0) }),
    ];
    let receiver = Messages { entries, ..Messages::default() };
    let mut network = pair(
        &PlainParams::default(),
        Messages::to(1, (0..3).map(|_| Payload::Zeros(10))),
        receiver,
        direction(RATE, 500, ""),
    );
    let (received, _, counts) = outcome(&mut network, 1);
    let seen: Vec<(u64, u64, bool)> =
        received.iter().map(|(at, message)| (message.tag, message.entry.0, *at == late)).collect();
    assert_eq!(seen, [(2, 0, false), (0, 1, true), (1, 2, true)]);
    assert_eq!((counts.received, counts.unexpected), (3, 2));
}

#[test]
fn impossible_nics_are_refused() {
    let build = |params: PlainParams| {
        let nodes = vec![nic("a", params, Messages::default), nic("b", PlainParams::default(), Messages::default)];
        let error =
            Network::build(plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]), Options::default())
                .err();
        error.unwrap().to_string()
    };
    assert_eq!(
        build(PlainParams { mtu: 9000, ..PlainParams::default() }),
        "node `a`: its packets have up to 9074 bytes, but its link carries at most 9018; choose an mtu of at most 8944"
    );
    assert_eq!(build(PlainParams { mtu: 10, ..PlainParams::default() }), "node `a`: mtu is 10, must be 64 to 32768");
    let nodes = vec![
        nic("a", PlainParams::default(), || Messages::to(0, [Payload::Zeros(1)])),
        nic("b", PlainParams::default(), Messages::default),
    ];
    let mut network =
        Network::build(plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]), Options::default())
            .unwrap();
    let error = network.run_until(Time::from_ns(10)).unwrap_err().to_string();
    assert!(error.ends_with("the host sends a message to itself (tag 0x0)"), "{error}");
}
