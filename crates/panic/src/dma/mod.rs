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
use crate::world::{Arrival, PacketSource, SharedClassifier, SharedOutlet};
use host::{Doorbell, Host};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};
use link::{Asked, HostLink, Landed};
use receive::Receive;
use rings::{HostMemory, Place};
use transmit::{Transmit, TransmitWiring};

/// What a [`Dma`] is joined to.
pub struct DmaWiring {
    /// Its node.
    pub node: NodeId,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Its clock.
    pub clock_hz: u64,
    /// What comes out at the node.
    pub input: Rx<Flit>,
    /// What applications send: a source for each transmit queue from 0 on; queues without one are idle.
    pub sources: Vec<Box<dyn PacketSource>>,
    /// What is done with packets of the host.
    pub classifier: SharedClassifier,
    /// Takes what is in host memory, and hears of drops.
    pub outlet: SharedOutlet,
    /// Makes messages of the host's packets.
    pub entry: Entry,
    /// To the interconnect.
    pub sender: Sender,
    /// Where packets give back their cells, if they have them until here.
    pub cells: Option<Cells>,
}

/// Moves packets between the interconnect and rings of buffers in host memory.
///
/// Receive: a packet takes the next buffer of its queue, whose descriptor was read ahead; its bytes are written as they come, then
///          its completion. It has left when its last byte is in host memory. A queue without buffers drops it, and so does a
///          buffer that is shorter.
/// Transmit: the host puts packets into rings and rings doorbells. Descriptors are read ahead, packets of all queues that have
///          some in turns, each whole into the buffer of the card; then the classifier says what chain is bound to the
///          queue, its completion is written, and it goes to the scheduler, or straight out if there is no chain.
/// Ports:   `in` and `out`, a flit a cycle each; `bank_notes`.
/// Timing:  a flit taken in cycle t is given to PCIe in t as soon as a beat of 64 bytes is whole; a packet whose last bytes have
///          come in t may leave in t. With [`blocks::pcie::PcieModel::Ideal`] and a latency of 1 the last byte is in memory in
///          the cycle after it came out, at the full rate of the interconnect.
/// Fairness: one read is asked for a cycle: descriptors of receive queues, else of transmit queues, else a packet. A packet that is
///          being written is not interrupted; completions of sent packets go between packets, first.
/// Source:  4.1. assumed: rings, completions and read-ahead, as NICs usually have them; the prototype took its DMA engine from
///          elsewhere and was measured without it (6, 7.1).
/// Differs: doorbells take no room on the lanes; there are no interrupts, the host sees completions at once.
pub struct Dma {
    link: HostLink,
    host: Host,
    receive: Receive,
    transmit: Transmit,
}

impl Dma {
    /// An engine with a host whose receive rings are full. The parameters have passed their check.
    pub fn new(params: &DmaParams, wires: DmaWiring) -> Dma {
        let DmaWiring { node, flit_bytes, clock_hz, input, sources, classifier, outlet, entry, sender, cells } = wires;
        assert!(sources.len() <= params.tx_queues as usize, "a source has a transmit queue");
        let places = Place::all(params);
        let (receives, transmits) = places.split_at(params.rx_queues as usize);
        let mut memory = HostMemory::default();
        let host = Host::new(params, sources, &mut memory);
        let receive = Receive::new(params, node, flit_bytes, input, outlet.clone(), cells, receives);
        let wires = TransmitWiring { node, flit_bytes, classifier, outlet, entry, sender };
        let transmit = Transmit::new(params, wires, transmits);
        Dma { link: HostLink::new(clock_hz, &params.pcie, memory), host, receive, transmit }
    }

    /// The host does its part, and the card hears of it.
    fn hear(&mut self, now: Cycle) -> bool {
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

    /// What was read is here.
    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(answer) = self.link.answer(now) {
            let (first, bytes) = (answer.first, answer.bytes);
            match answer.asked {
                Asked::Buffers { queue } => self.receive.buffers(queue, &bytes),
                Asked::Packets { queue } => self.transmit.packets(queue, &bytes),
                Asked::Packet { queue, buffer, id } => {
                    self.transmit.packet(now, queue, buffer, first, Arrival { id, bytes });
                }
            }
            changed = true;
        }
        changed
    }

    fn ask(&mut self) -> bool {
        self.link.takes_read()
            && (self.receive.ask(&mut self.link)
                || self.transmit.ask(&mut self.link)
                || self.transmit.ask_packet(&mut self.link, &mut self.host))
    }

    /// What was written is in host memory.
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
        self.transmit.hear();
        let mut changed = self.hear(now);
        changed |= self.take_answers(now);
        changed |= self.receive.take(now);
        changed |= self.transmit.complete(&mut self.link);
        changed |= self.receive.write(&mut self.link);
        changed |= self.ask();
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
