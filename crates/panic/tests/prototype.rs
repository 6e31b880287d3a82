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
    /// min, mean, p99, max
    latency: [f64; 4],
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
        latency: [sorted[0] as f64, mean, p99 as f64, *sorted.last().unwrap() as f64],
        lost: log.drops as f64 / count as f64,
    }
}

#[test]
fn latencies_and_rates_are_the_prototypes() {
    for (bytes, rate, credits, is_empty) in [
        (64, 5, 6, true),
        (1536, 5, 6, true),
        (64, 5, 6, false),
        (256, 5, 6, false),
        (1536, 5, 6, false),
        (1536, 26, 6, false),
        (1536, 75, 6, false),
        (1536, 100, 6, false),
        (64, 100, 6, false),
        (256, 100, 6, false),
        (1024, 100, 6, false),
        (64, 100, 2, false),
        (256, 100, 2, false),
        (1024, 100, 2, false),
    ] {
        let told = run(bytes, rate, credits, is_empty, 3000);
        let [min, mean, p99, max] = told.latency;
        println!(
            "{bytes:5} {rate:4} c{credits} {is_empty:5} {:6.1} {min:4} {mean:6.1} {p99:4} {max:4} lost {:.3}",
            told.gbps, told.lost
        );
    }
}
