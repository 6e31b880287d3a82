//! The DMA engine at its node of the interconnect, PCIe, and the host behind it (4.1).

mod due;
mod fetch;
mod host;
mod link;
mod params;
mod receive;
mod rings;
mod transmit;

pub use params::DmaParams;

use crate::cells::Cells;
use crate::entry::{Entry, Sender};
use crate::protocol::{Flit, NodeId};
use crate::world::{Arrival, PortSource, SharedClassifier, SharedOutlet};
use host::{Doorbell, Host};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};
use link::{HostLink, Landed, ReadPurpose};
use receive::Receive;
use rings::{HostMemory, QueueLayout};
use transmit::{Transmit, TransmitWiring};

/// Connections of a [`Dma`].
pub struct DmaWiring {
    /// Its node.
    pub node: NodeId,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Clock frequency in whole Hz.
    pub clock_hz: u64,
    /// Packets from the interconnect.
    pub input: Rx<Flit>,
    /// Packets from applications: one source for each transmit queue from 0 on; queues without a source stay idle.
    pub sources: Vec<Box<dyn PortSource>>,
    /// The match-action program for packets of the host.
    pub classifier: SharedClassifier,
    /// Receives packets that are in host memory, and drops.
    pub outlet: SharedOutlet,
    /// Builds messages of the host's packets.
    pub entry: Entry,
    /// Sends into the interconnect.
    pub sender: Sender,
    /// The allocator, if packets hold their cells until here.
    pub cells: Option<Cells>,
}

/// Moves packets between the interconnect and rings of buffers in host memory.
///
/// Receive: a packet takes the next buffer of its queue, whose descriptor was prefetched. Its bytes are written as they arrive,
///          followed by its completion. It has left when its last byte is in host memory. It is dropped if its queue has no buffer
///          or if the buffer is too short.
/// Transmit: the host puts packets into rings and rings doorbells. Descriptors are prefetched. Packets are read whole into the
///           card's buffer, in round robin over the queues that have some. Then the classifier chooses the chain bound to the
///           queue, the completion is written, and the packet goes to the scheduler, or straight to its exit if it has no chain.
/// Ports:   `in` and `out`, one flit a cycle each; `bank_notes`.
/// Timing:  a flit taken in cycle t goes to PCIe in t once a beat of 64 bytes is complete; a packet whose last bytes arrive in
///          t may leave in t. With [`blocks::pcie::PcieModel::Ideal`] and a latency of 1, the last byte is in memory one cycle
///          after it leaves the interconnect, at the interconnect's full rate.
/// Fairness: one read is requested per cycle: first descriptors of receive queues, then descriptors of transmit queues, then a
///           packet. A packet write is not interrupted; completions of sent packets go between packets and first.
/// Source:  4.1. assumed: rings, completions and prefetch as NICs usually have them; the prototype used a third-party DMA
///          engine and was measured without it (6, 7.1).
/// Differs: doorbells occupy no lane time; there are no interrupts, the host sees completions at once.
pub struct Dma {
    link: HostLink,
    host: Host,
    receive: Receive,
    transmit: Transmit,
}

impl Dma {
    /// An engine with a host whose receive rings are full. The parameters must have passed their check.
    pub fn new(params: &DmaParams, wires: DmaWiring) -> Dma {
        let DmaWiring { node, flit_bytes, clock_hz, input, sources, classifier, outlet, entry, sender, cells } = wires;
        assert!(sources.len() <= params.tx_queues as usize, "each source needs a transmit queue");
        let places = QueueLayout::all(params);
        let (receives, transmits) = places.split_at(params.rx_queues as usize);
        let mut memory = HostMemory::default();
        let host = Host::new(params, sources, &mut memory);
        let receive = Receive::new(params, node, flit_bytes, input, outlet.clone(), cells, receives);
        let wires = TransmitWiring { node, flit_bytes, classifier, outlet, entry, sender };
        let transmit = Transmit::new(params, wires, transmits);
        Dma { link: HostLink::new(clock_hz, &params.pcie, memory), host, receive, transmit }
    }

    /// Runs the host's cycle and processes its doorbells.
    fn take_doorbells(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        if let Some((_, arrival)) = self.host.tick(now, self.link.memory()) {
            self.transmit.refuse(now, arrival);
            changed = true;
        }
        while let Some(doorbell) = self.host.doorbell(now) {
            match doorbell {
                Doorbell::Buffers { queue, total } => self.receive.posted(queue, total),
                Doorbell::Packets { queue, total } => self.transmit.posted(queue, total),
            }
            changed = true;
        }
        changed
    }

    /// Processes the answers to reads.
    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(answer) = self.link.answer(now) {
            let (first, bytes) = (answer.first, answer.bytes);
            match answer.purpose {
                ReadPurpose::Buffers { queue } => self.receive.buffers(queue, &bytes),
                ReadPurpose::Packets { queue } => self.transmit.packets(queue, &bytes),
                ReadPurpose::Packet { queue, buffer, id } => {
                    self.transmit.packet(now, queue, buffer, first, Arrival { id, bytes });
                }
            }
            changed = true;
        }
        changed
    }

    fn ask(&mut self, now: Cycle) -> bool {
        self.link.takes_read()
            && (self.receive.ask(&mut self.link)
                || self.transmit.ask(&mut self.link)
                || self.transmit.ask_packet(now, &mut self.link, &mut self.host))
    }

    /// Processes writes that have arrived in host memory.
    fn take_landed(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(landed) = self.link.landed(now) {
            match landed {
                Landed::Packet(message, addr) => self.receive.left(now, message, addr, self.link.memory()),
                Landed::Received { queue, slot, empty } => {
                    if let Some(message) = empty {
                        self.receive.left(now, message, 0, self.link.memory());
                    }
                    self.host.received(now, queue, slot);
                }
                Landed::Sent { queue } => self.host.sent(now, queue),
            }
            changed = true;
        }
        changed
    }
}

impl Component for Dma {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.transmit.take_bank_notes();
        let mut changed = self.take_doorbells(now);
        changed |= self.take_answers(now);
        changed |= self.transmit.complete(&mut self.link);
        changed |= self.receive.take(now, &mut self.link);
        changed |= self.receive.write(now, &mut self.link);
        changed |= self.ask(now);
        let next_flit = self.transmit.send(now);
        let moving = self.link.tick(now);
        changed |= self.take_landed(now);
        if changed || moving == Activity::Busy {
            return Activity::Busy;
        }
        let next = if let Activity::Until(at) = moving { Some(at) } else { None };
        match [next, next_flit, self.link.next(), self.host.next()].into_iter().flatten().min() {
            Some(next) if next <= now + 1 => Activity::Busy,
            Some(next) => Activity::Until(next),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        self.receive.ports(ports);
        self.transmit.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.receive.counters(counters);
        self.transmit.counters(counters);
        self.link.counters(counters);
    }
}

#[cfg(test)]
mod tests;
