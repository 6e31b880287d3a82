//! The prototype's bench: packets of one length at a constant rate, delay units with service times from the descriptor, and a
//! log.

use kernel::{Cycle, RandomStream, Time};
use panic::drops::DropReason;
use panic::nic::{Outside, Panic};
use panic::params::{PanicParams, ServiceSpec};
use panic::policy::{PolicyParams, PolicyTree};
use panic::protocol::{Hop, Message, PacketStep};
use panic::unit::{DelayUnitParams, EngineParams, ServiceTime};
use panic::world::{Arrival, Classifier, ExternalPort, Outlet, PortSource, Verdict};
use std::cell::RefCell;
use std::rc::Rc;

/// Least and greatest service time in cycles for a packet of this length, without forwarding.
pub type Service = fn(u64) -> (u64, u64);

/// Units of a service.
#[derive(Clone, Copy)]
pub struct Units {
    /// Number of units.
    pub n: u32,
    /// Service times are uniformly distributed between the two bounds.
    pub service: Service,
}

/// A run.
#[derive(Clone)]
pub struct Scene {
    /// The chain: one service per hop.
    pub chain: Vec<Units>,
    pub nic: Nic,
    /// Number of packets.
    pub n_packets: u64,
    pub credits: u32,
    pub chain_push: bool,
    pub bytes: usize,
    /// Gbit/s offered.
    pub rate: u64,
    /// Rate of the line in Gbit/s; by default the preset's.
    pub line: Option<u64>,
    /// Service time of the first packet, if it is not random like the others'.
    pub first: Option<u64>,
}

/// Results of a run. Times are in cycles of 4 ns.
pub struct Results {
    pub gbps: f64,
    /// From the first bytes in to the first bytes out, in ascending order.
    pub latencies: Vec<Cycle>,
    /// The same without service times, in ascending order.
    pub scheduling: Vec<Cycle>,
    /// Share of packets with a detour, and share of packets lost.
    pub detoured: f64,
    pub lost: f64,
}

pub fn mean(values: &[Cycle]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

pub fn percentile(values: &[Cycle], percent: usize) -> Cycle {
    values[(values.len() - 1) * percent / 100]
}

/// A NIC and its delay units.
#[derive(Clone, Copy)]
pub struct Nic {
    /// Changes to the preset `panic`.
    own: &'static str,
    unit: DelayUnitParams,
}

const UNIT: DelayUnitParams =
    DelayUnitParams { service: ServiceTime::Listed {}, gap_cycles: 2, start_cycles: 0, grant_cycles: 0 };

/// The NIC of the paper.
pub const PANIC: Nic = Nic { own: "", unit: UNIT };

/// The NIC of the published Verilog. Its unit reads a descriptor in the cycle after a tail, starts it in the next, and requests
/// the output at the end of the wait.
pub const PANIC_RTL: Nic = Nic {
    own: include_str!("../../../../../presets/panic-rtl.toml"),
    unit: DelayUnitParams { gap_cycles: 1, start_cycles: 1, grant_cycles: 1, ..UNIT },
};

/// Number of packets of a run.
pub const N_PACKETS: u64 = 3000;

impl Scene {
    pub fn run(&self) -> Results {
        let mut params: PanicParams = testkit::preset(include_str!("../../../../../presets/panic.toml"), self.nic.own);
        params.scheduler.chain_push = self.chain_push;
        if let Some(crossing) = &mut params.scheduler.pifo.crossing {
            crossing.small_packets = true; // as in the published bench of delay units
        }
        params.ingress.line_bps = self.line.map_or(params.ingress.line_bps, |line| line * 1_000_000_000);
        let service = |(i, units): (usize, &Units)| ServiceSpec {
            name: format!("delay {i}"),
            units: units.n,
            credits: self.credits,
            engine: EngineParams::Delay(self.nic.unit),
            flow_affinity: false,
            policy: PolicyTree::of(PolicyParams::Fifo),
        };
        params.services = self.chain.iter().enumerate().map(service).collect();
        let log = Rc::new(RefCell::new(Log::default()));
        let networks: Vec<Box<dyn PortSource>> =
            vec![Box::new(Paced { next: 0, n: self.n_packets, bytes: self.bytes, rate: self.rate })];
        let outside = Outside::new(
            networks,
            Rc::new(RefCell::new(Chain {
                units: self.chain.clone(),
                stream: RandomStream::new(1, "bench"),
                first: self.first,
            })),
            log.clone(),
        );
        Panic::new(&params, 1, outside).system.run_until(Time::from_ns(100_000_000));
        let mut log = log.borrow_mut();
        let (mut latencies, mut scheduling) = (std::mem::take(&mut log.latencies), std::mem::take(&mut log.scheduling));
        assert_eq!(latencies.len() as u64 + log.drops, self.n_packets, "every packet must leave or be dropped");
        latencies.sort_unstable();
        scheduling.sort_unstable();
        Results {
            gbps: log.bits as f64 / (4 * (log.last - log.first)) as f64,
            detoured: log.detoured as f64 / latencies.len() as f64,
            lost: log.drops as f64 / self.n_packets as f64,
            latencies,
            scheduling,
        }
    }
}

struct Paced {
    next: u64,
    n: u64,
    bytes: usize,
    rate: u64,
}

impl Paced {
    /// The cycle (4 ns) in which packet `i` is due.
    fn due(&self, i: u64) -> Cycle {
        (i * self.bytes as u64 * 8).div_ceil(self.rate * 4)
    }
}

impl PortSource for Paced {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let is_there = self.next < self.n && self.due(self.next) <= now;
        is_there.then(|| {
            self.next += 1;
            Arrival { id: self.next - 1, bytes: vec![0; self.bytes] }
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        (self.next < self.n).then(|| self.due(self.next))
    }
}

struct Chain {
    units: Vec<Units>,
    stream: RandomStream,
    first: Option<u64>,
}

impl Classifier for Chain {
    fn classify(&mut self, _now: Cycle, _from: ExternalPort, packet: &mut Vec<u8>) -> Verdict {
        let hop = |(i, units): (usize, &Units)| {
            let (least, most) = (units.service)(packet.len() as u64);
            let metadata = self.first.take().unwrap_or(least + self.stream.below(most - least + 1));
            Hop::new(i as u8, metadata)
        };
        Verdict::along(self.units.iter().enumerate().map(hop), Some(ExternalPort::Host(0)))
    }
}

#[derive(Default)]
struct Log {
    latencies: Vec<Cycle>,
    scheduling: Vec<Cycle>,
    detoured: u64,
    first: Cycle,
    last: Cycle,
    bits: u64,
    drops: u64,
}

impl Outlet for Log {
    fn leave(&mut self, now: Cycle, _side: ExternalPort, message: Message) {
        let descriptor = &message.descriptor;
        let at = |step| {
            descriptor.trail.marks().iter().find(|mark| mark.step == step).expect("every step must be recorded").at
        };
        // Input: the first bytes follow the descriptor's cycle. Output is a whole packet: the last bytes are in memory one
        // cycle later.
        let n_flits = message.data.len().div_ceil(64) as u64;
        let latency = at(PacketStep::Left) - n_flits - (at(PacketStep::Arrived) + 1);
        self.latencies.push(latency);
        self.scheduling.push(latency - descriptor.chain.iter().map(|hop| hop.metadata).sum::<u64>());
        self.detoured += u64::from(descriptor.detours > 0);
        self.first = if self.bits == 0 { now } else { self.first };
        self.last = now;
        self.bits += 8 * message.data.len() as u64;
    }

    fn drop(&mut self, _now: Cycle, _message: Message, _reason: DropReason) {
        self.drops += 1;
    }
}
