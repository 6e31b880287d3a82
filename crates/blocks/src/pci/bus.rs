//! `pci-bus`: a PCI bus, shared by the card's references to host memory and the host's references to the card.
//!
//! Ports:   `masters[i]` (memory, answer) access `target` (memory, asks), which is host memory; `host` (memory,
//!           answers) accesses `card` (memory, asks), its registers.
//! Timing:  a transaction takes `overhead_cycles` plus one cycle for each word it touches. A write is forwarded with
//!           its last word, and the bus is then free. A read is forwarded after the overhead; its data begin after
//!           `read_cycles` or when the answer arrives, whichever is later, and the bus waits for them. A reference is
//!           answered when its last part is.
//! Order:   ports take turns, one transaction each; the references of each port stay in order.
//! Source:  PCI Local Bus Specification 2.2: widths, clocks, one transaction at a time.
//! Differs: no retries and no delayed transactions: a slow responder keeps the bus.

mod lane;

use crate::bus::{BusError, Data, Reply, Requester, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Time};
use lane::{Active, BusLane, BusSide};

/// A PCI bus; its clock is 33 or 66 MHz.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PciBusParams {
    /// Width of the bus.
    pub width: BusWidth,
    /// Number of masters on the card.
    pub masters: usize,
    /// Overhead cycles of a transaction: arbitration, address, turnaround.
    pub overhead_cycles: u32,
    /// Minimum additional cycles until the first data of a read; the responder may take longer.
    pub read_cycles: u32,
    /// Maximum outstanding references of a port: while the last one waits for its answer, the next one may use the
    /// bus.
    pub references: usize,
    /// Maximum bytes of a transaction; a longer reference is split, and other transactions may come between its parts.
    pub burst_bytes: u32,
}

/// Width of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub enum BusWidth {
    /// 32 bits: 4 bytes per cycle.
    #[serde(rename = "32")]
    Bits32,
    /// 64 bits: 8 bytes per cycle.
    #[serde(rename = "64")]
    Bits64,
}

/// The ports of a [`PciBus`].
pub struct PciBusPorts {
    /// The card's masters.
    pub masters: Vec<Responder>,
    /// The host's references to the card.
    pub host: Responder,
    /// Host memory.
    pub target: Requester,
    /// The card's registers.
    pub card: Requester,
}

/// Serves one transaction at a time; ports take turns.
pub struct PciBus {
    params: PciBusParams,
    /// The masters, then the host.
    lanes: Vec<BusLane>,
    /// Host memory, then the card.
    sides: [BusSide; 2],
    /// Lane with the highest preference in the next choice.
    turn: usize,
    phase: Phase,
    /// Start of the current transaction, and its words.
    since: Cycle,
    words: u64,
    busy_cycles: Counter,
    data_cycles: Counter,
    transactions: Counter,
}

/// Phase of the current transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Free,
    /// A write of this lane is on the bus; it is forwarded in cycle `until`.
    Write {
        lane: usize,
        until: Cycle,
    },
    /// A read of this lane is on the bus; it is forwarded in cycle `until`.
    Address {
        lane: usize,
        until: Cycle,
    },
    /// The bus waits for the data of a read, at least until cycle `until`.
    Wait {
        lane: usize,
        until: Cycle,
        is_there: bool,
    },
    /// The data of a read are on the bus until cycle `until`.
    Data {
        lane: usize,
        until: Cycle,
    },
}

impl PciBus {
    /// An idle bus.
    pub fn new(params: PciBusParams, ports: PciBusPorts) -> PciBus {
        let PciBusPorts { masters, host, target, card } = ports;
        PciBus {
            lanes: masters.into_iter().chain([host]).map(BusLane::new).collect(),
            sides: [BusSide::new(target), BusSide::new(card)],
            turn: 0,
            phase: Phase::Free,
            since: 0,
            words: 0,
            busy_cycles: Counter::default(),
            data_cycles: Counter::default(),
            transactions: Counter::default(),
            params,
        }
    }

    /// Index of the side that a lane accesses.
    fn side(&self, lane: usize) -> usize {
        usize::from(lane == self.params.masters)
    }

    /// Words, and so data cycles, that a range of bytes touches.
    fn words(&self, addr: u64, bytes: u32) -> u64 {
        let word = match self.params.width {
            BusWidth::Bits32 => 4,
            BusWidth::Bits64 => 8,
        };
        (addr % word + u64::from(bytes)).div_ceil(word)
    }

    fn take_references(&mut self, now: Cycle) {
        for lane in &mut self.lanes {
            while lane.queue.len() < self.params.references
                && let Some(reference) = lane.port.references.take()
            {
                let (since, waited, sent, acknowledged) = (now, Time::ZERO, 0, 0);
                let (read, failed) = (Data::new(), None);
                lane.queue.push_back(Active { reference, since, waited, sent, acknowledged, read, failed });
            }
        }
    }

    /// Takes replies from both sides.
    fn take_answers(&mut self) {
        for side in &mut self.sides {
            while let Some(reply) = side.port.replies.take() {
                let (from, bytes) = side.waiting.pop_front().expect("a responder answers what it was asked");
                let waits = |active: &&mut Active| active.acknowledged < active.reference.access.len();
                let active = self.lanes[from].queue.iter_mut().find(waits).expect("a reference waits for this reply");
                active.acknowledged += bytes;
                active.waited = active.waited + reply.waited;
                if let Phase::Wait { lane, is_there, .. } = &mut self.phase {
                    *is_there |= *lane == from && !active.is_write();
                }
                match reply.result {
                    Ok(data) => active.read.extend_from_slice(&data),
                    Err(error) => _ = active.failed.get_or_insert(error),
                }
            }
        }
    }

    /// Answers references whose parts have all been answered, except a read that is still on the bus.
    fn answer(&mut self) {
        let reader = match self.phase {
            Phase::Wait { lane, .. } | Phase::Data { lane, .. } => Some(lane),
            _ => None,
        };
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            let is_done = |active: &Active| active.acknowledged == active.reference.access.len();
            // The reply of a read leaves when its data have passed on the bus; later reads of the lane have not been
            // on the bus yet.
            let is_on_bus = |lane: &BusLane, front: &Active| {
                reader == Some(i) && !front.is_write() && lane.queue.get(1).is_none_or(|next| next.sent == 0)
            };
            while lane.queue.front().is_some_and(|front| is_done(front) && !is_on_bus(lane, front))
                && lane.port.replies.has_room()
            {
                let Active { reference, read, failed, waited, .. } = lane.queue.pop_front().expect("the front is done");
                let empty = reference.access.is_empty().then_some(BusError::Length(reference.addr, 0));
                let result = failed.or(empty).map_or(Ok(read), Err);
                lane.port.replies.send(Reply::new(reference.id, result).having_waited(waited));
            }
        }
    }

    /// The next lane in turn with a transaction.
    fn choose(&self) -> Option<usize> {
        let n = self.lanes.len();
        (0..n).map(|i| (self.turn + i) % n).find(|&i| self.lanes[i].next().is_some())
    }

    fn start(&mut self, now: Cycle, lane: usize) {
        let next = self.lanes[lane].next().expect("a chosen lane has a reference");
        let active = &self.lanes[lane].queue[next];
        let part = active.part(self.params.burst_bytes);
        let (waited, is_write, bytes) = (now - active.since, active.is_write(), part.access.len());
        self.words = self.words(part.addr, bytes);
        self.since = now;
        self.transactions.add(1);
        self.turn = (lane + 1) % self.lanes.len();
        let served = &mut self.lanes[lane];
        served.transactions.add(1);
        served.bytes.add(u64::from(bytes));
        served.wait_cycles.add(waited);
        let active = &mut served.queue[next];
        active.waited = active.waited + served.port.span(active.since.max(served.free_at), now);
        let address = now + u64::from(self.params.overhead_cycles);
        self.phase = if is_write {
            Phase::Write { lane, until: address + self.words }
        } else {
            Phase::Address { lane, until: address }
        };
    }

    /// Forwards the next part of a lane's reference, if there is room.
    fn hand_over(&mut self, now: Cycle, lane: usize) -> bool {
        let side = self.side(lane);
        let side = &mut self.sides[side];
        if !side.port.references.has_room() {
            return false;
        }
        let next = self.lanes[lane].next().expect("its transaction is on the bus");
        let active = &mut self.lanes[lane].queue[next];
        let part = active.part(self.params.burst_bytes);
        let bytes = part.access.len();
        active.sent += bytes;
        active.since = now;
        side.waiting.push_back((lane, bytes));
        side.port.references.send(part);
        true
    }

    fn release(&mut self, now: Cycle, lane: usize) -> Phase {
        self.lanes[lane].free_at = now;
        self.busy_cycles.add(now - self.since);
        self.data_cycles.add(self.words);
        Phase::Free
    }

    /// Advances to the next phase, or returns when to try again.
    fn step(&mut self, now: Cycle) -> Result<Phase, Option<Cycle>> {
        match self.phase {
            Phase::Free => {
                let lane = self.choose().ok_or(None)?;
                self.start(now, lane);
                Ok(self.phase)
            }
            Phase::Write { until, .. } | Phase::Address { until, .. } | Phase::Data { until, .. } if now < until => {
                Err(Some(until))
            }
            Phase::Write { lane, .. } => {
                if self.hand_over(now, lane) {
                    Ok(self.release(now, lane))
                } else {
                    Err(None)
                }
            }
            Phase::Address { lane, .. } => {
                let wait = Phase::Wait { lane, until: now + u64::from(self.params.read_cycles), is_there: false };
                if self.hand_over(now, lane) { Ok(wait) } else { Err(None) }
            }
            Phase::Wait { is_there: false, .. } => Err(None),
            Phase::Wait { until, .. } if now < until => Err(Some(until)),
            Phase::Wait { lane, .. } => Ok(Phase::Data { lane, until: now + self.words }),
            Phase::Data { lane, .. } => Ok(self.release(now, lane)),
        }
    }
}

impl Component for PciBus {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_references(now);
        self.take_answers();
        let next = loop {
            match self.step(now) {
                Ok(phase) => self.phase = phase,
                Err(next) => break next,
            }
        };
        self.answer();
        // A lane whose reference was answered may have another one in its channel.
        let has_room = |lane: &BusLane| lane.queue.len() < self.params.references;
        let is_waiting = self.lanes.iter().any(|lane| has_room(lane) && lane.port.references.has_item());
        match next {
            _ if is_waiting => Activity::Busy,
            Some(cycle) => Activity::Until(cycle),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        let (host, masters) = self.lanes.split_last().expect("the host has a lane");
        for (i, lane) in masters.iter().enumerate() {
            lane.port.port(&format!("masters[{i}]"), ports);
        }
        host.port.port("host", ports);
        self.sides[0].port.port("target", ports);
        self.sides[1].port.port("card", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("transactions", self.transactions.total());
        counters.busy("busy_cycles", self.busy_cycles.total(), 1, "one transaction at a time");
        counters.add("data_cycles", self.data_cycles.total());
        for (i, lane) in self.lanes.iter().enumerate() {
            let name = if i == self.params.masters { "host".to_owned() } else { format!("masters[{i}]") };
            counters.add(&format!("{name}.transactions"), lane.transactions.total());
            counters.add(&format!("{name}.bytes"), lane.bytes.total());
            counters.add(&format!("{name}.wait_cycles"), lane.wait_cycles.total());
        }
    }
}

impl Module for PciBusParams {
    const NAME: &'static str = "pci-bus";
    const ABOUT: &'static str =
        "A PCI bus, shared by the card's references to host memory and the host's references to the card.";
    const EXAMPLE: &'static str = r#"width = "64"
masters = 2
overhead_cycles = 4
read_cycles = 8
references = 2
burst_bytes = 1024"#;

    fn ports(&self) -> Vec<PortSpec> {
        let masters = (0..self.masters)
            .map(|i| PortSpec::to::<Memory>(format!("masters[{i}]")).about("the card's references to host memory"));
        masters
            .chain([
                PortSpec::to::<Memory>("host").about("the host's references to the card"),
                PortSpec::from::<Memory>("target").about("host memory"),
                PortSpec::from::<Memory>("card").about("the card's registers"),
            ])
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("masters", self.masters, 0, 64)?;
        checks::within("references", self.references, 1, 1024)?;
        checks::within("overhead_cycles", self.overhead_cycles, 1, 1000)?;
        checks::within("read_cycles", self.read_cycles, 0, 1000)?;
        checks::power_of_two("burst_bytes", self.burst_bytes, 8, 4096)
    }

    fn build(self, site: &mut Site) -> Built {
        let masters = (0..self.masters).map(|i| site.to::<Memory>(&format!("masters[{i}]"))).collect();
        let (host, target) = (site.to::<Memory>("host"), site.from::<Memory>("target"));
        let card = site.from::<Memory>("card");
        Built::new(PciBus::new(self, PciBusPorts { masters, host, target, card }))
    }
}

#[cfg(test)]
mod tests;
