//! The way to host memory: translation, the mux in front of the PCIe link, and the link.

use crate::arbiter::requests;
use crate::events::{HOST_READ, HOST_WRITTEN};
use crate::host_events::Notice;
use crate::host_link::{HostData, HostTarget, HostWritten};
use crate::iommu::{SharedPageTables, TranslationCache};
use crate::params::IommuParams;
use crate::world::HostMemory;
use blocks::activity::{after, sooner};
use blocks::pcie::{Bytes, Ends, PcieParams, Transport};
use blocks::policy::RoundRobinTree;
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Tx};

mod gate;
use gate::Gate;

/// The ports of a [`Pcie`].
pub struct PciePorts {
    /// One for each initiator.
    pub initiators: Vec<HostTarget>,
    /// What the host is told; room for two a cycle.
    pub notices: Tx<Notice>,
}

/// What the link deals with besides itself.
struct Edge {
    gate: Gate,
    memory: Box<dyn HostMemory>,
    trace: Tracer,
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
        }
        room
    }

    fn takes_data(&self, from: usize) -> bool {
        self.gate.initiators()[from].data.has_room()
    }

    fn give(&mut self, from: usize, bytes: Bytes, last: bool) {
        self.gate.initiators()[from].data.send(HostData { bytes, last });
    }
}

/// Reads and writes host memory for several initiators.
///
/// Ports:    for each initiator `writes[i]` and `reads[i]` in, `written[i]` and `data[i]` out; 1 beat a cycle each way.
///           `notices` out.
/// Timing:   as the model has it: [`Transport`]; translation before that ([`gate`]).
/// Fairness: initiators take turns, a burst each.
/// Source:   PsPIN RTL a49fec8, `host_mst_mux.sv`.
/// Differs:  the mux decides when a burst's first data are here, not its address, so a short write of one initiator may
///           pass a burst of another whose data are on their way.
pub struct Pcie {
    /// Beats and bursts that wait for the link.
    room: usize,
    edge: Edge,
    write_arbiter: RoundRobinTree,
    read_arbiter: RoundRobinTree,
    /// The initiator in the middle of a write burst.
    writer: Option<usize>,
    transport: Transport,
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
        Pcie {
            room: params.buffer_beats as usize,
            edge: Edge { gate, memory, trace },
            write_arbiter: RoundRobinTree::default(),
            read_arbiter: RoundRobinTree::default(),
            writer: None,
            transport: Transport::new(clock_mhz, params),
        }
    }

    /// Accepts a write beat; the beats of a burst stay together.
    fn accept_write(&mut self, now: Cycle) -> bool {
        if self.transport.waiting().0 == self.room {
            return false;
        }
        let gate = &mut self.edge.gate;
        let n = gate.initiators().len();
        let asks = |i: usize| gate.has_write(i, now);
        let chosen = match self.writer {
            Some(writer) => asks(writer).then_some(writer),
            None => self.write_arbiter.take(requests(n, asks)).map(|i| i as usize),
        };
        let Some(write) = chosen.and_then(|i| gate.take_write(i, now)) else { return false };
        self.writer = (!write.last).then_some(write.from);
        self.transport.write(write);
        true
    }

    fn accept_read(&mut self, now: Cycle) -> bool {
        if self.transport.waiting().1 == self.room {
            return false;
        }
        let gate = &mut self.edge.gate;
        let asking = requests(gate.initiators().len(), |i| gate.has_read(i, now));
        let chosen = self.read_arbiter.take(asking).map(|i| i as usize);
        let Some(read) = chosen.and_then(|i| gate.take_read(i, now)) else { return false };
        self.transport.read(read);
        true
    }
}

impl Component for Pcie {
    fn tick(&mut self, now: Cycle) -> Activity {
        let translating = self.edge.gate.tick(now);
        let accepted = self.accept_write(now) | self.accept_read(now);
        let moving = self.transport.tick(now, &mut self.edge);
        sooner(translating, sooner(after(accepted), moving))
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
