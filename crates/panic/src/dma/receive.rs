//! The path from the interconnect to host memory.

use super::DmaParams;
use super::fetch::{FetchQueue, Ring};
use super::link::{HostLink, Landed, ReadPurpose};
use super::rings::{Buffer, HostMemory, QueueLayout, completion};
use crate::cells::Cells;
use crate::drops::{DropCounts, DropReason};
use crate::protocol::{Flit, Leg, Message, NodeId, PacketStep};
use crate::world::{ExternalPort, SharedOutlet};
use blocks::pcie::Bytes;
use kernel::trace::{Counter, Level};
use kernel::{CounterList, Cycle, Ports, Rx};
use std::collections::VecDeque;

/// Size of a write beat.
pub const BEAT: usize = 64;

/// Takes packets from the interconnect and writes them into their queues' buffers.
pub struct Receive {
    node: NodeId,
    flit_bytes: usize,
    input: Rx<Flit>,
    outlet: SharedOutlet,
    cells: Option<Cells>,
    rings: Vec<Ring>,
    line: FetchQueue,
    /// Packets that are arriving or waiting, in order.
    packets: VecDeque<Incoming>,
    /// The packet being dropped, until its tail arrives.
    dropped: Option<(Box<Message>, DropReason)>,
    /// Flits that wait for PCIe, their number over time, and their limit. A flit counts in the cycle in which it goes to the link.
    held: usize,
    buffered: Level,
    /// The cycle after the last run of flits, until `buffered` records that the run has ended.
    run_end: Option<Cycle>,
    room: usize,
    n_packets: Counter,
    n_bytes: Counter,
    drops: DropCounts,
    /// Packets dropped by units.
    unit_drops: Counter,
}

struct Incoming {
    /// Present until its last byte has gone to the link.
    message: Option<Box<Message>>,
    len: usize,
    hash: u32,
    queue: usize,
    buffer: Buffer,
    /// Bytes that have arrived.
    come: usize,
    is_whole: bool,
    /// Bytes handed to the link.
    written: usize,
    /// Flits held for it.
    held: usize,
}

impl Receive {
    /// Receives from `input`. Before time 0 the host has filled the rings and the card has prefetched descriptors.
    pub fn new(
        params: &DmaParams,
        node: NodeId,
        flit_bytes: usize,
        input: Rx<Flit>,
        outlet: SharedOutlet,
        cells: Option<Cells>,
        places: &[QueueLayout],
    ) -> Receive {
        let ring = |&place: &QueueLayout| Ring::filled(place, params.prefetched, params.ring_slots);
        let rings = places.iter().map(ring).collect();
        let (line, packets, dropped, held, buffered, run_end) = Default::default();
        let (n_packets, n_bytes, unit_drops) = Default::default();
        let drops = DropCounts::new(&[DropReason::NoHostBuffer, DropReason::LongForHostBuffer]);
        let room = params.rx_flits as usize;
        Receive {
            node,
            flit_bytes,
            input,
            outlet,
            cells,
            rings,
            line,
            packets,
            dropped,
            held,
            buffered,
            run_end,
            room,
            n_packets,
            n_bytes,
            drops,
            unit_drops,
        }
    }

    /// The host has put buffers into a ring.
    pub fn posted(&mut self, queue: usize, total: u32) {
        self.rings[queue].posted(total);
        self.line.join(queue, &mut self.rings[queue]);
    }

    /// Stores descriptors that were read.
    pub fn buffers(&mut self, queue: usize, bytes: &[u8]) {
        self.rings[queue].take(bytes);
    }

    /// Requests descriptors if a queue wants some. Returns true if it did.
    pub fn ask(&mut self, link: &mut HostLink) -> bool {
        let Some((queue, addr, bytes)) = self.line.ask(&mut self.rings) else { return false };
        link.read(addr, bytes, ReadPurpose::Buffers { queue });
        true
    }

    /// Takes a flit from the interconnect if possible, or a run of them, which goes to the link at once. Returns true if it took
    /// one flit.
    pub fn take(&mut self, now: Cycle, link: &mut HostLink) -> bool {
        if !self.input.is_due(now) {
            return false;
        }
        let is_descriptor = match self.input.peek().as_deref() {
            None => return false,
            Some(Flit::Head(_)) => true,
            Some(Flit::Body | Flit::Tail) => false,
        };
        if is_descriptor {
            return self.begin(now);
        }
        if self.dropped.is_some() {
            if self.input.take() == Some(Flit::Tail) {
                self.drop(now);
            }
            return true;
        }
        if self.held == self.room || self.take_run(now, link) {
            return false;
        }
        let is_whole = self.input.take_due(now) == Some(Flit::Tail);
        let packet = self.packets.back_mut().expect("a message must begin with its descriptor");
        packet.is_whole = is_whole;
        packet.come = if is_whole { packet.len } else { packet.len.min(packet.come + self.flit_bytes) };
        packet.held += 1;
        self.held += 1;
        self.note_held(now);
        true
    }

    /// The number of held flits is `held` from this cycle on.
    fn note_held(&mut self, now: Cycle) {
        if let Some(end) = self.run_end.take() {
            self.buffered.set(end, 0);
        }
        self.buffered.set(now, self.held as u64);
    }

    /// Takes a run of flits, each of which is a beat that the link accepts in its cycle, if all earlier bytes have gone to the link.
    /// Each flit counts as held for one cycle.
    fn take_run(&mut self, now: Cycle, link: &mut HostLink) -> bool {
        let is_behind = self.packets.len() > 1 || self.held > 0;
        if !self.input.has_run() || is_behind || self.flit_bytes != BEAT || !link.takes_run(now) {
            return false;
        }
        let packet = self.packets.front_mut().expect("a message must begin with its descriptor");
        if packet.written == 0 && link.is_open() {
            return false;
        }
        let before = packet.written;
        let n_flits = self.input.take_run(now, usize::MAX);
        packet.written += n_flits * BEAT;
        packet.come = packet.written;
        let message = packet.message.as_ref().expect("a packet with unwritten bytes must have its message");
        link.write_run(now, packet.buffer.addr + before as u64, &message.data[before..packet.written]);
        self.note_held(now);
        self.buffered.set(now, 1);
        self.run_end = Some(now + n_flits as Cycle);
        true
    }

    /// Takes a descriptor if the packet's buffer is known. Returns true if it did.
    fn begin(&mut self, now: Cycle) -> bool {
        let (leg, side, len) = match self.input.peek().as_deref() {
            Some(Flit::Head(message)) => (message.leg, message.descriptor.side, message.data.len()),
            _ => panic!("a descriptor must be there"),
        };
        let buffer = match (leg, side) {
            (Leg::Dropped(reason), _) => Err(reason),
            (_, ExternalPort::Network(_)) => panic!("packets to the network must use another exit"),
            (_, ExternalPort::Host(queue)) => match self.buffer(queue.into(), len) {
                Some(buffer) => buffer.map(|buffer| (usize::from(queue), buffer)),
                None => return false, // The descriptor is on its way.
            },
        };
        let Some(Flit::Head(mut message)) = self.input.take() else { panic!("a descriptor must be there") };
        if let Some(cells) = &self.cells {
            cells.leaves(now, &message);
        }
        match buffer {
            Err(reason) => self.dropped = Some((message, reason)),
            Ok((queue, buffer)) => {
                message.descriptor.trail.mark(now, PacketStep::Leaving, self.node);
                let hash = message.descriptor.fields.hash;
                let (come, is_whole, written, held) = Default::default();
                let message = Some(message);
                self.packets.push_back(Incoming { message, len, hash, queue, buffer, come, is_whole, written, held });
            }
        }
        true
    }

    /// Takes the next buffer of a queue for a packet of `len` bytes, or returns the drop reason; `None` while the descriptor is
    /// on its way.
    fn buffer(&mut self, queue: usize, len: usize) -> Option<Result<Buffer, DropReason>> {
        let Some(ring) = self.rings.get_mut(queue).filter(|ring| ring.has_any()) else {
            return Some(Err(DropReason::NoHostBuffer));
        };
        let buffer = ring.peek()?;
        if len > buffer.len as usize {
            return Some(Err(DropReason::LongForHostBuffer));
        }
        ring.pop();
        self.line.join(queue, ring);
        Some(Ok(buffer))
    }

    fn drop(&mut self, now: Cycle) {
        let (message, reason) = self.dropped.take().expect("a drop must be pending");
        match message.leg {
            Leg::Dropped(_) => self.unit_drops.add(1),
            _ => self.drops.add(reason),
        }
        self.outlet.borrow_mut().drop(now, *message, reason);
    }

    /// Writes as many beats per cycle as fit a flit's width, at least one, if the link accepts them. Returns true if it wrote
    /// any.
    pub fn write(&mut self, now: Cycle, link: &mut HostLink) -> bool {
        let mut beats = self.flit_bytes.div_ceil(BEAT);
        let before = self.held;
        let mut changed = false;
        while beats > 0 && link.takes_write() && self.write_beat(link) {
            (beats, changed) = (beats - 1, true);
        }
        if self.held < before {
            self.note_held(now + 1);
        }
        changed
    }

    fn write_beat(&mut self, link: &mut HostLink) -> bool {
        let Some(packet) = self.packets.front_mut() else { return false };
        let Incoming { buffer, written, len, .. } = *packet;
        if written == len && packet.is_whole {
            return self.write_completion(link);
        }
        let n = (packet.come - written).min(BEAT);
        if n == 0 || (n < BEAT && !packet.is_whole) || (written == 0 && link.is_open()) {
            return false;
        }
        packet.written += n;
        let is_last = packet.written == len;
        let before = written / self.flit_bytes;
        let freed = if is_last { packet.held } else { packet.written / self.flit_bytes - before };
        packet.held -= freed;
        self.held -= freed;
        let addr = buffer.addr + written as u64;
        let message = packet.message.as_ref().expect("a packet with unwritten bytes must have its message");
        let bytes = Bytes::from_slice(&message.data[written..written + n]);
        let landed =
            if is_last { packet.message.take().map(|message| Landed::Packet(message, buffer.addr)) } else { None };
        link.write(addr, &bytes, is_last, landed);
        true
    }

    fn write_completion(&mut self, link: &mut HostLink) -> bool {
        let Incoming { message, queue, buffer, len, hash, held, .. } =
            self.packets.pop_front().expect("a packet must be complete");
        self.held -= held;
        let (addr, number) = self.rings[queue].complete();
        let landed = Landed::Received { queue, slot: buffer.slot, empty: message };
        link.write(addr, &completion(buffer.slot, len as u32, hash, number), true, Some(landed));
        true
    }

    /// All bytes of a packet are in host memory; passes them to the outlet.
    pub fn left(&mut self, now: Cycle, mut message: Box<Message>, addr: u64, memory: &HostMemory) {
        memory.read(addr, &mut message.data);
        message.descriptor.trail.mark(now, PacketStep::Left, self.node);
        self.n_packets.add(1);
        self.n_bytes.add(message.data.len() as u64);
        let side = message.descriptor.side;
        self.outlet.borrow_mut().leave(now, side, *message);
    }

    /// Names the port.
    pub fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.n_packets.total());
        counters.add("bytes", self.n_bytes.total());
        counters.add("unit_drops", self.unit_drops.total());
        let end = counters.now() + 1;
        let cycles = self.buffered.total(self.run_end.map_or(end, |run_end| end.min(run_end)));
        counters.held_for("buffered_flit_cycles", cycles, self.room as u64, "the buffer for packets to the host");
        self.drops.counters(counters, "drops.", "");
    }
}
