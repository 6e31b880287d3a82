//! The way to host memory: translation, the mux in front of the PCIe link, and the link.

use crate::activity::{after, sooner};
use crate::arbiter::requests;
use crate::events::{HOST_READ, HOST_WRITTEN};
use crate::host_events::Notice;
use crate::host_link::{Bytes, HostData, HostTarget, HostWritten};
use crate::iommu::{SharedPageTables, TranslationCache};
use crate::params::{IommuParams, PcieModel, PcieParams};
use crate::world::HostMemory;
use blocks::policy::RoundRobinTree;
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Tx};

mod gate;
mod link;
mod sink;
mod wire;
use gate::{Gate, Read, Write};
use link::Link;
use sink::Sink;

/// The ports of a [`Pcie`].
pub struct PciePorts {
    /// One for each initiator.
    pub initiators: Vec<HostTarget>,
    /// What the host is told; room for two a cycle.
    pub notices: Tx<Notice>,
}

/// What of one direction is counted.
#[derive(Default)]
struct Direction {
    arbiter: RoundRobinTree,
    beats: Counter,
    bytes: Counter,
    first: Option<Cycle>,
    last: Cycle,
}

impl Direction {
    /// A beat gets to where it goes in cycle `due`.
    fn count(&mut self, due: Cycle, bytes: usize) {
        self.beats.add(1);
        self.bytes.add(bytes as u64);
        self.first.get_or_insert(due);
        self.last = due;
    }

    fn counters(&self, name: &str, counters: &mut CounterList) {
        counters.add(&format!("{name}_beats"), self.beats.total());
        counters.add(&format!("{name}_bytes"), self.bytes.total());
        counters.add(&format!("first_{name}_cycle"), self.first.unwrap_or(0));
        counters.add(&format!("last_{name}_cycle"), self.last);
    }
}

/// What a link deals with besides itself.
struct Ends {
    gate: Gate,
    memory: Box<dyn HostMemory>,
    trace: Tracer,
    writes: Direction,
    reads: Direction,
}

impl Ends {
    /// A beat is in host memory in cycle `at`; one that was refused goes nowhere.
    fn store(&mut self, at: Cycle, write: &Write) {
        if !write.refused {
            let (addr, bytes) = (write.beat.addr, &write.beat.bytes);
            self.memory.write(addr, bytes);
            self.trace.emit(&HOST_WRITTEN, at, &[addr, bytes.len() as u64]);
        }
    }

    /// Up to 64 bytes of host memory in cycle `at`; zeros where the access was refused.
    fn load(&mut self, at: Cycle, addr: u64, size: u32, refused: bool) -> Bytes {
        let mut bytes = Bytes::zeros(size as usize);
        if !refused {
            self.memory.read(addr, &mut bytes);
            self.trace.emit(&HOST_READ, at, &[addr, u64::from(size)]);
        }
        bytes
    }

    /// Tells initiator `i` that a write burst is done, if it can be told.
    fn respond(&self, i: usize) -> bool {
        let written = &self.gate.initiators()[i].written;
        let room = written.has_room();
        if room {
            written.send(HostWritten);
        }
        room
    }

    /// Whether initiator `i` takes read data.
    fn takes_data(&self, i: usize) -> bool {
        self.gate.initiators()[i].data.has_room()
    }

    fn give(&self, i: usize, data: HostData) {
        self.gate.initiators()[i].data.send(data);
    }
}

/// How bytes get from the card to the host and back.
trait Model {
    /// Beats and bursts that are accepted and have not started: writes, reads.
    fn waiting(&self) -> (usize, usize);
    /// Accepts a write beat.
    fn write(&mut self, write: Write);
    /// Accepts a read burst.
    fn read(&mut self, read: Read);
    /// Lives through a cycle.
    fn tick(&mut self, now: Cycle, ends: &mut Ends) -> Activity;
    /// Names its own counters.
    fn counters(&self, counters: &mut CounterList);
}

/// Reads and writes host memory for several initiators.
///
/// Ports:    for each initiator `writes[i]` and `reads[i]` in, `written[i]` and `data[i]` out; 1 beat a cycle each way.
///           `notices` out.
/// Timing:   as the model has it: [`sink`] and [`link`]; translation before that ([`gate`]).
/// Fairness: initiators take turns, a burst each.
/// Source:   PsPIN RTL a49fec8, `host_mst_mux.sv`.
/// Differs:  The mux decides when a burst's first data are here, not its address, so a short write of one initiator may
///           pass a burst of another whose data are on their way.
pub struct Pcie {
    /// Beats and bursts that wait for the link.
    room: usize,
    ends: Ends,
    /// The initiator in the middle of a write burst.
    writer: Option<usize>,
    model: Box<dyn Model>,
}

impl Pcie {
    /// A link to `memory`, shared by initiators, at a card's clock of `clock_mhz`.
    pub fn new(
        clock_mhz: u64,
        params: &PcieParams,
        iommu: &IommuParams,
        tables: SharedPageTables,
        ports: PciePorts,
        memory: Box<dyn HostMemory>,
        trace: Tracer,
    ) -> Self {
        let cache = iommu.enabled.then(|| TranslationCache::new(iommu.clone(), tables));
        let gate = Gate::new(cache, iommu.hit_cycles, ports.initiators, ports.notices, trace.clone());
        let model: Box<dyn Model> = match params.model {
            PcieModel::Tlp => Box::new(Link::new(clock_mhz, params)),
            PcieModel::Ideal | PcieModel::FixedRate => Box::new(Sink::new(clock_mhz, params)),
        };
        let (writes, reads) = (Direction::default(), Direction::default());
        let ends = Ends { gate, memory, trace, writes, reads };
        Pcie { room: params.buffer_beats as usize, ends, writer: None, model }
    }

    /// Accepts a write beat; the beats of a burst stay together.
    fn accept_write(&mut self, now: Cycle) -> bool {
        if self.model.waiting().0 == self.room {
            return false;
        }
        let Ends { gate, writes, .. } = &mut self.ends;
        let n = gate.initiators().len();
        let asks = |i: usize| gate.has_write(i, now);
        let chosen = match self.writer {
            Some(writer) => asks(writer).then_some(writer),
            None => writes.arbiter.take(requests(n, asks)).map(|i| i as usize),
        };
        let Some(write) = chosen.and_then(|i| gate.take_write(i, now)) else { return false };
        self.writer = (!write.beat.last).then_some(write.from);
        self.model.write(write);
        true
    }

    fn accept_read(&mut self, now: Cycle) -> bool {
        if self.model.waiting().1 == self.room {
            return false;
        }
        let Ends { gate, reads, .. } = &mut self.ends;
        let asking = requests(gate.initiators().len(), |i| gate.has_read(i, now));
        let chosen = reads.arbiter.take(asking).map(|i| i as usize);
        let Some(read) = chosen.and_then(|i| gate.take_read(i, now)) else { return false };
        self.model.read(read);
        true
    }
}

impl Component for Pcie {
    fn tick(&mut self, now: Cycle) -> Activity {
        let translating = self.ends.gate.tick(now);
        let accepted = self.accept_write(now) | self.accept_read(now);
        let moving = self.model.tick(now, &mut self.ends);
        sooner(translating, sooner(after(accepted), moving))
    }

    fn ports(&self, ports: &mut Ports) {
        self.ends.gate.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.ends.writes.counters("write", counters);
        self.ends.reads.counters("read", counters);
        self.model.counters(counters);
        self.ends.gate.counters(counters);
    }
}

#[cfg(test)]
mod tests;
