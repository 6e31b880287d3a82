//! A network port's input: the line and the RMT pipeline, which makes descriptors.

use crate::drops::{DropCounts, DropReason};
use crate::egress::{EgressLine, line_cycles};
use crate::entry::{Entry, Sender};
use crate::protocol::{Message, NodeId, n_flits};
use crate::world::{Arrival, ExternalPort, PortSource, SharedClassifier, SharedOutlet, Verdict};
use blocks::checks;
use blocks::mhz::Mhz;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// Fixed properties of an [`Ingress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressParams {
    /// Rate of the line in each direction, in bits per second.
    pub line_bps: u64,
    /// Bytes of line time that each packet takes in addition to its own, in both directions: 24 on Ethernet (FCS, preamble,
    /// gap).
    pub overhead_bytes: u32,
    /// Cycles for which the line stalls at each packet to insert its descriptor.
    pub descriptor_cycles: u32,
    /// Latency of the RMT pipeline: cycles from a packet's first bytes until its descriptor enters the interconnect.
    pub rmt_cycles: u32,
    /// Capacity of the buffer behind the RMT pipeline, in flits.
    pub buffer_flits: u32,
    /// Action when that buffer is full.
    pub when_full: WhenFull,
}

/// Action for a packet that finds the buffer full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The line stalls, like a packet generator on the card.
    Stall,
    /// The packet is dropped, as on a network without flow control.
    Drop,
}

impl IngressParams {
    /// Checks the ranges for packets of up to `longest` bytes.
    pub fn check(&self, longest: usize, flit_bytes: usize) -> Result<(), String> {
        let most = 10_000_000_000_000;
        if !(1_000_000..=most).contains(&self.line_bps) {
            return Err(format!("line_bps is {}, must be 1000000 to {most}", self.line_bps));
        }
        checks::within("overhead_bytes", self.overhead_bytes, 0, 1024)?;
        checks::within("descriptor_cycles", self.descriptor_cycles, 0, 1024)?;
        checks::within("rmt_cycles", self.rmt_cycles, 0, 1024)?;
        let least = u32::try_from(n_flits(longest, flit_bytes)).unwrap_or(u32::MAX);
        checks::within("buffer_flits", self.buffer_flits, least, 1 << 20)
    }

    /// The line's outgoing direction, for an exit with this clock.
    pub fn line_out(&self, clock: Mhz) -> EgressLine {
        EgressLine { bps: self.line_bps, overhead_bytes: self.overhead_bytes, clock_hz: clock.hz() }
    }
}

/// Connections of an [`Ingress`].
pub struct IngressWiring {
    /// Its node, and its index among the network ports.
    pub node: (NodeId, u8),
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Clock frequency in whole Hz.
    pub clock_hz: u64,
    /// Packets from the network.
    pub source: Box<dyn PortSource>,
    /// The match-action program.
    pub classifier: SharedClassifier,
    /// Receives drops.
    pub outlet: SharedOutlet,
    /// Builds messages.
    pub entry: Entry,
    /// Sends into the interconnect.
    pub sender: Sender,
}

/// Takes packets from the line, classifies them, and sends them to the scheduler or straight to an exit.
///
/// Ports:   `out`, one flit a cycle; `bank_notes`.
/// Timing:  a packet that is available in cycle t while the line is free occupies the line for its bytes and overhead at the
///          line's rate, plus `descriptor_cycles`. Its descriptor is sent at t + `rmt_cycles`, or after earlier packets; its
///          bytes follow one flit a cycle. assumed: all bytes are available at once, as with a generator on the card (7.1).
/// Source:  4.1; RTL for the descriptor's cycle and the queue behind the pipeline.
pub struct Ingress {
    params: IngressParams,
    wires: IngressWiring,
    /// When the line is free, and how long packets have been on it, in cycles times `line_bps`, so that no rounding error
    /// accumulates.
    line_free: u128,
    line_busy: u128,
    /// A packet that waits for a cell before it enters.
    held: Option<(Arrival, Verdict)>,
    packets: Counter,
    bytes: Counter,
    stalled_cycles: Counter,
    drops: DropCounts,
}

impl Ingress {
    /// An idle port. The parameters must have passed their check.
    pub fn new(params: IngressParams, wires: IngressWiring) -> Ingress {
        let (packets, bytes, stalled_cycles) = Default::default();
        // With `stall`, the rest of a packet that finds less room than it needs waits on the line.
        let wires = IngressWiring { sender: wires.sender.with_room(params.buffer_flits as usize), ..wires };
        let drops = DropCounts::new(&[DropReason::Rmt, DropReason::IngressBuffer]);
        Ingress { params, wires, line_free: 0, line_busy: 0, held: None, packets, bytes, stalled_cycles, drops }
    }

    /// The first cycle in which the line is free.
    fn free_at(&self) -> Cycle {
        let free = self.line_free.div_ceil(self.params.line_bps.into());
        Cycle::try_from(free).unwrap_or(Cycle::MAX)
    }

    /// Takes the next packet if it is available and the line is free. Returns the cycle of the next attempt, or `None` if a
    /// port must change first.
    fn receive(&mut self, now: Cycle) -> Option<Cycle> {
        let free = self.free_at();
        if free > now {
            return Some(free);
        }
        let is_full = |waiting: usize| waiting >= self.params.buffer_flits as usize;
        if self.params.when_full == WhenFull::Stall && is_full(self.wires.sender.waiting(now)) {
            self.stalled_cycles.add(1);
            return Some(now + 1);
        }
        let (arrival, verdict) = match self.held.take() {
            Some(held) => held,
            None => {
                let Some(mut arrival) = self.wires.source.next(now) else {
                    return self.wires.source.next_at().map(|at| at.max(now + 1));
                };
                self.packets.add(1);
                self.bytes.add(arrival.bytes.len() as u64);
                let from = ExternalPort::Network(self.wires.node.1);
                let verdict = self.wires.classifier.borrow_mut().classify(now, from, &mut arrival.bytes);
                (arrival, verdict)
            }
        };
        if !self.wires.entry.admits(now, &verdict) {
            self.stalled_cycles.add(1);
            self.held = Some((arrival, verdict));
            return Some(now + 1);
        }
        self.admit(now, free == now, arrival, verdict);
        Some(self.free_at().max(now + 1))
    }

    /// Puts a packet on the line. A packet that waited for the line follows without a gap, if need be in the middle of a cycle.
    fn admit(&mut self, now: Cycle, is_behind: bool, arrival: Arrival, verdict: Verdict) {
        let bits = 8 * (arrival.bytes.len() as u128 + u128::from(self.params.overhead_bytes));
        let line_bps = u128::from(self.params.line_bps);
        let begun = if is_behind { self.line_free } else { u128::from(now) * line_bps };
        let takes = bits * u128::from(self.wires.clock_hz) + u128::from(self.params.descriptor_cycles) * line_bps;
        self.line_free = begun + takes;
        self.line_busy += takes;
        let n = n_flits(arrival.bytes.len(), self.wires.flit_bytes);
        let has_room = self.params.when_full == WhenFull::Stall
            || self.wires.sender.waiting(now) + n <= self.params.buffer_flits as usize;
        match self.wires.entry.message(now, self.wires.node.0, arrival, verdict) {
            Ok(message) if has_room => self.wires.sender.push(now, now + Cycle::from(self.params.rmt_cycles), message),
            Ok(message) => self.drop(now, message, DropReason::IngressBuffer),
            Err(message) => self.drop(now, message, DropReason::Rmt),
        }
    }

    fn drop(&mut self, now: Cycle, message: Box<Message>, reason: DropReason) {
        self.drops.add(reason);
        self.wires.outlet.borrow_mut().drop(now, *message, reason);
    }
}

impl Component for Ingress {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.wires.entry.take_bank_notes();
        let next_packet = self.receive(now);
        let next_flit = self.wires.sender.send(now);
        match [next_packet, next_flit].into_iter().flatten().min() {
            Some(next) if next <= now + 1 => Activity::Busy,
            Some(next) => Activity::Until(next),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        self.wires.entry.ports(ports);
        self.wires.sender.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
        counters.add("stalled_cycles", self.stalled_cycles.total());
        let IngressParams { line_bps, buffer_flits, .. } = self.params;
        counters.busy(
            "line_cycles",
            line_cycles(counters.now(), line_bps, self.line_busy, self.line_free),
            1,
            &format!("the line in: {} Gbit/s", line_bps as f64 / 1e9),
        );
        let buffered = self.wires.sender.buffered_before(counters.now() + 1);
        counters.held_for("buffered_flit_cycles", buffered, buffer_flits.into(), "the buffer behind the RMT pipeline");
        self.drops.counters(counters, "drops.", "");
        self.wires.entry.counters(counters);
    }
}
