//! Switches against arithmetic: chains, incast, buffers, pauses, marks, paths.

use crate::rig::{RATE, Script, arrived, build, counts, device, direction, link, origins, packet, star, switched};
use kernel::Time;
use net::NodeId;
use net::device::Attached;
use net::line::{Framing, Rate};
use net::network::{Network, Options};
use net::node::Node;
use net::observe::{DropReason, Row, What};
use net::plan::Plan;
use net::span::{Ratio, Span};
use net::switch::params::{Buffering, Choice, EcnParams, Forwarding, PfcParams, Schedule, SwitchParams};
use std::sync::{Arc, Mutex};

/// Byte time at 100 Gbit/s, in ps.
const BYTE: u64 = 80;
const DELAY: u64 = 500_000;
const LATENCY: u64 = 300_000;
const LONG: Time = Time::from_ns(10_000_000);

fn cut_through() -> SwitchParams {
    SwitchParams { forwarding: Forwarding::CutThrough, ..SwitchParams::default() }
}

/// Two devices with `n` switches between them; the last link has the rate `last`.
fn chain(n: u16, params: &SwitchParams, frames: Vec<(Time, Vec<u8>)>, last: u64) -> Plan {
    let nodes = vec![device("a", || Script::sending(frames)), device("b", Script::default)];
    let mut links = vec![link("in", (0, 0), (2, 0), direction(RATE, 500, ""))];
    for i in 1..u32::from(n) {
        links.push(link(&format!("s{i}"), (1 + i, 1), (2 + i, 0), direction(RATE, 500, "")));
    }
    links.push(link("out", (1 + u32::from(n), 1), (1, 0), direction(last, 500, "")));
    switched(nodes, &vec![(2, params.clone()); usize::from(n)], links)
}

fn run(plan: Plan) -> Network {
    let mut network = build(plan, 1);
    network.run_until(LONG).unwrap();
    assert!(network.ledger().unwrap().is_balanced());
    network
}

#[test]
fn a_store_and_forward_chain_takes_a_serialisation_a_hop() {
    for n in 1..=4 {
        for len in [60, 1500] {
            let mut network = run(chain(n, &SwitchParams::default(), vec![(Time::ZERO, packet(0, 1, len, 0))], RATE));
            let (n, tail) = (u64::from(n), (8 + len as u64 + 4) * BYTE);
            assert_eq!(
                arrived(&mut network, 1)[0].1,
                (n + 1) * (DELAY + tail) + n * LATENCY,
                "{n} switches, {len} bytes"
            );
        }
    }
}

#[test]
fn a_cut_through_chain_takes_one_serialisation() {
    for n in 1..=4 {
        for len in [60, 1500] {
            let mut network = run(chain(n, &cut_through(), vec![(Time::ZERO, packet(0, 1, len, 0))], RATE));
            let (n, len) = (u64::from(n), len as u64);
            // A hop takes the preamble, the delay, and the latency from the first bit on.
            let want = (n + 1) * (DELAY + 8 * BYTE) + n * LATENCY + (len + 4) * BYTE;
            assert_eq!(arrived(&mut network, 1)[0].1, want, "{n} switches, {len} bytes");
        }
    }
}

#[test]
fn cut_through_to_a_faster_output_waits_for_the_bits() {
    // At 400 Gbit/s a byte takes 20 ps. The last bit leaves one latency after it arrived.
    let len = 1500;
    let mut network = run(chain(1, &cut_through(), vec![(Time::ZERO, packet(0, 1, len, 0))], 4 * RATE));
    let last_in = DELAY + (8 + len as u64 + 4) * BYTE;
    assert_eq!(arrived(&mut network, 1)[0].1, last_in + LATENCY + DELAY);
    // A frame to a slower output starts after the latency.
    let mut network = run(chain(1, &cut_through(), vec![(Time::ZERO, packet(0, 1, len, 0))], RATE / 4));
    let want = DELAY + 8 * BYTE + LATENCY + (8 + len as u64 + 4) * 4 * BYTE + DELAY;
    assert_eq!(arrived(&mut network, 1)[0].1, want);
}

/// `n` senders of `k` frames of `len` bytes to the last device, all at time 0.
fn incast(n: u32, k: u32, len: usize, params: SwitchParams) -> Plan {
    let frames = |from: u32| (0..k).map(move |i| (Time::ZERO, packet(from, n, len, i)));
    let mut scripts: Vec<Script> = (0..n).map(|from| Script::sending(frames(from))).collect();
    scripts.push(Script::default());
    star(scripts, params, direction(RATE, 500, ""))
}

#[test]
fn incast_takes_the_serialisation_of_all_frames() {
    let (n, k, len) = (8, 20, 1000);
    let mut network = run(incast(n, k, len, SwitchParams::default()));
    let times = arrived(&mut network, n);
    let frame = (len as u64 + 24) * BYTE;
    let first = 2 * (DELAY + (8 + len as u64 + 4) * BYTE) + LATENCY;
    let want: Vec<u64> = (0..u64::from(n * k)).map(|i| first + i * frame).collect();
    assert_eq!(times.iter().map(|&(_, tail)| tail).collect::<Vec<_>>(), want);
    // Times are in byte times after the first head. The last head comes after k - 1 frames. The first frame leaves after its
    // other bits and the latency, and its last bit has left 8 + 1,004 byte times later.
    let (last_head, first_left) = (u64::from(k - 1) * 1024, 1004 + LATENCY / BYTE + 1012);
    let left = (last_head - first_left) / 1024 + 1;
    let peak = counts(&mut network, n + 1).peak_queue;
    assert_eq!(peak, (u64::from(n * k) - left) * len as u64);
}

#[test]
fn rows_of_a_queue_add_up() {
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let kept = rows.clone();
    let observer = move |rows: &[Row]| {
        kept.lock().unwrap().extend_from_slice(rows);
        Ok(())
    };
    let options = Options { threads: 1, observer: Some(Box::new(observer)), ..Options::default() };
    let mut network = Network::build(incast(8, 20, 1000, SwitchParams::default()), options).unwrap();
    assert_eq!(network.run_until(LONG).unwrap().next, None);
    let (mut queued, mut n) = (0, 0);
    for row in rows.lock().unwrap().iter().filter(|row| row.node == NodeId(9)) {
        if let What::Depth { bytes, .. } = row.what {
            assert_eq!(bytes.abs_diff(queued), 1000, "each frame comes once and leaves once");
            (queued, n) = (bytes, n + 1);
        }
    }
    assert_eq!((queued, n), (0, 2 * 8 * 20));
}

#[test]
fn inputs_take_turns_at_an_output() {
    for buffering in [Buffering::Shared, Buffering::Input] {
        let params = SwitchParams { buffering, ..SwitchParams::default() };
        let mut network = run(incast(3, 10, 500, params));
        let from: Vec<u32> = origins(&mut network, 3).iter().map(|&(node, _)| node).collect();
        assert_eq!(from, [0, 1, 2].repeat(10), "{buffering:?}");
    }
}

#[test]
fn a_buffer_takes_frames_up_to_its_last_byte() {
    let dropped = |params: SwitchParams, reason| {
        let mut network = run(incast(4, 1, 1000, params));
        network.ledger().unwrap().dropped_for(reason).frames
    };
    let shared = |buffer_bytes| SwitchParams { buffer_bytes, ..SwitchParams::default() };
    assert_eq!(dropped(shared(4000), DropReason::BufferFull), 0);
    assert_eq!(dropped(shared(3999), DropReason::BufferFull), 1);
    assert_eq!(dropped(shared(2000), DropReason::BufferFull), 2);
    let queue = |bytes| SwitchParams { queue_bytes: Some(bytes), ..SwitchParams::default() };
    assert_eq!(dropped(queue(4000), DropReason::QueueFull), 0);
    assert_eq!(dropped(queue(3999), DropReason::QueueFull), 1);
    // The fourth frame finds 3,000 bytes queued and 5,000 - 3,000 free; 4,000 is twice that.
    let alpha = |top, bottom, buffer_bytes| SwitchParams {
        alpha: Some(Ratio::new(top, bottom)),
        buffer_bytes,
        ..SwitchParams::default()
    };
    assert_eq!(dropped(alpha(2, 1, 5000), DropReason::QueueFull), 0);
    assert_eq!(dropped(alpha(2, 1, 4999), DropReason::QueueFull), 1);
    let input = SwitchParams { buffering: Buffering::Input, buffer_bytes: 1000, ..SwitchParams::default() };
    assert_eq!(dropped(input, DropReason::BufferFull), 0, "each input has a buffer of its own");
}

/// Two senders at line rate to one receiver. Each sends `k` frames of `len` bytes.
fn paused(pfc: PfcParams, k: u32, len: usize) -> Network {
    run(incast(2, k, len, SwitchParams { pfc: Some(pfc), ..SwitchParams::default() }))
}

#[test]
fn headroom_is_exact_to_the_byte() {
    let (k, len) = (100, 1000u64);
    let pfc = |headroom_bytes| PfcParams { classes: vec![0], xoff_bytes: 10 * len, xon_bytes: 4 * len, headroom_bytes };
    // The output is so slow that nothing leaves meanwhile. A frame of the sender takes 1,024 byte times. The eleventh frame goes
    // to the headroom at its head, and a pause leaves at once. It has arrived after 72 byte times (preamble, 64 bytes) and the
    // delay. Frames that begin before that still arrive. The eleventh frame began earlier than its head: by its preamble and the
    // delay.
    let after = (2 * DELAY + (72 + 8) * BYTE - 1) / (1024 * BYTE);
    let needed = (1 + after) * len;
    assert_eq!(needed, 13_000);
    let slow = |headroom| {
        let params = SwitchParams { pfc: Some(pfc(headroom)), ..SwitchParams::default() };
        run(chain(1, &params, (0..k).map(|i| (Time::ZERO, packet(0, 1, len as usize, i))).collect(), RATE / 100))
    };
    let mut network = slow(needed);
    assert_eq!(network.ledger().unwrap().all_dropped().frames, 0);
    assert_eq!((arrived(&mut network, 1).len(), counts(&mut network, 2).peak_headroom), (k as usize, needed));
    let mut network = slow(needed - 1);
    assert!(network.ledger().unwrap().dropped_for(DropReason::HeadroomFull).frames > 0);
}

#[test]
fn the_safe_headroom_is_enough_and_not_far_from_what_is_needed() {
    let place = net::node::PortPlace {
        link: net::LinkId(0),
        peer: (NodeId(0), net::PortId(0)),
        rate: net::line::Rate::bps(RATE),
        peer_rate: net::line::Rate::bps(RATE),
        framing: net::line::Framing::Ethernet,
        delay: Time::from_ps(DELAY),
        max_frame: 1000,
        pause_reaction: Time::ZERO,
    };
    let safe = net::switch::safe_headroom(&place, 1000, Time::from_ps(DELAY), Time::ZERO);
    // The delays alone take 12,500 bytes; in addition, a frame and eight pauses on its own line, and two frames of the
    // sender.
    assert_eq!(safe, 12_500 + (1024 + 8 * 84) + 2 * 1000);
    let pfc = PfcParams { classes: vec![0], xoff_bytes: 10_000, xon_bytes: 4_000, headroom_bytes: safe };
    assert_eq!(paused(pfc, 300, 1000).ledger().unwrap().all_dropped().frames, 0);
}

#[test]
fn a_pause_ends_and_all_frames_arrive_in_order() {
    let pfc = PfcParams { classes: vec![0], xoff_bytes: 12_000, xon_bytes: 10_000, headroom_bytes: 20_000 };
    let mut network = paused(pfc, 400, 700);
    let all = origins(&mut network, 2);
    for sender in [0, 1] {
        let numbers: Vec<u64> = all.iter().filter(|&&(node, _)| node == sender).map(|&(_, number)| number).collect();
        assert_eq!(numbers, (0..400).collect::<Vec<u64>>());
    }
    assert!(counts(&mut network, 3).pauses > 2);
    // The end of the pause reaches the sender after a delay, and its frames arrive after another delay; the two inputs
    // hold 20,000 bytes for these 12,500 byte times. So the output never runs dry: the last frame arrives as without
    // pauses.
    let last = arrived(&mut network, 2).last().unwrap().1;
    assert_eq!(last, 2 * (DELAY + 712 * BYTE) + LATENCY + 799 * 724 * BYTE);
    let (pauses, _) = network.report().unwrap()[3].lines[0].unwrap();
    assert!(pauses.pauses > 0);
}

#[test]
fn a_paused_class_does_not_hold_another_one() {
    // Class 0 is paused by an incast; class 5 (DSCP 40) of the same sender continues.
    let mut scripts: Vec<Script> =
        (0..2).map(|from| Script::sending((0..200).map(move |i| (Time::ZERO, packet(from, 2, 1000, i))))).collect();
    let mut urgent = packet(0, 3, 100, 0);
    urgent[15] = 40 << 2;
    let at = Time::from_ns(12_000);
    scripts[0].to_send.push_back((at, urgent));
    scripts.extend([Script::default(), Script::default()]);
    let pfc = PfcParams { classes: vec![0], xoff_bytes: 3_000, xon_bytes: 1_000, headroom_bytes: 20_000 };
    let params = SwitchParams { pfc: Some(pfc), ..SwitchParams::default() };
    let mut network = run(star(scripts, params, direction(RATE, 500, "")));
    let tail = arrived(&mut network, 3)[0].1;
    let own = 2 * (DELAY + 112 * BYTE) + LATENCY;
    assert!(
        tail >= at.ps() + own && tail <= at.ps() + own + 1024 * BYTE,
        "{tail}: at most one frame is in front of it"
    );
}

#[test]
fn classes_go_by_schedule() {
    // A frame blocks the output; then 4 frames of class 0 and 4 of class 5 wait for it.
    let order = |schedule| {
        let at = Time::from_ns(10);
        let frames = |from: u32, tos: u8, len| {
            (0..4).map(move |i| {
                let mut bytes = packet(from, 3, len, i);
                bytes[15] = tos;
                (at, bytes)
            })
        };
        let scripts = vec![
            Script::sending([(Time::ZERO, packet(0, 3, 9000, 0))]),
            Script::sending(frames(1, 0, 300)),
            Script::sending(frames(2, 40 << 2, 300)),
            Script::default(),
        ];
        let mut network = run(star(
            scripts,
            SwitchParams { schedule, forwarding: Forwarding::CutThrough, ..SwitchParams::default() },
            direction(RATE, 500, ""),
        ));
        origins(&mut network, 3).iter().map(|&(node, _)| node).collect::<Vec<u32>>()
    };
    assert_eq!(order(Schedule::Strict), [0, 2, 2, 2, 2, 1, 1, 1, 1]);
    assert_eq!(order(Schedule::RoundRobin), [0, 2, 1, 2, 1, 2, 1, 2, 1]);
}

#[test]
fn congestion_is_marked_between_the_thresholds() {
    let marks = |k_min_bytes, k_max_bytes, p_max| {
        let ecn = EcnParams { k_min_bytes, k_max_bytes, p_max };
        let mut network = run(incast(4, 250, 1000, SwitchParams { ecn: Some(ecn), ..SwitchParams::default() }));
        let act = |node: &mut dyn Node| {
            let attached = node.as_any().downcast_mut::<Attached<Script>>().unwrap();
            let frames = attached.device().arrived.iter();
            let valid = |bytes: &[u8]| wire::checksum::Sum::default().with(&bytes[14..34]).finish() == 0;
            frames.filter(|arrival| valid(&arrival.frame.bytes) && arrival.frame.bytes[15] & 3 == 3).count() as u64
        };
        let seen = network.with_node(NodeId(4), act).unwrap();
        assert_eq!(seen, counts(&mut network, 5).marked);
        seen
    };
    let all = Ratio::new(1, 1);
    // The queue grows by 3 frames while one leaves; 4 frames come at a time. Frames that find at most 10,000 bytes are not marked.
    let exact = marks(10_000, 10_001, all);
    assert!((1000 - 20..1000).contains(&exact), "{exact}");
    assert_eq!(marks(10_000_000, 10_000_001, all), 0);
    // A probability of 1/4 on a plateau: the queue is nearly always above 1 byte and far below 2^40.
    let some = marks(0, 1_000_000, Ratio::new(1, 2));
    // The queue rises from 0 to 750,000 bytes as frames come: the mean probability is 0.5 * 0.375, so 187 marks are expected of 1,000, with
    // a standard deviation below 13.
    assert!((187 - 65..187 + 65).contains(&some), "{some}");
}

/// Two leaves of `n` devices each with `spines` between them; all devices of leaf 0 send `k` flows of `m` frames to leaf 1.
fn leaf_spine(n: u32, spines: u32, params: &SwitchParams, m: u32) -> Plan {
    let (leaf, devices) = (2 * n, 2 * n);
    let script = move |i: u32| {
        let frames = (0..m).map(move |f| (Time::from_ns(u64::from(f) * 200), packet(i, n + (i + f) % n, 1000, f)));
        if i < n { Script::sending(frames) } else { Script::default() }
    };
    let nodes = (0..devices).map(|i| device(&format!("n{i}"), move || script(i))).collect();
    let mut links: Vec<_> = (0..devices)
        .map(|i| link(&format!("d{i}"), (i, 0), (leaf + i / n, (i % n) as u16), direction(RATE, 500, "")))
        .collect();
    for side in 0..2 {
        for spine in 0..spines {
            let ends = ((leaf + side, (n + spine) as u16), (leaf + 2 + spine, side as u16));
            links.push(link(&format!("u{side}.{spine}"), ends.0, ends.1, direction(RATE, 500, "")));
        }
    }
    let mut switches = vec![((n + spines) as u16, params.clone()); 2];
    switches.extend(vec![(2, params.clone()); spines as usize]);
    switched(nodes, &switches, links)
}

#[test]
fn flows_spread_over_equal_paths_and_stay_on_theirs() {
    let (n, spines, m) = (32, 4, 64);
    let mut network = run(leaf_spine(n, spines, &SwitchParams::default(), m));
    let report = network.report().unwrap();
    let shares: Vec<u64> =
        (0..spines).map(|spine| report[2 * n as usize].lines[(n + spine) as usize].unwrap().0.sent.frames).collect();
    assert_eq!(shares.iter().sum::<u64>(), u64::from(n * m));
    // 1,024 flows of 2 frames each: 256 flows a path, with a standard deviation of 14.
    assert!(shares.iter().all(|&share| (2 * (256 - 70)..2 * (256 + 70)).contains(&share)), "{shares:?}");
    for device in n..2 * n {
        let mut last = std::collections::BTreeMap::new();
        for (from, number) in origins(&mut network, device) {
            assert!(last.insert(from, number).is_none_or(|before| before < number), "a flow is in order");
        }
    }
}

#[test]
fn adaptive_choice_takes_the_shortest_queue() {
    let params = SwitchParams { choice: Choice::Adaptive, ..SwitchParams::default() };
    let (n, spines) = (8, 8);
    let mut network = run(leaf_spine(n, spines, &params, 100));
    let report = network.report().unwrap();
    let shares: Vec<u64> =
        (0..spines).map(|spine| report[2 * n as usize].lines[(n + spine) as usize].unwrap().0.sent.frames).collect();
    assert_eq!(shares.iter().sum::<u64>(), 800);
    // 8 frames come at a time, and each finds the outputs that the others have not taken.
    assert!(shares.iter().all(|&share| share == 100), "{shares:?}");
}

#[test]
fn frames_without_a_destination_are_dropped_with_a_reason() {
    let scripts = vec![
        Script::sending([(Time::ZERO, packet(0, 999, 100, 0)), (Time::ZERO, packet(0, 1, 100, 0))]),
        Script::default(),
    ];
    let mut network = run(star(scripts, SwitchParams::default(), direction(RATE, 500, "")));
    assert_eq!(arrived(&mut network, 1).len(), 1);
    assert_eq!(network.ledger().unwrap().dropped_for(DropReason::UnknownAddress).frames, 1);
}

#[test]
fn invalid_parameters_are_refused() {
    let refused = |change: &dyn Fn(&mut SwitchParams)| {
        let mut params = SwitchParams::default();
        change(&mut params);
        params.check(9018).unwrap_err().to_string()
    };
    let pfc = |xoff_bytes, xon_bytes, headroom_bytes, classes: &[u8]| PfcParams {
        classes: classes.to_vec(),
        xoff_bytes,
        xon_bytes,
        headroom_bytes,
    };
    let texts = [
        refused(&|params| params.buffer_bytes = 9017),
        refused(&|params| params.ecn = Some(EcnParams { k_min_bytes: 5, k_max_bytes: 5, p_max: Ratio::new(1, 1) })),
        refused(&|params| params.ecn = Some(EcnParams { k_min_bytes: 5, k_max_bytes: 6, p_max: Ratio::new(3, 2) })),
        refused(&|params| params.pfc = Some(pfc(10, 11, 20_000, &[0]))),
        refused(&|params| params.pfc = Some(pfc(10, 5, 9017, &[0]))),
        refused(&|params| params.pfc = Some(pfc(10, 5, 20_000, &[8]))),
    ];
    expect_test::expect![[r#"
        buffer_bytes is 9017, must be 9018 to 1099511627776
        ecn.k_max_bytes is 5, must be above k_min_bytes, 5
        ecn.p_max is 3/2, must be at most 1
        pfc.xon_bytes is 11, must be at most xoff_bytes, 10
        pfc.headroom_bytes is 9017, must be at least 9018, the longest frame
        pfc.classes is [8], must be 0 to 7 each"#]]
    .assert_eq(&texts.join("\n"));
    for preset in SwitchParams::PRESETS {
        SwitchParams::preset(preset).unwrap().check(9018).unwrap();
    }
    assert_eq!(SwitchParams::preset("spectrum-2").unwrap().latency, Span::parse("300 ns").unwrap());
}

/// Devices that serialise their frames themselves: their direction has no rate.
fn unrated(scripts: Vec<Script>, params: SwitchParams, framing: Framing) -> Plan {
    let mut plan = star(scripts, params, direction(RATE, 500, ""));
    for link in &mut plan.links {
        link.directions[0].rate = Rate::INFINITE;
        link.directions.iter_mut().for_each(|way| way.framing = framing);
    }
    plan
}

#[test]
fn a_direction_without_a_rate_takes_no_time_for_bits() {
    let at = Time::from_ns(40);
    for (framing, body) in [(Framing::Ethernet, 8 + 100 + 4), (Framing::Fcs, 100 + 4), (Framing::None, 100)] {
        let frames = [(at, packet(0, 1, 100, 0)), (at, packet(0, 1, 100, 1))];
        let plan = unrated(vec![Script::sending(frames), Script::default()], SwitchParams::default(), framing);
        let mut network = run(plan);
        let first = at.ps() + DELAY + LATENCY + body * BYTE + DELAY;
        let gap = if framing == Framing::Ethernet { 12 } else { 0 };
        let tails: Vec<u64> = arrived(&mut network, 1).iter().map(|&(_, tail)| tail).collect();
        assert_eq!(tails, [first, first + (body + gap) * BYTE], "{framing:?}");
    }
}

#[test]
fn a_sender_without_a_rate_pauses_until_it_may_go_on() {
    // Two senders of 80 Gbit/s each to an output of 100 Gbit/s.
    let frames = |from: u32| (0..300).map(move |i| (Time::from_ns(100 * u64::from(i)), packet(from, 2, 1000, i)));
    let pfc = PfcParams { classes: vec![0], xoff_bytes: 20_000, xon_bytes: 15_000, headroom_bytes: 100_000 };
    let params = SwitchParams { pfc: Some(pfc), ..SwitchParams::default() };
    let scripts = vec![Script::sending(frames(0)), Script::sending(frames(1)), Script::default()];
    let mut network = run(unrated(scripts, params, Framing::Ethernet));
    let ledger = network.ledger().unwrap();
    assert_eq!((ledger.delivered.frames, ledger.all_dropped().frames), (600, 0));
    assert!(counts(&mut network, 3).pauses > 0);
}
