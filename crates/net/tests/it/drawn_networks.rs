//! Drawn networks with drawn traffic and faults: conservation at every window, completeness, order, no drops with pauses, equal digests.

use crate::plain::{Messages, outcome};
use kernel::Time;
use net::NodeId;
use net::host::Payload;
use net::network::{Network, Options};
use net::node::{BuildNode, Node, NodeFailure};
use net::observe::{DropReason, Row, What};
use net::plain::PlainNic;
use net::plain::params::{PlainParams, Transport};
use net::plan::Plan;
use net::span::{BitRate, Ratio, Span};
use net::spec::{LinkParams, NetworkSpec, SwitchChoice};
use net::switch::params::{Buffering, Choice, EcnParams, Forwarding, PfcParams, Schedule, SwitchParams};
use net::topology::Topology;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wire::random::Random;

/// Simulated time within which all drawn traffic ends, repeats included.
const END: Time = Time::from_ns(40_000_000);

/// A drawn network.
pub struct Drawn {
    pub spec: NetworkSpec,
    pub params: PlainParams,
    pub seed: u64,
    /// Pauses protect all classes, and links lose nothing.
    pub is_lossless: bool,
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

pub fn draw(seed: u64) -> Drawn {
    let mut random = Random::named(seed, "network");
    let r = &mut random;
    let is_lossless = r.below(2) == 0;
    let fat =
        |levels, radix, top, nodes| Topology::FatTree { levels, radix, oversubscription: Ratio::new(top, 1), nodes };
    let loop_free = [
        Topology::Pair {},
        Topology::Star { nodes: 3 + r.below(5) as u32 },
        fat(2, 4, 1, None),
        fat(2, 8, 3, Some(14)),
        fat(3, 4, 1, Some(13)),
    ];
    let any = [
        Topology::Dragonfly { nodes_per_switch: 1, switches_per_group: 3, global_links: 1, groups: None },
        Topology::Torus { dimensions: vec![3, 4], nodes_per_switch: 1 },
    ];
    let n_choices = if is_lossless { loop_free.len() } else { loop_free.len() + any.len() };
    let topology = loop_free.iter().chain(&any).nth(r.below(n_choices as u64) as usize).cloned();
    let rate = pick(r, &[10_000_000_000, 100_000_000_000, 333_000_000_000]);
    let delay_ns = 50 + r.below(1000);
    let mtu = pick(r, &[256u32, 1000, 4096]);
    // Headroom for pauses: the bytes of the line during the round trip and the reaction, one frame on each line, and
    // some more frames.
    let headroom_bytes = (2 * delay_ns + 300) * rate / 8_000_000_000 + 8 * (u64::from(mtu) + 200) + 30_000;
    let pfc = PfcParams {
        classes: (0..8).collect(),
        xoff_bytes: 2 * 9018 + r.below(60_000),
        xon_bytes: r.below(18_000),
        headroom_bytes,
    };
    let small = 20_000 + r.below(60_000);
    let switch = SwitchParams {
        forwarding: pick(r, &[Forwarding::StoreAndForward, Forwarding::CutThrough]),
        latency: Span::parse(&format!("{} ns", 1 + r.below(500))).unwrap(),
        buffering: pick(r, &[Buffering::Shared, Buffering::Input]),
        buffer_bytes: if is_lossless { 4 << 20 } else { small },
        queue_bytes: None,
        alpha: if r.below(3) == 0 { Some(Ratio::new(1, 1 + r.below(4))) } else { None },
        schedule: pick(r, &[Schedule::Strict, Schedule::RoundRobin]),
        choice: pick(r, &[Choice::Ecmp, Choice::Adaptive]),
        ecn: Some(EcnParams { k_min_bytes: 5_000, k_max_bytes: 50_000, p_max: Ratio::new(1, 3) })
            .filter(|_| r.below(2) == 0),
        pfc: is_lossless.then_some(pfc),
    };
    let faults = ["", "loss=0.01", "loss=0.02,duplicate=0.02,reorder=0.05:6"];
    let link = LinkParams {
        rate: Some(BitRate(Some(rate))),
        delay: Some(Span::parse(&format!("{delay_ns} ns")).unwrap()),
        faults: Some(if is_lossless { "" } else { pick(r, &faults) }.to_owned()),
        pause_reaction: Some(Span::parse("100 ns").unwrap()),
        ..LinkParams::default()
    };
    let transport =
        if is_lossless { Transport::Lossless } else { pick(r, &[Transport::GoBackN, Transport::Selective]) };
    let params = PlainParams {
        mtu,
        transport,
        window: 1 + r.below(40) as u32,
        ack_every: 1,
        class: r.below(8) as u8,
        timeout: Span::parse("40 us").unwrap(),
        ..PlainParams::default()
    };
    let spec =
        NetworkSpec { seed, topology, link, switch: SwitchChoice::Params(Box::new(switch)), ..NetworkSpec::default() };
    Drawn { spec, params, seed, is_lossless }
}

/// The messages that a node posts: up to 6, of which half go to node 0.
fn posts(seed: u64, node: u32, n: u32) -> Vec<(Time, NodeId, u64, Payload)> {
    let mut random = Random::named(seed, &format!("posts.{node}"));
    let others: Vec<u32> = (0..n).filter(|&to| to != node).collect();
    let mut posts: Vec<_> = (0..random.below(7))
        .map(|_| {
            let to =
                if node != 0 && random.below(2) == 0 { 0 } else { others[random.below(others.len() as u64) as usize] };
            let len = pick(&mut random, &[0, 1, 63, 1000, 4096, 30_000]);
            (Time::from_ns(random.below(20_000)), NodeId(to), Payload::Zeros(len))
        })
        .collect();
    posts.sort_by_key(|post| post.0);
    posts.into_iter().enumerate().map(|(tag, (at, to, payload))| (at, to, tag as u64, payload)).collect()
}

pub fn plan(drawn: &Drawn) -> (Plan, u32) {
    let design = drawn.spec.design(&["plain"], |_| false).unwrap();
    let (n, seed) = (design.n_devices, drawn.seed);
    let plan = design.plan(|node, _, _| {
        let params = drawn.params.clone();
        let build: BuildNode = Box::new(move |place| {
            let program = Messages { posts: posts(seed, node.0, n), ..Messages::receiver() };
            Ok(Box::new(PlainNic::new(params, place, Box::new(program))?) as Box<dyn Node>)
        });
        Ok::<_, NodeFailure>(build)
    });
    (plan.unwrap(), n)
}

/// Runs in slices, with a check of all bytes after each.
fn run(drawn: &Drawn, threads: usize, slices: u64, options: Options) -> (Network, u32) {
    let (plan, n) = plan(drawn);
    let mut network = Network::build(plan, Options { threads, ..options }).unwrap();
    let busy = Time::from_ns(60_000);
    for slice in 1..=slices {
        network.run_until(Time::from_fs(busy.fs() / slices * slice)).unwrap();
        let ledger = network.ledger().unwrap();
        assert!(ledger.is_balanced(), "seed {}: {ledger:?}", drawn.seed);
    }
    let progress = network.run_until(END).unwrap();
    // Only repeated pauses could continue, and there are none without frames.
    assert_eq!(progress.next, None, "seed {}: everything ends", drawn.seed);
    (network, n)
}

fn check(seed: u64) {
    let drawn = draw(seed);
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let sink = Arc::clone(&rows);
    let observer = Box::new(move |new: &[Row]| {
        sink.lock().unwrap().extend_from_slice(new);
        Ok(())
    });
    let (mut network, n) = run(&drawn, 1, 25, Options { observer: Some(observer), ..Options::default() });
    let ledger = network.ledger().unwrap();
    assert!(ledger.is_balanced() && ledger.in_flight.frames == 0, "seed {seed}: {ledger:?}");
    if drawn.is_lossless {
        assert_eq!(ledger.all_dropped().frames, 0, "seed {seed}: pauses lose nothing: {ledger:?}");
    }
    assert_eq!(ledger.dropped_for(DropReason::HeadroomFull).frames, 0, "seed {seed}");
    // Each message arrives once, and those of a pair in order.
    let mut want: BTreeMap<(u32, u32), Vec<(u64, u32)>> = BTreeMap::new();
    for from in 0..n {
        for (_, to, tag, payload) in posts(seed, from, n) {
            want.entry((from, to.0)).or_default().push((tag, payload.len()));
        }
    }
    let mut got: BTreeMap<(u32, u32), Vec<(u64, u32)>> = BTreeMap::new();
    for to in 0..n {
        for (_, message) in outcome(&mut network, to).0 {
            got.entry((message.from.0, to)).or_default().push((message.tag, message.len));
        }
    }
    assert_eq!(got, want, "seed {seed}: {:?}", drawn.params);
    // Rows and counters agree, and the rows of each frame have no gaps.
    let rows = rows.lock().unwrap();
    let count = |what: fn(&What) -> bool| rows.iter().filter(|row| what(&row.what)).count() as u64;
    assert_eq!(count(|what| matches!(what, What::Entered)), ledger.entered.frames);
    assert_eq!(count(|what| matches!(what, What::Delivered { .. })), ledger.delivered.frames);
    assert_eq!(count(|what| matches!(what, What::Dropped { .. })), ledger.all_dropped().frames);
    assert!(rows.iter().enumerate().all(|(i, row)| row.number == i as u64));
    assert!(rows.windows(2).all(|pair| (pair[0].at, pair[0].node) <= (pair[1].at, pair[1].node)));
    let digest = network.digest().unwrap();
    let n_nodes = network.report().unwrap().len();
    let mut random = Random::named(seed, "placement");
    for threads in 1..=4 {
        let (mut other, _) = run(&drawn, threads, 1 + random.below(9), Options::default());
        assert_eq!(other.digest().unwrap(), digest, "seed {seed}: {threads} threads");
        let placement = (0..n_nodes).map(|_| random.below(threads.min(n_nodes) as u64) as u32).collect();
        let (mut other, _) = run(&drawn, threads, 2, Options { placement: Some(placement), ..Options::default() });
        assert_eq!(other.digest().unwrap(), digest, "seed {seed}: {threads} threads, drawn placement");
    }
}

/// Networks to draw: few by default, because each runs nine times.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn drawn_networks_keep_all_promises(seed: u64) {
        check(seed);
    }

    /// Senders of an incast get equal shares while all have frames.
    #[test]
    fn an_output_is_fair(n in 2u32..8, delay_ns in 100u64..1000, with_pauses: bool) {
        let pfc = PfcParams { classes: vec![0], xoff_bytes: 50_000, xon_bytes: 40_000, headroom_bytes: 100_000 };
        let params = SwitchParams { buffering: Buffering::Input, pfc: with_pauses.then_some(pfc), ..SwitchParams::default() };
        let spec = NetworkSpec {
            topology: Some(Topology::Star { nodes: n + 1 }),
            link: LinkParams { delay: Some(Span::parse(&format!("{delay_ns} ns")).unwrap()), ..LinkParams::default() },
            switch: SwitchChoice::Params(Box::new(params)),
            ..NetworkSpec::default()
        };
        let plan = spec.design(&["plain"], |_| false).unwrap().plan(|node, _, _| {
            let build: BuildNode = Box::new(move |place| {
                let program = if node.0 < n { Messages::to(n, [Payload::Zeros(2_000_000)]) } else { Messages::receiver() };
                Ok(Box::new(PlainNic::new(PlainParams::default(), place, Box::new(program))?) as Box<dyn Node>)
            });
            Ok::<_, NodeFailure>(build)
        });
        let shares: Arc<Mutex<BTreeMap<NodeId, u64>>> = Arc::default();
        let sink = Arc::clone(&shares);
        let observer = Box::new(move |rows: &[Row]| {
            for row in rows.iter().filter(|row| matches!(row.what, What::Delivered { .. })) {
                *sink.lock().unwrap().entry(row.frame.node).or_default() += 1;
            }
            Ok(())
        });
        let mut network = Network::build(plan.unwrap(), Options { threads: 1, observer: Some(observer), ..Options::default() }).unwrap();
        // 2 MB take 160 us alone: all senders have frames for at least that long.
        network.run_until(Time::from_ns(150_000)).unwrap();
        let shares = shares.lock().unwrap();
        let (least, most) = (shares.values().min().unwrap(), shares.values().max().unwrap());
        prop_assert!(shares.len() == n as usize && most - least <= 1, "{shares:?}");
    }
}
