//! The path from host memory to the interconnect.

use super::DmaParams;
use super::fetch::{FetchQueue, Ring};
use super::host::Host;
use super::link::{HostLink, Landed, ReadPurpose};
use super::rings::{Buffer, QueueLayout, completion};
use crate::drops::{DropCounts, DropReason};
use crate::entry::{Entry, Sender};
use crate::protocol::{Message, NodeId, n_flits};
use crate::world::{Arrival, ExternalPort, SharedClassifier, SharedOutlet, Verdict};
use kernel::trace::{Counter, Level};
use kernel::{CounterList, Cycle, Ports};
use std::collections::VecDeque;

/// Connections of a [`Transmit`].
pub struct TransmitWiring {
    /// Its node.
    pub node: NodeId,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// The match-action program, which binds a chain to each queue.
    pub classifier: SharedClassifier,
    /// Receives drops.
    pub outlet: SharedOutlet,
    /// Builds messages.
    pub entry: Entry,
    /// Sends into the interconnect.
    pub sender: Sender,
}

/// Reads packets from the rings of transmit queues, in round robin, and sends them.
pub struct Transmit {
    wires: TransmitWiring,
    rings: Vec<Ring>,
    line: FetchQueue,
    /// Queues with a prefetched descriptor, each at most once.
    ready: VecDeque<usize>,
    /// Flits of requested packets, and their number over time.
    requested_flits: usize,
    requested: Level,
    room: usize,
    /// Packets that have been read and whose completions are not written: queue, slot, bytes.
    done: VecDeque<(usize, u32, u32)>,
    /// Packets that wait to enter.
    held: VecDeque<Held>,
    n_packets: Counter,
    n_bytes: Counter,
    drops: DropCounts,
}

/// A packet that waits to enter.
struct Held {
    /// When its first bytes arrived.
    first: Cycle,
    /// Number of flits reserved for it.
    flits: usize,
    arrival: Arrival,
    verdict: Verdict,
}

impl Transmit {
    /// Reads the rings at `places`.
    pub fn new(params: &DmaParams, wires: TransmitWiring, places: &[QueueLayout]) -> Transmit {
        let rings = places.iter().map(|&place| Ring::new(place, params.prefetched)).collect();
        let (line, ready, requested_flits, requested, done, held, n_packets, n_bytes) = Default::default();
        let drops = DropCounts::new(&[DropReason::NoExit, DropReason::LongForHostBuffer]);
        let room = params.tx_flits as usize;
        Transmit { wires, rings, line, ready, requested_flits, requested, room, done, held, n_packets, n_bytes, drops }
    }

    /// Reads the scheduler's bank notes. Called at each tick.
    pub fn take_bank_notes(&mut self) {
        self.wires.entry.take_bank_notes();
    }

    /// The host has put packets into a ring.
    pub fn posted(&mut self, queue: usize, total: u32) {
        self.rings[queue].posted(total);
        self.line.join(queue, &mut self.rings[queue]);
    }

    /// Stores descriptors that were read.
    pub fn packets(&mut self, queue: usize, bytes: &[u8]) {
        if self.rings[queue].peek().is_none() {
            self.ready.push_back(queue);
        }
        self.rings[queue].take(bytes);
    }

    /// Requests descriptors if a queue wants some. Returns true if it did.
    pub fn ask(&mut self, link: &mut HostLink) -> bool {
        let Some((queue, addr, bytes)) = self.line.ask(&mut self.rings) else { return false };
        link.read(addr, bytes, ReadPurpose::Packets { queue });
        true
    }

    /// Reads the next packet if there is room for it. Returns true if it did.
    pub fn ask_packet(&mut self, now: Cycle, link: &mut HostLink, host: &mut Host) -> bool {
        let Some(&queue) = self.ready.front() else { return false };
        let buffer = self.rings[queue].peek().expect("a ready queue must have a descriptor");
        let n = n_flits(buffer.len as usize, self.wires.flit_bytes);
        if self.buffered_flits(now) + n > self.room {
            return false;
        }
        self.ready.pop_front();
        let ring = &mut self.rings[queue];
        ring.pop();
        if ring.peek().is_some() {
            self.ready.push_back(queue);
        }
        self.line.join(queue, ring);
        self.requested_flits += n;
        self.requested.set(now, self.requested_flits as u64);
        let id = host.id(queue);
        // An empty packet reads one byte, so that packets stay in order.
        link.read(buffer.addr, buffer.len.max(1), ReadPurpose::Packet { queue, buffer, id });
        true
    }

    /// A whole packet has been read; its first bytes arrived in cycle `first`.
    pub fn packet(
        &mut self,
        now: Cycle,
        queue: usize,
        Buffer { len, slot, .. }: Buffer,
        first: Cycle,
        mut arrival: Arrival,
    ) {
        let n_bytes = len as usize;
        arrival.bytes.truncate(n_bytes);
        self.done.push_back((queue, slot, len));
        self.n_packets.add(1);
        self.n_bytes.add(len.into());
        let side = ExternalPort::Host(queue as u16);
        let verdict = self.wires.classifier.borrow_mut().classify(now, side, &mut arrival.bytes);
        let flits = n_flits(n_bytes, self.wires.flit_bytes);
        self.held.push_back(Held { first, flits, arrival, verdict });
        self.admit(now);
    }

    /// Lets waiting packets enter as far as possible.
    fn admit(&mut self, now: Cycle) {
        while self.held.front().is_some_and(|held| self.wires.entry.admits(now, &held.verdict)) {
            let Held { first, flits, arrival, verdict } = self.held.pop_front().expect("one waits");
            self.requested_flits -= flits;
            self.requested.set(now, self.requested_flits as u64);
            match self.wires.entry.message(first, self.wires.node, arrival, verdict) {
                Ok(message) => self.wires.sender.push(now, now, message),
                Err(message) => self.drop(now, *message, DropReason::NoExit),
            }
        }
    }

    /// Drops a packet of the host that fits no buffer.
    pub fn refuse(&mut self, now: Cycle, arrival: Arrival) {
        let nothing = Verdict {
            chain: Default::default(),
            exit: None,
            flow: 0,
            class: 0,
            slack_cycles: 0,
            fields: Default::default(),
        };
        let (Ok(message) | Err(message)) = self.wires.entry.message(now, self.wires.node, arrival, nothing);
        self.drop(now, *message, DropReason::LongForHostBuffer);
    }

    fn drop(&mut self, now: Cycle, message: Message, reason: DropReason) {
        self.drops.add(reason);
        self.wires.outlet.borrow_mut().drop(now, message, reason);
    }

    /// Writes a completion if there is one and the link accepts it. Returns true if it did.
    pub fn complete(&mut self, link: &mut HostLink) -> bool {
        if link.is_open() || !link.takes_write() {
            return false;
        }
        let Some((queue, slot, len)) = self.done.pop_front() else { return false };
        let (addr, number) = self.rings[queue].complete();
        link.write(addr, &completion(slot, len, 0, number), true, Some(Landed::Sent { queue }));
        true
    }

    /// Sends a flit if possible. Returns when there is more to do: at once if the freed room may be wanted.
    pub fn send(&mut self, now: Cycle) -> Option<Cycle> {
        // A packet that `admit` drops frees room too, without a flit to send.
        let before = self.buffered_flits(now);
        self.admit(now);
        let next = self.wires.sender.send(now);
        if !self.held.is_empty() {
            return Some(now + 1);
        }
        if self.buffered_flits(now + 1) < before { Some(now + 1) } else { next }
    }

    /// Number of flits requested or waiting to be sent when cycle `now` begins.
    fn buffered_flits(&self, now: Cycle) -> usize {
        self.requested_flits + self.wires.sender.waiting(now)
    }

    /// Names the ports.
    pub fn ports(&self, ports: &mut Ports) {
        self.wires.entry.ports(ports);
        self.wires.sender.ports(ports);
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("transmit.packets", self.n_packets.total());
        counters.add("transmit.bytes", self.n_bytes.total());
        let end = counters.now() + 1;
        let cycles = self.requested.total(end) + self.wires.sender.buffered_before(end);
        let limit = "the buffer for packets from the host";
        counters.held_for("transmit.buffered_flit_cycles", cycles, self.room as u64, limit);
        self.drops.counters(counters, "transmit.drops.", "");
    }
}
