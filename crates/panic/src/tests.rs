//! Scheduler, interconnect and units together: no packet is lost, duplicated or stuck, whatever the traffic.

use crate::crossbar::Crossbar;
use crate::policy::{PolicyParams, PolicyTree};
use crate::protocol::{CreditNote, Flit, NodeId};
use crate::scheduler::*;
use crate::testing::flits;
use crate::unit::*;
use expect_test::{Expect, expect};
use kernel::{RandomStream, Rx, Tx};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::Bench;

/// The nodes of the prototype: packets leave at 1 and come from 2; the scheduler has 0 and 3.
const N_NODES: u8 = 8;
const EXIT: u8 = 1;
const ENTRY: u8 = 2;
const UNITS: [u8; 4] = [4, 5, 6, 7];

#[derive(Clone, Debug)]
struct Scene {
    /// Service of each unit.
    services: [u8; 4],
    credits: u32,
    delay: ServiceTime,
    policy: PolicyParams,
    chain_push: bool,
    flow_affinity: bool,
    cells: u32,
    used_entries: u32,
    /// Packets in the notation of [`flits`].
    packets: String,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            services: [0, 0, 1, 1],
            credits: 2,
            delay: ServiceTime::Fixed { cycles: 20 },
            policy: PolicyParams::Fifo,
            chain_push: true,
            flow_affinity: false,
            cells: 4096,
            used_entries: 4096,
            packets: String::new(),
        }
    }
}

impl Scene {
    fn params(&self) -> SchedulerParams {
        let n_services = self.services.iter().max().unwrap() + 1;
        let service = |number: u8| ServiceParams {
            units: (UNITS.into_iter().zip(self.services).filter(|&(_, service)| service == number))
                .map(|(node, _)| UnitParams { node: NodeId(node), credits: self.credits })
                .collect(),
            flow_affinity: self.flow_affinity,
            policy: PolicyTree::of(self.policy.clone()),
        };
        SchedulerParams {
            services: (0..n_services).map(service).collect(),
            n_classes: 2,
            buffer: BufferParams { cells: self.cells, cell_bytes: 1536, read_cycles: 0, allocator: None },
            pifo: PifoParams {
                blocks: 1,
                push_cycles: 2,
                pop_cycles: 2,
                crossing_slots: 4,
                enqueue_cycles: 4,
                dequeue_cycles: 10,
                crossing: None,
            },
            dropping: DropParams { used_entries: self.used_entries, free_cells: 3, spared_entries: 8 },
            chain_push: self.chain_push,
            detour_raise: 1,
        }
    }

    /// Wires everything; packets that leave are logged as `out ID FLOW BYTES`.
    fn set_up(&self, bench: &mut Bench) {
        let (mut inputs, mut outputs, mut ends) = (Vec::new(), Vec::new(), BTreeMap::new());
        for node in 0..N_NODES {
            if node == EXIT || node == ENTRY {
                let packets = if node == ENTRY { flits(&self.packets) } else { Vec::new() };
                inputs.push(bench.input(&format!("from {node}"), 4, packets));
                let name = if node == EXIT { "out" } else { "unused" };
                outputs.push(bench.output(name, 4, |_| true, leaves));
            } else {
                let (to_node, at_node) = bench.channel(&format!("to {node}"), 8, 1);
                let (node_sends, from_node) = bench.channel(&format!("from {node}"), 8, 1);
                inputs.push(from_node);
                outputs.push(to_node);
                ends.insert(node, (at_node, node_sends));
            }
        }
        let mut notes = BTreeMap::new();
        for (unit, service) in UNITS.into_iter().zip(self.services) {
            let (detours, lane) = bench.channel(&format!("detours from {unit}"), 8, 1);
            inputs.push(lane);
            let ends = ends.remove(&unit).unwrap();
            notes.insert((service, unit), self.add_unit(bench, unit, ends, detours));
        }
        bench.add("crossbar", Crossbar::new(inputs, outputs));
        let port = |(node, (input, output))| SchedulerPort { node: NodeId(node), input, output };
        let tracer = bench.tracer("scheduler");
        let notes = notes.into_values().collect();
        bench.add("scheduler", Scheduler::new(self.params(), ends.into_iter().map(port).collect(), notes, tracer));
    }

    fn add_unit(
        &self,
        bench: &mut Bench,
        node: u8,
        (input, output): (Rx<Flit>, Tx<Flit>),
        detours: Tx<Flit>,
    ) -> Rx<CreditNote> {
        let (to_engine, engine_in) = bench.channel(&format!("to engine {node}"), 25 * self.credits as usize, 1);
        let (engine_out, from_engine) = bench.channel(&format!("from engine {node}"), 25, 1);
        let (notes, notes_rx) = bench.channel(&format!("notes of {node}"), 4, 1);
        let delay = DelayUnitParams { service: self.delay, gap_cycles: 2, start_cycles: 0, grant_cycles: 0 };
        let stream = RandomStream::new(1, &format!("engine {node}"));
        bench.add(&format!("engine {node}"), DelayUnit::new(delay, engine_in, engine_out, stream));
        let params = TrafficManagerParams { credits: self.credits, flit_bytes: 64, detour_flits: 25 };
        let wires = TrafficManagerWiring { input, output, detours, to_engine, from_engine, notes };
        bench.add(&format!("unit {node}"), TrafficManager::new(params, wires));
        notes_rx
    }

    fn run(&self) -> String {
        testkit::bench(200_000, |bench| {
            bench.log_events();
            bench.log_counters();
            self.set_up(bench);
        })
    }
}

fn leaves(flit: &Flit) -> String {
    match flit {
        Flit::Head(message) => {
            let descriptor = &message.descriptor;
            assert_eq!(descriptor.next, descriptor.chain.len(), "all services must be visited");
            format!("{} {} {}", descriptor.id, descriptor.flow, message.data.len())
        }
        _ => String::new(),
    }
}

/// The outcome of a run, read from its log.
#[derive(Default)]
struct Outcome {
    /// Number and flow of each packet that left, in order.
    out: Vec<(u64, u64)>,
    dropped: BTreeSet<u64>,
    counters: BTreeMap<String, u64>,
}

fn outcome(log: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in log.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "out", id, flow, _] => outcome.out.push((id.parse().unwrap(), flow.parse().unwrap())),
            [_, "event", "packet_dropped", id, ..] => {
                let id = u64::from_str_radix(id.trim_start_matches("id=0x"), 16).unwrap();
                assert!(outcome.dropped.insert(id), "packet {id} was dropped twice");
            }
            [name, total] if total.parse::<u64>().is_ok() => {
                outcome.counters.insert(name.to_owned(), total.parse().unwrap());
            }
            _ => {}
        }
    }
    outcome
}

fn packets(n: usize) -> impl Strategy<Value = String> {
    let chain = proptest::collection::vec(0u8..2, 1..4);
    let packet = (0u64..20, chain, 64usize..=1536, 0u32..3, 0u32..4);
    // Without pauses all buffers are full; that is when units that push to each other could deadlock.
    (proptest::collection::vec(packet, 1..n), 0u64..2).prop_map(|(packets, pace)| {
        let mut at = 1;
        let texts = packets.iter().enumerate().map(|(id, (gap, chain, bytes, priority, flow))| {
            at += gap * pace;
            let chain: Vec<String> = chain.iter().map(u8::to_string).collect();
            let (chain, home) = (chain.join(">"), [0, 3][*flow as usize % 2]);
            format!("{at} {id} {chain} {bytes} p{priority} f{flow} c{} h{home} @{home}", flow % 2)
        });
        texts.collect::<Vec<_>>().join("; ")
    })
}

fn scenes() -> impl Strategy<Value = Scene> {
    let policy = prop_oneof![
        Just(PolicyParams::Fifo),
        Just(PolicyParams::StrictPriority),
        Just(PolicyParams::RoundRobin),
        Just(PolicyParams::WeightedFair { weights: vec![3, 1] }),
        Just(PolicyParams::LeastSlack),
    ];
    let services = prop_oneof![Just([0, 0, 1, 1]), Just([0, 1, 1, 1]), Just([1, 0, 0, 0])];
    let shape = (services, 1u32..5, 0u32..80, policy);
    let limits = prop_oneof![Just((4096, 4096)), (8u32..42, 4u32..20)];
    (shape, any::<bool>(), any::<bool>(), limits, packets(120)).prop_map(
        |((services, credits, most_cycles, policy), chain_push, flow_affinity, (cells, used_entries), packets)| Scene {
            services,
            credits,
            delay: ServiceTime::Uniform { least_cycles: most_cycles / 2, most_cycles },
            policy,
            chain_push,
            flow_affinity,
            cells,
            used_entries,
            packets,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Each packet leaves or is dropped exactly once; all credits return; below the thresholds nothing is dropped.
    #[test]
    fn every_packet_and_every_credit_is_accounted_for(scene in scenes()) {
        let outcome = outcome(&scene.run());
        let out: BTreeSet<u64> = outcome.out.iter().map(|&(id, _)| id).collect();
        prop_assert_eq!(out.len(), outcome.out.len(), "a packet left twice");
        let n = scene.packets.split(';').count() as u64;
        let all: BTreeSet<u64> = out.union(&outcome.dropped).copied().collect();
        prop_assert_eq!(all, (0..n).collect::<BTreeSet<_>>());
        prop_assert!(out.is_disjoint(&outcome.dropped));
        prop_assert!(scene.cells < 4096 || outcome.dropped.is_empty(), "a packet was dropped below the thresholds");
        for unit in 0..4 {
            let name = format!("scheduler.credits[{unit}]");
            prop_assert_eq!(outcome.counters.get(&name).copied(), Some(u64::from(scene.credits)), "{}", name);
        }
    }

    /// A packet is dropped only at the limit, and it is the queued one with the greatest rank.
    #[test]
    fn only_the_least_urgent_is_dropped_and_only_at_the_threshold(scene in scenes(), used_entries in 2u32..8) {
        let packets = scene.packets.split("; ").map(|packet| {
            let mut words: Vec<&str> = packet.split(' ').collect();
            words[2] = "0";
            words.join(" ")
        });
        let packets = packets.collect::<Vec<_>>().join("; ");
        let services = [0, 1, 1, 1];
        let log = Scene { services, policy: PolicyParams::StrictPriority, cells: 4096, used_entries, packets, ..scene }.run();
        let mut queued = BTreeMap::new();
        let cycle = |line: &str| line.split(' ').next().map(str::to_owned);
        for events in log.lines().filter(|line| line.contains(" event ")).collect::<Vec<_>>().chunk_by(|a, b| cycle(a) == cycle(b)) {
            // Within a cycle the scheduler pushes, then drops, then pops; the log of a cycle is sorted by name.
            for what in ["packet_queued", "packet_dropped", "packet_scheduled"] {
                for event in events.iter().filter(|event| event.contains(what)) {
                    let hex = |field: &str| {
                        let word = event.split(' ').find_map(|word| word.strip_prefix(field)).unwrap();
                        u64::from_str_radix(word, 16).unwrap()
                    };
                    let id = hex("id=0x");
                    match what {
                        "packet_queued" => drop(queued.insert(id, hex("rank=0x"))),
                        "packet_dropped" => {
                            prop_assert_eq!(queued.len(), used_entries as usize + 1);
                            let greatest = *queued.values().max().unwrap();
                            prop_assert_eq!(queued.remove(&id), Some(greatest));
                        }
                        _ => drop(queued.remove(&id)),
                    }
                    prop_assert!(queued.len() <= used_entries as usize + 1);
                }
            }
        }
        prop_assert!(queued.is_empty());
    }

    /// With affinity, one port per flow, a policy that keeps order, and every hop through the scheduler.
    #[test]
    fn order_is_kept_within_a_flow(scene in scenes(), policy in prop_oneof![
        Just(PolicyParams::Fifo), Just(PolicyParams::RoundRobin), Just(PolicyParams::WeightedFair { weights: vec![3, 1] }),
    ]) {
        let packets = scene.packets.split("; ").map(|packet| {
            let mut words: Vec<&str> = packet.split(' ').collect();
            words[2] = "0>1";
            words.join(" ")
        });
        let packets = packets.collect::<Vec<_>>().join("; ");
        let outcome = outcome(&Scene { policy, chain_push: false, flow_affinity: true, packets, ..scene }.run());
        for flow in 0..4 {
            let ids: Vec<u64> = outcome.out.iter().filter(|&&(_, of)| of == flow).map(|&(id, _)| id).collect();
            prop_assert!(ids.is_sorted(), "flow {flow}: {ids:?}");
        }
    }
}

fn check(scene: Scene, want: Expect) {
    let log = scene.run();
    let lines: Vec<&str> = log.lines().filter(|line| !line.ends_with("out") && !line.contains(" credits ")).collect();
    want.assert_eq(&lines.join("\n"));
}

#[test]
fn a_chain_is_pushed_from_unit_to_unit() {
    check(
        Scene { packets: "1 1 0>1 128 @0".into(), ..Scene::default() },
        expect![[r#"
            6    event packet_queued id=0x1 service=0x0 rank=0x0
            6    event packet_scheduled id=0x1 node=0x4 waited=0x4
            66   out 1 0 128
            engine 4.packets 1
            engine 4.service_cycles 20
            unit 4.taken 1
            unit 4.held_packet_cycles 24
            engine 6.packets 1
            engine 6.service_cycles 20
            unit 6.taken 1
            unit 6.held_packet_cycles 24
            crossbar.flits[0] 3
            crossbar.flits[1] 3
            crossbar.flits[4] 3
            crossbar.flits[6] 3
            scheduler.entered 1
            scheduler.scheduled 1
            scheduler.waited_cycles 4
            scheduler.pushes_planned 1
            scheduler.buffered_packet_cycles 16
            scheduler.leaving_packet_cycles[0] 13
            scheduler.pifo_cycles[0] 2
            scheduler.credits[0] 2
            scheduler.credits[1] 2
            scheduler.credits[2] 2
            scheduler.credits[3] 2"#]],
    );
}

#[test]
fn without_push_a_chain_goes_through_the_scheduler() {
    check(
        Scene { packets: "1 1 0>1 128 @0".into(), chain_push: false, ..Scene::default() },
        expect![[r#"
            6    event packet_queued id=0x1 service=0x0 rank=0x0
            6    event packet_scheduled id=0x1 node=0x4 waited=0x4
            46   event packet_queued id=0x1 service=0x1 rank=0x0
            46   event packet_scheduled id=0x1 node=0x6 waited=0x4
            82   out 1 0 128
            engine 4.packets 1
            engine 4.service_cycles 20
            unit 4.taken 1
            unit 4.held_packet_cycles 24
            engine 6.packets 1
            engine 6.service_cycles 20
            unit 6.taken 1
            unit 6.held_packet_cycles 24
            crossbar.flits[0] 6
            crossbar.flits[1] 3
            crossbar.flits[4] 3
            crossbar.flits[6] 3
            scheduler.entered 2
            scheduler.scheduled 2
            scheduler.waited_cycles 8
            scheduler.buffered_packet_cycles 32
            scheduler.leaving_packet_cycles[0] 26
            scheduler.pifo_cycles[0] 4
            scheduler.credits[0] 2
            scheduler.credits[1] 2
            scheduler.credits[2] 2
            scheduler.credits[3] 2"#]],
    );
}

/// Cycles between packets of 64 bytes through one unit without service time, by its credits.
#[test]
fn credits_hide_the_round_trip_until_the_unit_is_the_limit() {
    let packets: Vec<String> = (0..60).map(|id| format!("{} {id} 0 64 @0", 1 + 2 * id)).collect();
    let mut table = String::new();
    for credits in [1, 2, 3, 4, 8, 16] {
        let (services, delay) = ([0, 1, 1, 1], ServiceTime::Fixed { cycles: 0 });
        let log = Scene { services, delay, credits, packets: packets.join(";"), ..Scene::default() }.run();
        let leaves = |line: &&str| line.contains(" out ");
        let at = |line: &str| line.split(' ').next().unwrap().parse::<u64>().unwrap();
        let times: Vec<u64> = log.lines().filter(leaves).map(at).collect();
        let tenths = (times[52] - times[20]) * 10 / 32;
        table.push_str(&format!("{credits:2} credits: {}.{} cycles\n", tenths / 10, tenths % 10));
    }
    // One credit: 3 cycles in the unit plus a round trip (14 in 7.2) of 13 or 14, depending on the edge of the PIFO block.
    expect![[r#"
         1 credits: 16.0 cycles
         2 credits: 8.0 cycles
         3 credits: 5.3 cycles
         4 credits: 4.0 cycles
         8 credits: 3.0 cycles
        16 credits: 3.0 cycles
    "#]]
    .assert_eq(&table);
}

#[test]
fn units_that_push_to_each_other_refuse_packets_but_lose_none() {
    let chain = |id: usize| ["0>1", "1>0", "0", "1", "1>0>1", "0>0"][id * 7 % 11 % 6];
    let packet = |id: usize| format!("1 {id} {} {} f{} @0", chain(id), 64 + id * 137 % 1400, id % 3);
    let packets: Vec<String> = (0..400).map(packet).collect();
    let delay = ServiceTime::Uniform { least_cycles: 0, most_cycles: 30 };
    let scene = Scene { services: [0, 1, 1, 1], credits: 1, delay, flow_affinity: true, ..Scene::default() };
    let outcome = outcome(&Scene { packets: packets.join(";"), ..scene }.run());
    let counter = |name: &str| outcome.counters.get(name).copied().unwrap_or(0);
    // Each service of a packet needs the scheduler or a push, and a refused push becomes a detour to the scheduler.
    let services: usize = (0..400).map(|id| chain(id).split('>').count()).sum();
    let (detours, pushes) = (counter("scheduler.detours"), counter("scheduler.pushes_planned"));
    assert!(detours > 0 && detours < pushes, "{detours} of {pushes}");
    assert_eq!(counter("scheduler.entered"), services as u64 - (pushes - detours));
    assert_eq!(outcome.out.len(), 400);
}

/// Figure 8a and b at MTU: 1500 bytes every 30 cycles at 250 MHz are 100 Gbit/s. The paper's 0.5 us are 125 cycles, here from
/// descriptor to descriptor and with units that only forward.
#[test]
fn three_pushed_units_keep_line_rate_and_half_a_microsecond() {
    let packets: Vec<String> = (0..80).map(|id| format!("{} {id} 0>1>2 1500 @0", 1 + 30 * id)).collect();
    let (services, delay) = ([0, 1, 2, 3], ServiceTime::Fixed { cycles: 0 });
    let log = Scene { services, delay, packets: packets.join(";"), ..Scene::default() }.run();
    let out = log.lines().filter(|line| line.contains(" out "));
    let times: Vec<u64> = out.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    let latencies: BTreeSet<u64> = (0..80).zip(&times).map(|(id, time)| time - (1 + 30 * id)).collect();
    expect!["80 packets, 30 cycles apart, latencies {29}"].assert_eq(&format!(
        "{} packets, {} cycles apart, latencies {latencies:?}",
        times.len(),
        (times[79] - times[9]) / 70
    ));
}
