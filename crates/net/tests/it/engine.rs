//! The engine: times on a pair, threads, errors.

use crate::rig::{RATE, Script, arrived, build, device, direction, link, observed, packet, plan};
use kernel::Time;
use net::error::NetError;
use net::network::{Network, Options};
use net::node::Node;
use net::plan::Plan;
use net::{NodeId, PortId};

/// Byte time at 100 Gbit/s, in ps.
const BYTE: u64 = 80;

fn pair(frames: Vec<(Time, Vec<u8>)>) -> Plan {
    let nodes = vec![device("a", || Script::sending(frames)), device("b", Script::default)];
    plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))])
}

#[test]
fn frames_cross_a_pair_in_serialisation_and_delay() {
    let at = Time::from_ns(3);
    let mut network = build(pair(vec![(at, packet(0, 1, 1000, 0)), (at, packet(0, 1, 50, 1))]), 1);
    network.run_until(Time::from_ns(100_000)).unwrap();
    let start = 3_000 + 500_000;
    let second = start + (8 + 1004 + 12) * BYTE;
    let want = [(start + 8 * BYTE, start + (8 + 1004) * BYTE), (second + 8 * BYTE, second + (8 + 64) * BYTE)];
    assert_eq!(arrived(&mut network, 1), want);
    let report = network.report().unwrap();
    let (counts, _) = report[0].lines[0].unwrap();
    assert_eq!(
        (counts.sent.frames, counts.sent.bytes, counts.busy_fs),
        (2, 1050, ((8 + 1004) + (8 + 64)) * BYTE * 1000)
    );
}

#[test]
fn the_line_is_full_at_its_rate() {
    // 1,000 frames of 1,500 bytes take 1,000 * (1,500 + 24) byte times, without the last gap.
    let frames = (0..1000).map(|i| (Time::ZERO, packet(0, 1, 1500, i))).collect();
    let mut network = build(pair(frames), 2);
    network.run_until(Time::from_ns(1_000_000)).unwrap();
    let last = *arrived(&mut network, 1).last().unwrap();
    assert_eq!(last.1, 500_000 + (1000 * 1524 - 12) * BYTE);
    assert!(network.ledger().unwrap().is_balanced());
}

/// Three pairs of echoing devices, with faults on one link. A ring of six nodes is not possible, because these devices
/// have one port each.
fn echoing(faults: &'static str) -> Plan {
    let script = |from: u32, to: u32| {
        move || Script {
            echoes: true,
            ..Script::sending(
                (0..20).map(|i| (Time::from_ns(u64::from(i) * 40), packet(from, to, 60 + 37 * i as usize, i))),
            )
        }
    };
    let nodes = (0..6).map(|i| device(&format!("n{i}"), script(i, i ^ 1))).collect();
    let links = (0..3)
        .map(|i| link(&format!("l{i}"), (2 * i, 0), (2 * i + 1, 0), direction(RATE, 100 + u64::from(i) * 37, faults)))
        .collect();
    plan(nodes, links)
}

#[test]
fn threads_and_placement_change_nothing() {
    for faults in ["", "loss=0.02,duplicate=0.01,reorder=0.1:4"] {
        let run = |threads, placement: Option<Vec<u32>>, slices: u64| {
            let options = Options { threads, placement, ..Options::default() };
            let mut network = Network::build(echoing(faults), options).unwrap();
            for slice in 1..=slices {
                network.run_until(Time::from_fs(20_000_000_000 / slices * slice)).unwrap();
                assert!(network.ledger().unwrap().is_balanced(), "{:?}", network.ledger());
            }
            network.digest().unwrap()
        };
        let want = run(1, None, 1);
        for (threads, slices) in [(1, 7), (2, 1), (3, 1), (4, 5), (6, 1)] {
            assert_eq!(run(threads, None, slices), want, "{threads} threads, {slices} slices");
        }
        for placement in [[0, 1, 0, 1, 0, 1], [1, 0, 0, 0, 1, 1], [2, 1, 0, 0, 1, 2]] {
            let threads = 1 + *placement.iter().max().unwrap() as usize;
            assert_eq!(run(threads, Some(placement.to_vec()), 1), want, "{placement:?}");
        }
    }
}

#[test]
fn rows_come_in_order_and_do_not_depend_on_threads() {
    let run = |threads| {
        let (mut network, rows) = observed(echoing("loss=0.02"), threads);
        network.run_until(Time::from_ns(20_000)).unwrap();
        let digest = network.digest().unwrap();
        drop(network);
        let rows = std::mem::take(&mut *rows.lock().unwrap());
        assert!(rows.windows(2).all(|pair| (pair[0].at, pair[0].node) <= (pair[1].at, pair[1].node)));
        (digest, rows)
    };
    let (digest, rows) = run(1);
    assert!(rows.len() > 1000, "{} rows", rows.len());
    let mut unseen = build(echoing("loss=0.02"), 2);
    unseen.run_until(Time::from_ns(20_000)).unwrap();
    assert_eq!(unseen.digest().unwrap(), digest, "observing changes nothing");
    for threads in [2, 3, 4] {
        assert!(run(threads) == (digest.clone(), rows.clone()), "{threads} threads");
    }
}

#[test]
fn a_device_that_fails_or_panics_ends_the_run_with_its_name() {
    for threads in 1..=4 {
        let broken = |panic_at, fail_at| {
            let mut plan = echoing("");
            plan.nodes[4] = device("n4", move || Script { panic_at, fail_at, ..Script::default() });
            let mut network = build(plan, threads);
            let error = network.run_until(Time::from_ns(20_000)).unwrap_err().to_string();
            assert_eq!(network.run_until(Time::from_ns(30_000)).unwrap_err().to_string(), error);
            error
        };
        let error = broken(Some(Time::from_ns(300)), None);
        assert_eq!(error, "node `n4` panicked: a bug in the card");
        let error = broken(None, Some(Time::from_ns(300)));
        assert!(error.starts_with("node `n4` failed before ") && error.ends_with(": the card burns"), "{error}");
    }
}

#[test]
fn of_two_failures_the_earlier_one_ends_the_run() {
    for threads in 1..=4 {
        let error = |early: fn(Option<Time>) -> Script| {
            let mut plan = echoing("");
            let at = |ns| Some(Time::from_ns(ns));
            plan.nodes[1] = device("n1", move || Script { fail_at: at(900), ..Script::default() });
            plan.nodes[4] = device("n4", move || early(at(300)));
            build(plan, threads).run_until(Time::from_ns(20_000)).unwrap_err().to_string()
        };
        let failed = error(|fail_at| Script { fail_at, ..Script::default() });
        assert!(failed.starts_with("node `n4` failed"), "{threads} threads: {failed}");
        let panicked = error(|panic_at| Script { panic_at, ..Script::default() });
        assert!(panicked.starts_with("node `n4` panicked"), "{threads} threads: {panicked}");
    }
}

#[test]
fn a_device_that_cannot_be_built_is_named() {
    let mut plan = pair(Vec::new());
    plan.nodes[1].build = Box::new(|_| Err("no such program".into()));
    let error = Network::build(plan, Options::default()).err().unwrap();
    assert_eq!(error.to_string(), "node `b`: no such program");
}

#[test]
fn impossible_links_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = pair(Vec::new());
        change(&mut plan);
        match Network::build(plan, Options::default()) {
            Err(NetError::Plan { key, found, allowed }) => format!("{key} is {found}, must be {allowed}"),
            _ => panic!("accepted"),
        }
    };
    let expect = expect_test::expect![[r#"
        links.ab.delay is 0, must be at least 1 fs, so that time advances between nodes
        links.ab.ends is a link from a node to itself, must be two nodes
        links.ab.ends is node 9, must be below 2
        links.ab.ends is port 3, must be below 1, the number of ports of `b`
        links.cd.ends is port 0 of `a`, must be a port without a link; `ab` has it"#]];
    let second = link("cd", (0, 0), (1, 0), direction(RATE, 500, ""));
    let texts = [
        refused(&|plan| plan.links[0].directions[1].delay = Time::ZERO),
        refused(&|plan| plan.links[0].ends[1].0 = NodeId(0)),
        refused(&|plan| plan.links[0].ends[1].0 = NodeId(9)),
        refused(&|plan| plan.links[0].ends[1].1 = PortId(3)),
        refused(&|plan| plan.links.push(second.clone())),
    ];
    expect.assert_eq(&texts.join("\n"));
}

#[test]
fn windows_without_work_are_skipped() {
    let at = [0, 1_000_000, 50_000_000].map(Time::from_ns);
    let mut network = build(pair(at.map(|at| (at, packet(0, 1, 100, 0))).to_vec()), 2);
    let progress = network.run_until(Time::from_ns(100_000_000)).unwrap();
    assert_eq!(progress.next, None);
    assert!(progress.windows <= 6, "{progress:?}: a window to send and one to arrive for each frame");
}

#[test]
fn an_observer_that_fails_ends_the_run() {
    for threads in 1..=3 {
        let observer = |rows: &[net::observe::Row]| match rows.last() {
            Some(row) if row.at > Time::from_ns(700) => Err("the disk is full".into()),
            _ => Ok(()),
        };
        let options = Options { threads, observer: Some(Box::new(observer)), ..Options::default() };
        let mut network = Network::build(echoing(""), options).unwrap();
        let error = network.run_until(Time::from_ns(20_000)).unwrap_err().to_string();
        assert_eq!(error, "rows of the network: the disk is full");
    }
}

#[test]
fn calls_of_several_nodes_answer_in_their_order() {
    for threads in 1..=3 {
        let mut network = build(echoing(""), threads);
        let nodes = [5, 0, 3, 3].map(NodeId);
        let answers = network.with_nodes(&nodes, |node, resident| (node.0, resident.counters().len())).unwrap();
        let numbers: Vec<u32> = answers.iter().map(|&(number, _)| number).collect();
        assert_eq!(numbers, [5, 0, 3, 3]);
        let nobody = network.with_nodes(&[NodeId(1), NodeId(6)], |_, _| ());
        assert!(matches!(nobody, Err(NetError::Elsewhere { number: 6, n_here: 6, n_nodes: 6 })), "{nobody:?}");
        let broken = |node: NodeId, _: &mut dyn Node| assert!(node.0 < 2, "node {} is wrong", node.0);
        let failed = network.with_nodes(&[NodeId(4), NodeId(1), NodeId(2)], broken).unwrap_err();
        let want = "node `n2` panicked: node 2 is wrong";
        assert_eq!(failed.to_string(), want, "{threads} threads");
        assert_eq!(network.run_until(Time::from_ns(1)).unwrap_err().to_string(), want, "the network has failed");
    }
}
