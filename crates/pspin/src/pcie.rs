//! Path to host memory: address translation, the mux in front of the PCIe link, and the link.

use crate::arbiter::{LockingTree, requests};
use crate::events::{HOST_READ, HOST_WRITTEN};
use crate::host_events::Notice;
use crate::host_link::{HOST_BURSTS, HOST_DATA, HostData, HostTarget, HostWritten, MUX_BURSTS};
use crate::iommu::{SharedPageTables, TranslationCache};
use crate::params::IommuParams;
use crate::world::HostMemory;
use blocks::activity::{busy_if, earliest};
use blocks::pcie::{Bytes, Ends, PcieParams, Transport, Write};
use blocks::policy::RoundRobinTree;
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Tx};
use std::collections::VecDeque;

mod gate;
use gate::Gate;

/// The ports of a [`Pcie`].
pub struct PciePorts {
    /// One for each initiator.
    pub initiators: Vec<HostTarget>,
    /// Notices for the host, up to two per cycle.
    pub notices: Tx<Notice>,
}

/// State of the mux in front of the link.
struct Edge {
    gate: Gate,
    memory: Box<dyn HostMemory>,
    trace: Tracer,
    /// For each initiator: write bursts whose address is at the host and whose response the mux has not seen.
    at_host: Vec<u32>,
    /// For each initiator: read bursts at the host whose last beat the mux has not seen.
    reading: Vec<u32>,
    /// Initiators of responses in flight, with the cycle in which they no longer count.
    answered: VecDeque<(Cycle, usize)>,
    /// For each initiator: the beats that it has not taken. The last beat of a burst is true.
    given: Vec<VecDeque<bool>>,
    /// The unfinished write burst and read burst; `None` unless each direction has one burst at a time.
    serial: Option<Serial>,
    /// The current cycle.
    now: Cycle,
}

/// The unfinished bursts, if each direction has one burst at a time.
#[derive(Default)]
struct Serial {
    /// Beats of a write burst whose last beat has not come.
    gathered: Vec<Write>,
    is_writing: bool,
    is_reading: bool,
}

/// Cycles from when a response leaves the host until its place is free: the mux sees the response in between.
const ANSWER_FREES: Cycle = 2;

impl Edge {
    fn begin_cycle(&mut self, now: Cycle) {
        self.now = now;
        while let Some(&(at, from)) = self.answered.front()
            && at <= now
        {
            self.answered.pop_front();
            self.at_host[from] -= 1;
        }
        // A burst is at the host until its initiator takes the last beat: no register on the way holds that beat.
        for (from, given) in self.given.iter_mut().enumerate() {
            while given.len() > HOST_DATA - self.gate.initiators()[from].data.room() {
                if given.pop_front() == Some(true) {
                    self.reading[from] -= 1;
                }
            }
        }
    }
}

impl Ends for Edge {
    fn store(&mut self, at: Cycle, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
        self.trace.emit(&HOST_WRITTEN, at, &[addr, bytes.len() as u64]);
    }

    fn load(&mut self, at: Cycle, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
        self.trace.emit(&HOST_READ, at, &[addr, bytes.len() as u64]);
    }

    fn respond(&mut self, from: usize) -> bool {
        let written = &self.gate.initiators()[from].written;
        let room = written.has_room();
        if room {
            written.send(HostWritten);
            self.answered.push_back((self.now + ANSWER_FREES, from));
            if let Some(serial) = &mut self.serial {
                serial.is_writing = false;
            }
        }
        room
    }

    fn takes_data(&self, from: usize) -> bool {
        self.gate.initiators()[from].data.has_room()
    }

    fn give(&mut self, from: usize, bytes: Bytes, last: bool) {
        self.given[from].push_back(last);
        if last && let Some(serial) = &mut self.serial {
            serial.is_reading = false;
        }
        self.gate.initiators()[from].data.send(HostData { bytes, last });
    }
}

/// Reads and writes host memory for several initiators.
///
/// Ports:    for each initiator `writes[i]` and `reads[i]` in, `written[i]` and `data[i]` out; 1 beat per cycle each
///           way. `notices` out.
/// Timing:   that of the model ([`Transport`]), after translation ([`gate`]).
/// Fairness: round robin over initiators, one burst each. The order of write addresses decides, and data follows in
///           that order: a short write waits for all data of another initiator's burst whose address was first. An
///           address waits, and blocks those behind it, until fewer than [`HOST_BURSTS`] of its initiator are at the
///           host. The same holds for read bursts.
///           With one burst at a time, a write burst leaves when all its beats are here, and the next one after its response; a
///           read burst leaves after the last data of the previous one.
/// Source:   PsPIN RTL a49fec8, `host_mst_mux.sv`; `axi_mux.sv` and `axi_id_remap.sv` of the PULP platform; FPsPIN f5feca1,
///           `pspin_hostmem_dma_wr.v` and `pspin_hostmem_dma_rd.v`, for one burst at a time.
/// Differs:  with address translation, which the RTL does not have, the order of the first translated data decides.
pub struct Pcie {
    /// Beats and bursts that wait for the link.
    room: usize,
    edge: Edge,
    bursts: Bursts,
    write_arbiter: RoundRobinTree,
    read_arbiter: RoundRobinTree,
    /// The initiator in the middle of a write burst.
    writer: Option<usize>,
    transport: Transport,
}

impl Pcie {
    /// Creates a link to `memory`, shared by the initiators, at a card clock of `clock_hz`.
    pub fn new(
        clock_hz: u64,
        params: &PcieParams,
        iommu: &IommuParams,
        tables: SharedPageTables,
        ports: PciePorts,
        memory: Box<dyn HostMemory>,
        trace: Tracer,
    ) -> Self {
        let cache = iommu.enabled.then(|| TranslationCache::new(iommu.clone(), tables));
        let n = ports.initiators.len();
        let gate = Gate::new(cache, iommu.hit_cycles, ports.initiators, ports.notices, trace.clone());
        Pcie {
            room: params.buffer_beats as usize,
            edge: Edge {
                gate,
                memory,
                trace,
                at_host: vec![0; n],
                reading: vec![0; n],
                answered: VecDeque::new(),
                given: vec![VecDeque::new(); n],
                serial: None,
                now: 0,
            },
            bursts: Bursts::default(),
            write_arbiter: RoundRobinTree::default(),
            read_arbiter: RoundRobinTree::default(),
            writer: None,
            transport: Transport::new(clock_hz, params),
        }
    }

    /// Limits each direction to one burst at the host.
    pub fn one_burst_at_a_time(mut self) -> Self {
        self.edge.serial = Some(Serial::default());
        self
    }

    /// Accepts a write beat. The beats of a burst stay together.
    fn accept_write(&mut self, now: Cycle) -> bool {
        let is_writing = self.edge.serial.as_ref().is_some_and(|serial| serial.is_writing);
        if is_writing || self.transport.waiting().0 == self.room {
            return false;
        }
        let writer = if self.edge.gate.translates() { self.translated_writer(now) } else { self.bursts.writer() };
        let gate = &mut self.edge.gate;
        let Some(write) = writer.filter(|&i| gate.has_write(i, now)).and_then(|i| gate.take_write(i, now)) else {
            return false;
        };
        self.writer = (!write.last).then_some(write.from);
        if write.last {
            self.bursts.end();
        }
        let Some(serial) = &mut self.edge.serial else {
            self.transport.write(write);
            return true;
        };
        serial.is_writing = write.last;
        serial.gathered.push(write);
        if serial.is_writing {
            serial.gathered.drain(..).for_each(|beat| self.transport.write(beat));
        }
        true
    }

    /// The initiator of the next burst, among those whose first data has been translated.
    fn translated_writer(&mut self, now: Cycle) -> Option<usize> {
        let Edge { gate, at_host, .. } = &mut self.edge;
        if self.writer.is_some() {
            return self.writer;
        }
        let asking = requests(at_host.len(), |i| at_host[i] < HOST_BURSTS && gate.has_write(i, now));
        let chosen = self.write_arbiter.take(asking)? as usize;
        gate.initiators()[chosen].bursts.take().expect("an address comes with its data or before");
        at_host[chosen] += 1;
        Some(chosen)
    }

    fn accept_read(&mut self, now: Cycle) -> bool {
        let is_reading = self.edge.serial.as_ref().is_some_and(|serial| serial.is_reading);
        if is_reading || self.transport.waiting().1 == self.room {
            return false;
        }
        let Edge { gate, reading, .. } = &mut self.edge;
        let asking = requests(reading.len(), |i| reading[i] < HOST_BURSTS && gate.has_read(i, now));
        let chosen = self.read_arbiter.take(asking).map(|i| i as usize);
        let Some(read) = chosen.and_then(|i| gate.take_read(i, now)) else { return false };
        reading[read.from] += u32::from(read.last);
        if let Some(serial) = &mut self.edge.serial {
            serial.is_reading = read.last;
        }
        self.transport.read(read);
        true
    }
}

/// Write bursts in the mux.
#[derive(Default)]
struct Bursts {
    turn: LockingTree,
    /// Their initiators, in address order.
    order: VecDeque<usize>,
    /// Number of addresses that have been sent to the host.
    gone: usize,
}

/// Addresses that the register behind the arbiter holds.
const ADDRESS_REGISTER: usize = 2;

impl Bursts {
    /// Sends an address to the host and accepts another one. Returns true if anything changed.
    fn tick(&mut self, initiators: &[HostTarget], at_host: &mut [u32]) -> bool {
        let next = self.order.get(self.gone).copied();
        let goes = next.is_some_and(|i| at_host[i] < HOST_BURSTS);
        let waiting = self.order.len() - self.gone;
        if let Some(initiator) = next.filter(|_| goes) {
            at_host[initiator] += 1;
            self.gone += 1;
        }
        let asking = requests(initiators.len(), |i| initiators[i].bursts.has_item());
        let has_room = waiting < ADDRESS_REGISTER && self.order.len() < MUX_BURSTS;
        let taken = self.turn.take(asking, has_room && asking != 0).map(|i| i as usize);
        if let Some(initiator) = taken {
            initiators[initiator].bursts.take().expect("just seen");
            self.order.push_back(initiator);
        }
        goes || taken.is_some()
    }

    /// The initiator whose data may pass.
    fn writer(&self) -> Option<usize> {
        self.order.front().copied().filter(|_| self.gone > 0)
    }

    /// All data of the first burst has passed.
    fn end(&mut self) {
        if self.order.pop_front().is_some() {
            self.gone -= 1;
        }
    }
}

impl Component for Pcie {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.edge.begin_cycle(now);
        let translating = self.edge.gate.tick(now);
        let decided = !self.edge.gate.translates() && {
            let Edge { gate, at_host, .. } = &mut self.edge;
            self.bursts.tick(gate.initiators(), at_host)
        };
        let accepted = decided | self.accept_write(now) | self.accept_read(now);
        let moving = self.transport.tick(now, &mut self.edge);
        let answered = self.edge.answered.front().map_or(Activity::Idle, |&(at, _)| Activity::Until(at));
        let is_given = self.edge.given.iter().any(|given| given.contains(&true));
        let freed = earliest(answered, if is_given { Activity::Until(now + 1) } else { Activity::Idle });
        earliest(earliest(translating, freed), earliest(busy_if(accepted), moving))
    }

    fn ports(&self, ports: &mut Ports) {
        self.edge.gate.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.transport.counters(counters);
        self.edge.gate.counters(counters);
    }
}

#[cfg(test)]
mod tests;
