//! DMA assist: moves what a ring of descriptors says, one way between host memory and the card's.

use super::asked::Asked;
use super::checksum::OnesComplement;
use super::pieces::{mirror, mirrored_piece, piece};
use super::protocol::{Buffers, DmaOrder, DmaProgress, Transfer};
use super::ring::Ring;
use crate::bus::{Access, BusError, Data, Requester, word};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Which way a [`DmaAssist`] moves bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From host memory to the card's.
    Read,
    /// From the card's memory to the host's.
    Write,
}

/// A DMA assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaAssistParams {
    /// `read` moves host memory to the card, `write` the card's to the host.
    pub direction: Direction,
    /// Descriptors of the ring.
    pub ring_entries: u32,
    /// Descriptors of the second ring, which goes before the first; 0 if there is none.
    pub high_ring_entries: u32,
    /// Bytes of a descriptor: host address (8), local address (4), length (4), and from 24 on state (4) and checksum
    /// address (4); the rest is firmware's. All of it is read.
    pub descriptor_bytes: u32,
    /// Descriptors that are read while another one is being worked on.
    pub descriptors_ahead: usize,
    /// Bytes between the two sides: what was asked of one and not yet given to the other.
    pub buffer_bytes: u32,
    /// Longest reference to the card's memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// References to the card's memory under way.
    pub memory_references: usize,
    /// Longest reference to the host; references end at multiples of it.
    pub host_burst_bytes: u32,
    /// References to the host under way.
    pub host_references: usize,
}

impl Module for DmaAssistParams {
    const NAME: &'static str = "dma-assist";
    const ABOUT: &'static str = "Moves what a ring of descriptors says, one way between host memory and the card's";
    const EXAMPLE: &'static str = r#"direction = "read"
ring_entries = 64
high_ring_entries = 0
descriptor_bytes = 32
descriptors_ahead = 1
buffer_bytes = 256
memory_burst_bytes = 8
memory_references = 4
host_burst_bytes = 128
host_references = 2"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<DmaOrder>>("orders"),
            PortSpec::from::<OneWay<DmaProgress>>("progress"),
            PortSpec::from::<Memory>("memory"),
            PortSpec::from::<Memory>("descriptors").optional(),
            PortSpec::from::<Memory>("host"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::within("ring_entries", self.ring_entries, 2, 1 << 16)?;
        checks::within("high_ring_entries", self.high_ring_entries, 0, 1 << 16)?;
        checks::count("descriptors_ahead", self.descriptors_ahead, 0, 1024)?;
        checks::count("memory_references", self.memory_references, 1, 1024)?;
        checks::count("host_references", self.host_references, 1, 1024)?;
        checks::power_of_two("descriptor_bytes", self.descriptor_bytes, 16, 256)?;
        checks::power_of_two("memory_burst_bytes", self.memory_burst_bytes, 4, 1 << 14)?;
        checks::power_of_two("host_burst_bytes", self.host_burst_bytes, 4, 1 << 14)?;
        // A whole reference of the source must fit beside all but a byte of one to the sink.
        checks::within(
            "buffer_bytes (at least memory_burst_bytes and host_burst_bytes)",
            self.buffer_bytes,
            self.memory_burst_bytes + self.host_burst_bytes,
            1 << 20,
        )
    }

    fn build(self, site: &mut Site) -> Built {
        Built::new(DmaAssist::new(
            self,
            DmaPorts {
                orders: site.to::<OneWay<DmaOrder>>("orders"),
                progress: site.from::<OneWay<DmaProgress>>("progress"),
                memory: site.from::<Memory>("memory"),
                descriptors: site.try_from::<Memory>("descriptors"),
                host: site.from::<Memory>("host"),
            },
        ))
    }
}

/// The ports of a [`DmaAssist`].
pub struct DmaPorts {
    /// What it is told.
    pub orders: Rx<DmaOrder>,
    /// What it tells.
    pub progress: Tx<DmaProgress>,
    /// The card's memory.
    pub memory: Requester,
    /// Where descriptors stand, if not in `memory`.
    pub descriptors: Option<Requester>,
    /// The host's memory.
    pub host: Requester,
}

/// What a reply is for.
#[derive(Clone, Copy)]
enum Use {
    Descriptor,
    /// Bytes that come from the source, in the order of the transfer.
    Source {
        is_mirrored: bool,
    },
    /// So many bytes are where they belong.
    Sink(u32),
    Checksum,
}

/// The memories of an assist; each use says in which life of the assist it was asked.
struct Sides {
    memory: Asked<(u32, Use)>,
    descriptors: Option<Asked<(u32, Use)>>,
    host: Asked<(u32, Use)>,
}

/// A transfer that has begun.
struct Job {
    /// Ring and the entry behind it; none if it came without a descriptor.
    ring: Option<(u8, u32)>,
    transfer: Transfer,
    /// Bytes asked of the source, come from it, given to the sink, and settled there.
    asked: u32,
    come: u32,
    given: u32,
    settled: u32,
    sum: OnesComplement,
    is_sum_asked: bool,
    is_sum_stored: bool,
}

impl Job {
    fn new(ring: Option<(u8, u32)>, transfer: Transfer) -> Job {
        let is_sum_stored = transfer.state & Transfer::CHECKSUM != Transfer::CHECKSUM;
        let sum = OnesComplement::default();
        Job { ring, transfer, asked: 0, come: 0, given: 0, settled: 0, sum, is_sum_asked: is_sum_stored, is_sum_stored }
    }

    /// Address and bytes of the next reference on one side, behind `done` bytes.
    fn reference(&self, is_host: bool, done: u32, limit: u32, buffers: &Buffers) -> (u64, u32) {
        let Transfer { host, local, bytes, .. } = self.transfer;
        let (addr, left) = (host.wrapping_add(u64::from(done)), bytes - done);
        match is_host {
            true if self.is_mirrored() => mirrored_piece(addr, left, limit),
            true => (addr, piece(addr, left, limit)),
            false => buffers.piece(local, done, bytes, limit),
        }
    }

    fn is_mirrored(&self) -> bool {
        self.transfer.state & Transfer::KEEPS_WORDS != 0
    }
}

/// Serves descriptors in order, one ring before the other.
///
/// Ports:   `orders` in, `progress` out; `memory`, `host`, and `descriptors` if they stand elsewhere than the data: one
///          reference a cycle on each.
/// Timing:  a descriptor is read in references of `memory_burst_bytes`; bytes are asked of the source as the buffer has
///          room and given to the sink when a whole reference of them is there; an entry is done when the sink has settled
///          its last byte, and its checksum is stored.
/// Order:   transfers of one assist end in the order in which they began; the source may be one ahead of the sink.
/// Source:  Willmann 2004, table 3.3 (DMA assist); docs/machines/tigon2.md.
/// Differs: the thresholds for asking for the bus (descriptor bits 4 to 8) are not looked at: a reference is as long as the
///          buffer and `host_burst_bytes` let it be.
pub struct DmaAssist {
    params: DmaAssistParams,
    sides: Sides,
    orders: Rx<DmaOrder>,
    progress: Tx<DmaProgress>,
    rings: [Ring; 2],
    buffers: Buffers,
    is_enabled: bool,
    /// The descriptor that is being read: its ring and entry, bytes asked, bytes that came.
    reading: Option<(u8, u32, u32, Data)>,
    singles: VecDeque<Transfer>,
    jobs: VecDeque<Job>,
    /// Bytes on their way from source to sink.
    buffer: VecDeque<u8>,
    failed: Option<BusError>,
    is_failure_told: bool,
    /// Counts resets: what was asked before one is of no use.
    life: u32,
    transfers: u64,
    bytes: u64,
    failures: u64,
    busy_cycles: u64,
    busy_since: Option<Cycle>,
}

impl DmaAssist {
    /// An assist that is not enabled.
    pub fn new(params: DmaAssistParams, ports: DmaPorts) -> DmaAssist {
        let DmaPorts { orders, progress, memory, descriptors, host } = ports;
        let sides = Sides {
            memory: Asked::new(memory, params.memory_references),
            descriptors: descriptors.map(|port| Asked::new(port, params.memory_references)),
            host: Asked::new(host, params.host_references),
        };
        let rings = [Ring::new(params.ring_entries), Ring::new(params.high_ring_entries)];
        DmaAssist {
            params,
            sides,
            orders,
            progress,
            rings,
            buffers: Buffers::default(),
            is_enabled: false,
            reading: None,
            singles: VecDeque::new(),
            jobs: VecDeque::new(),
            buffer: VecDeque::new(),
            failed: None,
            is_failure_told: false,
            life: 0,
            transfers: 0,
            bytes: 0,
            failures: 0,
            busy_cycles: 0,
            busy_since: None,
        }
    }

    fn obey(&mut self, order: DmaOrder) {
        match order {
            DmaOrder::Reset => {
                self.life = self.life.wrapping_add(1);
                (self.reading, self.failed, self.is_failure_told) = (None, None, false);
                (self.jobs, self.singles, self.buffer) = Default::default();
                for ring in &mut self.rings {
                    (ring.producer, ring.next) = (0, 0);
                }
            }
            DmaOrder::Enable(is_enabled) => self.is_enabled = is_enabled,
            DmaOrder::Single(transfer) => self.singles.push_back(transfer),
            DmaOrder::Buffers(buffers) => self.buffers = buffers,
            DmaOrder::Ring(ring, base) => self.ring(ring).base = base,
            DmaOrder::Producer(ring, index) => self.ring(ring).fill_to(index),
            DmaOrder::Consumer(ring, index) => self.ring(ring).go_to(index),
        }
    }

    fn ring(&mut self, ring: u8) -> &mut Ring {
        &mut self.rings[usize::from(ring).min(1)]
    }

    /// Takes all replies that are there.
    fn take_answers(&mut self) -> bool {
        let mut any = false;
        while let Some(((life, what), result)) = self.next_answer() {
            any = true;
            if life == self.life {
                self.take_answer(what, result);
            }
        }
        any
    }

    fn next_answer(&mut self) -> Option<((u32, Use), Result<Data, BusError>)> {
        let sides = &mut self.sides;
        let descriptor = sides.descriptors.as_mut().and_then(Asked::answer);
        descriptor.or_else(|| sides.memory.answer()).or_else(|| sides.host.answer())
    }

    fn take_answer(&mut self, what: Use, result: Result<Data, BusError>) {
        let mut data = match result {
            Ok(data) => data,
            Err(error) => {
                self.failures += 1;
                self.failed.get_or_insert(error);
                return;
            }
        };
        match what {
            Use::Descriptor => self.take_descriptor(&data),
            Use::Source { is_mirrored } => {
                if is_mirrored {
                    mirror(&mut data);
                }
                let job = self.jobs.iter_mut().find(|job| job.come < job.transfer.bytes).expect("a job asked for it");
                job.sum.add(&data);
                job.come += data.len() as u32;
                self.buffer.extend(data);
            }
            Use::Sink(bytes) => {
                let job = self.jobs.iter_mut().find(|job| job.settled < job.transfer.bytes).expect("a job gave it");
                job.settled += bytes;
            }
            Use::Checksum => {
                let job = self.jobs.iter_mut().find(|job| !job.is_sum_stored).expect("a job stored it");
                job.is_sum_stored = true;
            }
        }
    }

    fn take_descriptor(&mut self, data: &Data) {
        let (ring, index, asked, mut bytes) = self.reading.take().expect("a descriptor is being read");
        bytes.extend_from_slice(data);
        if bytes.len() < self.params.descriptor_bytes as usize {
            self.reading = Some((ring, index, asked, bytes));
            return;
        }
        let at = |i: usize| bytes.get(4 * i..4 * i + 4).map_or(0, word);
        let transfer = Transfer {
            host: u64::from(at(0)) << 32 | u64::from(at(1)),
            local: u64::from(at(2)),
            bytes: at(3) & 0xffff,
            state: if self.params.descriptor_bytes >= 24 { at(4) } else { 0 },
            checksum_at: u64::from(if self.params.descriptor_bytes >= 24 { at(5) } else { 0 }),
        };
        self.jobs.push_back(Job::new(Some((ring, index)), transfer));
    }

    /// Tells of what is done, in order.
    fn report(&mut self) -> bool {
        let mut any = false;
        if let Some(error) = self.failed {
            if !self.is_failure_told && self.progress.has_room() {
                self.progress.send(DmaProgress::Failed(error));
                self.is_failure_told = true;
            }
            return false;
        }
        while let Some(job) = self.jobs.front() {
            let is_done = job.settled == job.transfer.bytes && job.is_sum_stored;
            if !is_done || !self.progress.has_room() {
                break;
            }
            any = true;
            let job = self.jobs.pop_front().expect("there is one");
            self.transfers += 1;
            self.bytes += u64::from(job.transfer.bytes);
            let Transfer { local, bytes, state, .. } = job.transfer;
            let end = self.buffers.after(local, u64::from(bytes));
            self.progress.send(match job.ring {
                Some((ring, index)) => {
                    DmaProgress::Consumer(ring, self.rings[usize::from(ring)].after(index), state, end)
                }
                None => DmaProgress::SingleDone(job.sum.sum(), end),
            });
        }
        any
    }

    /// Begins what is next: a transfer without descriptor, else a descriptor of the ring that goes first.
    fn begin(&mut self) -> bool {
        if self.reading.is_some() || self.jobs.len() > self.params.descriptors_ahead {
            return false;
        }
        if let Some(transfer) = self.singles.pop_front() {
            self.jobs.push_back(Job::new(None, transfer));
            return true;
        }
        let Some(ring) = [1, 0].into_iter().find(|&i| self.is_enabled && !self.rings[i].is_empty()) else {
            return false;
        };
        let index = self.rings[ring].next;
        self.rings[ring].next = self.rings[ring].after(index);
        self.reading = Some((ring as u8, index, 0, Data::new()));
        true
    }

    /// Sends the next reference for the descriptor that is being read.
    fn ask_descriptor(&mut self, now: Cycle) {
        let DmaAssist { params, sides, rings, reading, life, .. } = self;
        let Some((ring, index, asked, _)) = reading else { return };
        let port = sides.descriptors.as_mut().unwrap_or(&mut sides.memory);
        if *asked < params.descriptor_bytes && port.is_free(now) {
            let addr = rings[usize::from(*ring)].addr(*index, params.descriptor_bytes) + u64::from(*asked);
            let bytes = piece(addr, params.descriptor_bytes - *asked, params.memory_burst_bytes);
            port.ask(now, addr, Access::Read(bytes), (*life, Use::Descriptor));
            *asked += bytes;
        }
    }

    /// Stores the checksum of the first job that has all its bytes.
    fn ask_checksum(&mut self, now: Cycle) {
        let DmaAssist { sides, jobs, life, .. } = self;
        let Some(job) = jobs.iter_mut().find(|job| !job.is_sum_asked) else { return };
        if job.come == job.transfer.bytes && job.given == job.come && sides.memory.is_free(now) {
            let data = Data::from_slice(&job.sum.sum().to_be_bytes());
            sides.memory.ask(now, job.transfer.checksum_at, Access::Write(data), (*life, Use::Checksum));
            job.is_sum_asked = true;
        }
    }

    fn ask_source(&mut self, now: Cycle) {
        let DmaAssist { params, sides, jobs, buffer, buffers, life, .. } = self;
        let is_host = params.direction == Direction::Read;
        let limit = if is_host { params.host_burst_bytes } else { params.memory_burst_bytes };
        let source = if is_host { &mut sides.host } else { &mut sides.memory };
        let reserved = buffer.len() as u32 + jobs.iter().map(|job| job.asked - job.come).sum::<u32>();
        let Some(job) = jobs.iter_mut().find(|job| job.asked < job.transfer.bytes) else { return };
        let (addr, bytes) = job.reference(is_host, job.asked, limit, buffers);
        if reserved + bytes <= params.buffer_bytes && source.is_free(now) {
            let is_mirrored = is_host && job.is_mirrored();
            source.ask(now, addr, Access::Read(bytes), (*life, Use::Source { is_mirrored }));
            job.asked += bytes;
        }
    }

    fn ask_sink(&mut self, now: Cycle) {
        let DmaAssist { params, sides, jobs, buffer, buffers, life, .. } = self;
        let is_host = params.direction == Direction::Write;
        let limit = if is_host { params.host_burst_bytes } else { params.memory_burst_bytes };
        let sink = if is_host { &mut sides.host } else { &mut sides.memory };
        let Some(job) = jobs.iter_mut().find(|job| job.given < job.transfer.bytes) else { return };
        let (addr, bytes) = job.reference(is_host, job.given, limit, buffers);
        if job.come - job.given >= bytes && sink.is_free(now) {
            let mut data: Data = buffer.drain(..bytes as usize).collect();
            if is_host && job.is_mirrored() {
                mirror(&mut data);
            }
            sink.ask(now, addr, Access::Write(data), (*life, Use::Sink(bytes)));
            job.given += bytes;
        }
    }

    fn has_asked(&self, now: Cycle) -> bool {
        let sides = &self.sides;
        sides.memory.has_asked(now)
            || sides.host.has_asked(now)
            || sides.descriptors.as_ref().is_some_and(|port| port.has_asked(now))
    }

    /// Counts cycles in which something is under way.
    fn count(&mut self, now: Cycle) {
        let is_busy = self.reading.is_some() || !self.jobs.is_empty();
        match (self.busy_since, is_busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy_cycles += now - since;
                self.busy_since = None;
            }
            _ => {}
        }
    }
}

impl Component for DmaAssist {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut acted = false;
        while let Some(order) = self.orders.take() {
            self.obey(order);
            acted = true;
        }
        acted |= self.take_answers();
        acted |= self.report();
        if self.failed.is_none() {
            acted |= self.begin();
            self.ask_descriptor(now);
            self.ask_checksum(now);
            self.ask_sink(now);
            self.ask_source(now);
        }
        self.count(now);
        if acted || self.has_asked(now) { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("orders", &self.orders);
        ports.output("progress", &self.progress);
        self.sides.memory.port("memory", ports);
        self.sides.host.port("host", ports);
        if let Some(descriptors) = &self.sides.descriptors {
            descriptors.port("descriptors", ports);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("transfers", self.transfers);
        counters.add("bytes", self.bytes);
        counters.add("failures", self.failures);
        counters.add("busy_cycles", self.busy_cycles);
    }
}

#[cfg(test)]
mod tests;
