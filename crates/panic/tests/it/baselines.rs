//! The baseline NICs against the paper's results.

use kernel::{Cycle, RandomStream, Time};
use panic::drops::DropReason;
use panic::model::NicModel;
use panic::nic::Outside;
use panic::protocol::{Hop, Message, PacketStep};
use panic::world::{Arrival, Classifier, ExternalPort, Outlet, PortSource, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const PANIC: &str = include_str!("../../../../presets/panic.toml");
const PIPELINE: &str = include_str!("../../../../presets/pipeline.toml");
const MANYCORE: &str = include_str!("../../../../presets/manycore.toml");
const RMT: &str = include_str!("../../../../presets/rmt.toml");

/// A preset with some keys replaced.
fn model(preset: &str, changes: &str) -> NicModel {
    let mut table: toml::Table = preset.parse().expect("the changed preset must be valid");
    table.entry("model").or_insert("panic".into());
    merge(&mut table, changes.parse().expect("the changed preset must be valid"));
    let model: NicModel = table.try_into().expect("the changed preset must be valid");
    model.check().expect("the changed preset must be valid");
    model
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => _ = into.insert(key, value),
        }
    }
}

/// Packets of one length, offered at a constant rate.
struct Paced {
    next: u64,
    count: u64,
    bytes: usize,
    /// Mbit/s.
    rate: u64,
}

impl Paced {
    /// The cycle (4 ns) in which packet `i` is due.
    fn due(&self, i: u64) -> Cycle {
        (i * self.bytes as u64 * 8 * 1000).div_ceil(self.rate * 4)
    }
}

impl PortSource for Paced {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let is_there = self.next < self.count && self.due(self.next) <= now;
        is_there.then(|| {
            self.next += 1;
            Arrival { id: self.next - 1, bytes: vec![0; self.bytes] }
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        (self.next < self.count).then(|| self.due(self.next))
    }
}

/// Flow 1 (class 0) is urgent and makes up 30 % of the packets, flow 2 (class 1) the rest: three of every ten, in random order.
struct TwoFlows {
    stream: RandomStream,
    /// Remaining packets of the current ten, and how many of them belong to flow 1.
    left: (u64, u64),
    /// Service cycles in each unit of the chain, in addition to forwarding.
    service: Vec<u64>,
}

impl Classifier for TwoFlows {
    fn classify(&mut self, _now: Cycle, _from: ExternalPort, _packet: &mut Vec<u8>) -> Verdict {
        let (all, urgent) = if self.left.0 == 0 { (10, 3) } else { self.left };
        let class = u8::from(self.stream.below(all) >= urgent);
        self.left = (all - 1, urgent - u64::from(class == 0));
        let hop = |(service, &metadata): (usize, &u64)| Hop {
            service: service as u8,
            class,
            priority: class.into(),
            metadata,
            push_to: None,
        };
        Verdict {
            chain: self.service.iter().enumerate().map(hop).collect(),
            exit: Some(ExternalPort::Host(0)),
            flow: class.into(),
            class,
            slack_cycles: 0,
            fields: Default::default(),
        }
    }
}

#[derive(Default)]
struct Log {
    /// The measured interval: from the first tenth of the packets until the last is due.
    window: (Cycle, Cycle),
    /// Latencies and bits of each class.
    latencies: [Vec<Cycle>; 2],
    bits: [u64; 2],
    drops: BTreeMap<&'static str, u64>,
    unserved: u64,
}

impl Outlet for Log {
    fn leave(&mut self, now: Cycle, _side: ExternalPort, message: Message) {
        let trail = message.descriptor.trail.marks();
        let at = |step| trail.iter().find(|mark| mark.step == step).expect("every step must be recorded").at;
        self.unserved += u64::from(trail.iter().any(|mark| mark.step == PacketStep::Unserved));
        if now < self.window.0 || now >= self.window.1 {
            return;
        }
        let class = usize::from(message.descriptor.class);
        self.latencies[class].push(at(PacketStep::Leaving) - at(PacketStep::Arrived));
        self.bits[class] += 8 * message.data.len() as u64;
    }

    fn drop(&mut self, _now: Cycle, _message: Message, reason: DropReason) {
        *self.drops.entry(reason.word()).or_default() += 1;
    }
}

struct Results {
    /// Throughput of each flow.
    gbps: [f64; 2],
    /// Mean latency of each flow, in microseconds.
    latency: [f64; 2],
    drops: BTreeMap<&'static str, u64>,
    unserved: u64,
}

const N_PACKETS: u64 = 4000;

fn run(model: &NicModel, bytes: usize, gbps: f64, service: &[u64]) -> Results {
    let source = Paced { next: 0, count: N_PACKETS, bytes, rate: (gbps * 1000.0) as u64 };
    let (first, last) = (source.due(N_PACKETS / 10), source.due(N_PACKETS));
    let log = Rc::new(RefCell::new(Log { window: (first, last), ..Log::default() }));
    let flows = TwoFlows { stream: RandomStream::new(1, "flows"), left: (0, 0), service: service.into() };
    let outside = Outside::new(vec![Box::new(source)], Rc::new(RefCell::new(flows)), log.clone());
    model.build(1, outside).system.run_until(Time::from_ns(1_000_000_000));
    let log = log.borrow();
    let mean = |values: &Vec<Cycle>| values.iter().sum::<u64>() as f64 * 0.004 / values.len() as f64;
    Results {
        gbps: [0, 1].map(|class| log.bits[class] as f64 / (4 * (last - first)) as f64),
        latency: [0, 1].map(|class| mean(&log.latencies[class])),
        drops: log.drops.clone(),
        unserved: log.unserved,
    }
}

/// Model 4 (Figure 7c): unit A is a delay unit of 60 Gbit/s, unit B keeps line rate. 1500 bytes take 50 cycles at 60 Gbit/s: 24
/// of them forward the packet after its descriptor, and 2 are the gap to the next packet.
const MODEL_4: [u64; 2] = [50 - 24 - 2, 0];
const DELAY: &str = r#"engine = { kind = "delay", service = { kind = "listed" }, gap_cycles = 2 }"#;

fn panic_4() -> NicModel {
    let service = |name| {
        format!(
            "[[service]]\nname = \"{name}\"\nunits = 1\ncredits = 2\n{DELAY}\npolicy.policy.kind = \"strict-priority\"\n"
        )
    };
    // 64 KB in both banks are 21 cells of 1536 bytes per bank.
    model(PANIC, &format!("scheduler.buffer.cells = 21\n{}{}", service("a"), service("b")))
}

fn pipeline_4() -> NicModel {
    let stage = |name| format!("[[stage]]\nname = \"{name}\"\n{DELAY}\n");
    model(PIPELINE, &format!("{}{}", stage("a"), stage("b")))
}

/// Table 3: throughput of each flow at 100 Gbit/s, within 5 % in all six cells.
#[test]
fn priorities_work_in_panic_but_not_in_a_pipeline() {
    let paper = [("pipeline", pipeline_4(), [18.7, 41.9, 60.6]), ("PANIC", panic_4(), [30.7, 29.1, 59.8])];
    let mut table = "flow 1 paper, flow 2 paper, total paper: Gbit/s\n".to_owned();
    for (name, model, paper) in paper {
        let Results { gbps: [one, two], .. } = run(&model, 1500, 100.0, &MODEL_4);
        let cells = [one, two, one + two].into_iter().zip(paper).map(|(ours, paper)| {
            assert!((ours / paper - 1.0).abs() < 0.05, "{name}: {ours:.2}, paper {paper}");
            format!("{ours:.1} {paper}")
        });
        table += &format!("{name}: {}\n", cells.collect::<Vec<_>>().join(", "));
    }
    expect_test::expect![[r#"
        flow 1 paper, flow 2 paper, total paper: Gbit/s
        pipeline: 17.8 18.7, 42.2 41.9, 60.0 60.6
        PANIC: 29.6 30.7, 30.4 29.1, 60.0 59.8
    "#]]
    .assert_eq(&table);
}

/// Figure 8f: mean latency of each flow over load, in microseconds.
#[test]
fn an_urgent_flow_keeps_its_latency_in_panic_only() {
    let mut table = "Gbit/s | pipeline: flow 1, flow 2 | PANIC: flow 1, flow 2\n".to_owned();
    for load in [10.0, 30.0, 50.0, 58.0, 70.0, 100.0] {
        let [line, panic] = [pipeline_4(), panic_4()].map(|model| run(&model, 1500, load, &MODEL_4).latency);
        table += &format!("{load} | {:.2}, {:.2} | {:.2}, {:.2}\n", line[0], line[1], panic[0], panic[1]);
    }
    expect_test::expect![[r#"
        Gbit/s | pipeline: flow 1, flow 2 | PANIC: flow 1, flow 2
        10 | 0.14, 0.14 | 0.43, 0.43
        30 | 0.14, 0.14 | 0.43, 0.43
        50 | 0.14, 0.14 | 0.43, 0.43
        58 | 0.14, 0.14 | 0.43, 0.43
        70 | 8.52, 8.52 | 0.66, 10.90
        100 | 8.54, 8.54 | 0.66, 14.45
    "#]]
    .assert_eq(&table);
}

/// 2.2.2: a core adds 10 us to each packet, and chains overload cores and interconnect.
#[test]
fn cores_add_latency_and_chains_overload_them() {
    let service = |name| format!("[[service]]\nname = \"{name}\"\nunits = 2\n{DELAY}\n");
    let manycore = model(MANYCORE, &format!("balance = \"fewest\"\n{}{}", service("a"), service("b")));
    let mut table = "services Gbit/s offered | Gbit/s | mean latency us | lost\n".to_owned();
    for (n, load) in [(0, 10.0), (0, 100.0), (1, 10.0), (1, 100.0), (2, 100.0)] {
        let Results { gbps, latency, drops, .. } = run(&manycore, 1500, load, &MODEL_4[..n]);
        table += &format!("{n} {load} | {:.1} | {:.1} | {drops:?}\n", gbps[0] + gbps[1], latency[0]);
    }
    expect_test::expect![[r#"
        services Gbit/s offered | Gbit/s | mean latency us | lost
        0 10 | 10.0 | 10.1 | {}
        0 100 | 98.6 | 10.1 | {}
        1 10 | 10.0 | 20.3 | {}
        1 100 | 49.8 | 40.4 | {"full": 1883}
        2 100 | 33.6 | 60.0 | {"full": 2550}
    "#]]
    .assert_eq(&table);
}

/// 2.2.3: line rate and no added latency for services that match-action stages can provide.
#[test]
fn stages_alone_leave_other_services_to_the_host() {
    let rmt = model(RMT, "host_services = [\"a\", \"b\"]");
    let mut table = String::new();
    for n in [0, 2] {
        let Results { gbps, latency, unserved, drops } = run(&rmt, 1500, 100.0, &MODEL_4[..n]);
        table += &format!(
            "{n} services: {:.1} Gbit/s, {:.3} us, {unserved} not offloaded, lost {drops:?}\n",
            gbps[0] + gbps[1],
            latency[0]
        );
    }
    expect_test::expect![[r#"
        0 services: 98.6 Gbit/s, 0.012 us, 0 not offloaded, lost {}
        2 services: 98.6 Gbit/s, 0.012 us, 4000 not offloaded, lost {}
    "#]]
    .assert_eq(&table);
}
