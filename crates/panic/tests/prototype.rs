//! The prototype's own cycles: what its published Verilog does in simulation, and what this model does.

use kernel::{Cycle, Stream, Time};
use panic::nic::{Outside, Panic};
use panic::params::{PanicParams, ServiceSpec};
use panic::protocol::{Hop, Message, Step};
use panic::unit::{DelayUnitParams, EngineParams, ServiceTime};
use panic::world::{Arrival, Classifier, Outlet, PacketSource, Side, Verdict};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

const PRESET: &str = include_str!("../../../presets/panic.toml");

/// Packets of one length, offered at a rate.
struct Paced {
    next: u64,
    count: u64,
    bytes: usize,
    /// Gbit/s.
    rate: u64,
}

impl Paced {
    /// The cycle of 4 ns in which packet `i` is due.
    fn due(&self, i: u64) -> Cycle {
        (i * self.bytes as u64 * 8).div_ceil(self.rate * 4)
    }
}

impl PacketSource for Paced {
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

/// The bench's chain: one service with a service time, 0.06 cycles a byte without the forwarding, and an offset.
struct Bench {
    is_empty: bool,
    stream: Stream,
}

impl Classifier for Bench {
    fn classify(&mut self, _now: Cycle, _from: Side, packet: &mut Vec<u8>) -> Verdict {
        let mean = (packet.len() as u64 * 6 / 100).saturating_sub(packet.len().div_ceil(64) as u64 + 2);
        let spread = mean / 4;
        let metadata = mean - spread + self.stream.below(2 * spread + 1);
        let hop = Hop { service: 0, class: 0, priority: 0, metadata, push_to: None };
        let chain: SmallVec<[Hop; 4]> = if self.is_empty { SmallVec::new() } else { [hop].into_iter().collect() };
        let exit = Some(Side::Host(0));
        Verdict { chain, exit, flow: 0, class: 0, slack_cycles: 0, fields: Default::default() }
    }
}

#[derive(Default)]
struct Log {
    latencies: Vec<Cycle>,
    first: Cycle,
    last: Cycle,
    bits: u64,
    drops: u64,
}

impl Outlet for Log {
    fn leave(&mut self, now: Cycle, _side: Side, message: Message) {
        let at = |step| message.descriptor.trail.marks().iter().find(|mark| mark.step == step).unwrap().at;
        self.latencies.push(at(Step::Leaving) - at(Step::Arrived));
        if self.bits == 0 {
            self.first = now;
        }
        self.last = now;
        self.bits += 8 * message.data.len() as u64;
    }

    fn drop(&mut self, _now: Cycle, _message: Message, _reason: &'static str) {
        self.drops += 1;
    }
}

struct Told {
    gbps: f64,
    /// Least, mean, 99th percentile, in cycles.
    latency: [f64; 3],
    lost: f64,
}

fn run(bytes: usize, rate: u64, credits: u32, is_empty: bool, count: u64) -> Told {
    let mut params: PanicParams = toml::from_str(PRESET).unwrap();
    params.services = vec![ServiceSpec {
        name: "delay".into(),
        units: 3,
        credits,
        engine: EngineParams::Delay(DelayUnitParams { service: ServiceTime::Listed, gap_cycles: 2 }),
        flow_affinity: false,
        policy: panic::policy::Level::of(panic::policy::PolicyParams::Fifo),
    }];
    let log = Rc::new(RefCell::new(Log::default()));
    let outside = Outside {
        networks: vec![Box::new(Paced { next: 0, count, bytes, rate })],
        classifier: Rc::new(RefCell::new(Bench { is_empty, stream: Stream::new(1, "bench") })),
        outlet: log.clone(),
        policies: Vec::new(),
    };
    let mut nic = Panic::new(&params, 1, outside);
    nic.system.run_until(Time::from_ns(100_000_000));
    let log = log.borrow();
    let mut sorted = log.latencies.clone();
    sorted.sort_unstable();
    let mean = sorted.iter().sum::<u64>() as f64 / sorted.len() as f64;
    let p99 = sorted[(sorted.len() - 1) * 99 / 100];
    Told {
        gbps: log.bits as f64 / (4 * (log.last - log.first)) as f64,
        latency: [sorted[0] as f64, mean, p99 as f64],
        lost: log.drops as f64 / count as f64,
    }
}

/// What the RTL did: bytes, Gbit/s offered, credits, chain; delivered; latency min, mean, p99.
type Row = (usize, u64, u32, &'static str, f64, [f64; 3]);

const RTL: [Row; 14] = [
    (64, 5, 6, "empty", 5.0, [12.5, 12.5, 13.0]),
    (1536, 5, 6, "empty", 5.0, [12.5, 12.5, 13.0]),
    (64, 5, 6, "delay", 5.0, [69.0, 69.5, 70.0]),
    (256, 5, 6, "delay", 5.0, [76.0, 77.8, 80.0]),
    (1536, 5, 6, "delay", 5.0, [107.0, 134.7, 150.0]),
    (1536, 26, 6, "delay", 25.8, [103.0, 134.6, 150.0]),
    (1536, 75, 6, "delay", 75.1, [119.0, 141.0, 198.0]),
    (1536, 100, 6, "delay", 98.8, [120.0, 189.0, 255.0]),
    (64, 100, 6, "delay", 56.3, [69.0, 73.2, 80.0]),
    (256, 100, 6, "delay", 83.8, [76.0, 78.7, 83.0]),
    (1024, 100, 6, "delay", 95.5, [102.0, 138.4, 181.0]),
    (64, 100, 2, "delay", 30.8, [69.0, 92.4, 189.0]),
    (256, 100, 2, "delay", 83.8, [76.0, 79.2, 86.0]),
    (1024, 100, 2, "delay", 95.6, [103.0, 137.9, 180.0]),
];

/// The table of docs/machines/panic.md. A `!` marks what is more than 10 % away; each is explained there.
#[test]
fn latencies_and_rates_are_the_prototypes() {
    let mut table = "bytes offered credits chain | Gbit/s RTL | min RTL | mean RTL | p99 RTL | lost\n".to_owned();
    for (bytes, rate, credits, chain, gbps, latency) in RTL {
        let told = run(bytes, rate, credits, chain == "empty", 3000);
        let pair = |ours: f64, rtl: f64| {
            let mark = if (ours / rtl - 1.0).abs() > 0.1 { "!" } else { "" };
            format!("{ours:.1} {rtl:.1}{mark}")
        };
        let [min, mean, p99] = [0, 1, 2].map(|i| pair(told.latency[i], latency[i]));
        let gbps = pair(told.gbps, gbps);
        table += &format!("{bytes} {rate} {credits} {chain} | {gbps} | {min} | {mean} | {p99} | {:.3}\n", told.lost);
    }
    expect_test::expect![[r#"
        bytes offered credits chain | Gbit/s RTL | min RTL | mean RTL | p99 RTL | lost
        64 5 6 empty | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 0.000
        1536 5 6 empty | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 0.000
        64 5 6 delay | 5.0 5.0 | 69.0 69.0 | 69.6 69.5 | 70.0 70.0 | 0.000
        256 5 6 delay | 5.0 5.0 | 76.0 76.0 | 78.6 77.8 | 81.0 80.0 | 0.000
        1536 5 6 delay | 5.0 5.0 | 119.0 107.0! | 135.5 134.7 | 152.0 150.0 | 0.000
        1536 26 6 delay | 26.0 25.8 | 119.0 103.0! | 135.5 134.6 | 152.0 150.0 | 0.000
        1536 75 6 delay | 75.0 75.1 | 119.0 119.0 | 141.1 141.0 | 210.0 198.0 | 0.000
        1536 100 6 delay | 98.7 98.8 | 119.0 120.0 | 189.4 189.0 | 268.0 255.0 | 0.000
        64 100 6 delay | 56.8 56.3 | 69.0 69.0 | 69.8 73.2 | 71.0 80.0! | 0.000
        256 100 6 delay | 85.1 83.8 | 76.0 76.0 | 79.4 78.7 | 89.0 83.0 | 0.000
        1024 100 6 delay | 97.2 95.5 | 102.0 102.0 | 141.7 138.4 | 187.0 181.0 | 0.000
        64 100 2 delay | 35.0 30.8! | 69.0 69.0 | 287.7 92.4! | 314.0 189.0! | 0.362
        256 100 2 delay | 85.1 83.8 | 76.0 76.0 | 79.4 79.2 | 88.0 86.0 | 0.000
        1024 100 2 delay | 97.2 95.6 | 102.0 103.0 | 141.7 137.9 | 184.0 180.0 | 0.000
    "#]]
    .assert_eq(&table);
}
