//! MAC assist that transmits: from descriptors and buffers in memory to the line.

use super::asked::Asked;
use super::line::Line;
use super::pieces::piece;
use super::protocol::{Attention, Buffers, TransmitOrder, TransmitProgress};
use super::ring::Ring;
use crate::bus::{Access, BusError, Data, Requester, word};
use crate::checks;
use crate::ethernet::Frame;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Time, Tx};
use std::collections::VecDeque;

/// A transmitting MAC assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacTransmitParams {
    /// Bits a second of the line.
    pub link_bps: u64,
    /// Descriptors of the ring, 8 bytes each.
    pub ring_entries: u32,
    /// Descriptors that are read while another one's bytes are.
    pub descriptors_ahead: usize,
    /// Bytes between memory and line: what was asked and has not left.
    pub buffer_bytes: u32,
    /// A frame starts when this many of its bytes are there, or all.
    pub start_bytes: u32,
    /// Longest reference to memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// References to memory under way.
    pub memory_references: usize,
}

impl Module for MacTransmitParams {
    const NAME: &'static str = "mac-transmit";
    const ABOUT: &'static str = "Sends frames that a ring of descriptors points to, at the rate of the line";
    const EXAMPLE: &'static str = r#"link_bps = 1_000_000_000
ring_entries = 256
descriptors_ahead = 1
buffer_bytes = 2048
start_bytes = 1024
memory_burst_bytes = 8
memory_references = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<TransmitOrder>>("orders"),
            PortSpec::from::<OneWay<TransmitProgress>>("progress"),
            PortSpec::from::<Memory>("memory"),
            PortSpec::from::<Memory>("descriptors").optional(),
            PortSpec::from::<OneWay<Frame>>("wire"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        Line::check(self.link_bps)?;
        checks::within("ring_entries", self.ring_entries, 2, 1 << 16)?;
        checks::count("descriptors_ahead", self.descriptors_ahead, 0, 1024)?;
        checks::count("memory_references", self.memory_references, 1, 1024)?;
        checks::power_of_two("memory_burst_bytes", self.memory_burst_bytes, 4, 1 << 14)?;
        let least = self.memory_burst_bytes;
        checks::within("buffer_bytes (at least memory_burst_bytes)", self.buffer_bytes, least, 1 << 20)?;
        let most = self.buffer_bytes - self.memory_burst_bytes + 1;
        checks::within("start_bytes (and a reference fit the buffer)", self.start_bytes, 1, most)
    }

    fn build(self, site: &mut Site) -> Built {
        let clock = site.system.edges(site.clock);
        Built::new(MacTransmit::new(
            self,
            clock,
            MacTransmitPorts {
                orders: site.to::<OneWay<TransmitOrder>>("orders"),
                progress: site.from::<OneWay<TransmitProgress>>("progress"),
                memory: site.from::<Memory>("memory"),
                descriptors: site.try_from::<Memory>("descriptors"),
                wire: site.from::<OneWay<Frame>>("wire"),
            },
        ))
    }
}

/// The ports of a [`MacTransmit`].
pub struct MacTransmitPorts {
    /// What it is told.
    pub orders: Rx<TransmitOrder>,
    /// What it tells.
    pub progress: Tx<TransmitProgress>,
    /// Where frames stand.
    pub memory: Requester,
    /// Where descriptors stand, if not in `memory`.
    pub descriptors: Option<Requester>,
    /// The line.
    pub wire: Tx<Frame>,
}

/// What a reply is for.
#[derive(Clone, Copy)]
enum Use {
    Descriptor,
    /// So many bytes of the first piece that waits for some.
    Bytes(u32),
}

/// Bytes in memory that are part of a frame.
struct Piece {
    addr: u64,
    bytes: u32,
    asked: u32,
    come: u32,
    /// The entry behind its descriptor.
    after: u32,
    vlan: Option<u16>,
    /// Whether the frame ends with it.
    is_last: bool,
}

/// A frame of which there are bytes.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    is_whole: bool,
    is_broken: bool,
    /// From when on it could start, and when its preamble starts.
    ready: Option<Time>,
    start: Option<Time>,
}

/// Bytes of a preamble with its start delimiter. Source: IEEE 802.3, 3.1.1.
const PREAMBLE_BYTES: u64 = 8;
/// Bytes of a gap between frames. Source: IEEE 802.3, 4.4.2.
const GAP_BYTES: u64 = 12;
/// Bytes of a descriptor: word 0 is the address and flags, word 1 tag and length. Source: docs/machines/tigon2.md.
const DESCRIPTOR_BYTES: u32 = 8;
/// Bit of word 0: a VLAN tag is inserted. Source: docs/machines/tigon2.md.
const INSERT_TAG: u32 = 1 << 30;
/// Bit of word 0: the frame goes on in the next descriptor.
/// assumed: the Tigon-2's firmware never sets it; the 10 Gigabit NIC's frames are of two pieces (Willmann 2004, 4.2).
const GOES_ON: u32 = 1 << 31;

/// Sends frames in the order of their descriptors.
///
/// Ports:   `orders` in, `progress` out; `memory`, and `descriptors` if they stand elsewhere than the frames: one
///          reference a cycle on each; `wire` out, a frame at the end of its last bit.
/// Timing:  a frame is read when all of it is in the buffers; it starts when `start_bytes` of it are read and the gap behind the last one is over; bytes leave at the
///          exact rate of the line. Frames in sequence take their bytes, check sequence, preamble and gap.
/// Done:    an entry is done when its frame's last byte has been read from memory.
/// Source:  Willmann 2004, table 3.3 (MAC assist); docs/machines/tigon2.md; IEEE 802.3.
/// Differs: no flow control frames.
pub struct MacTransmit {
    params: MacTransmitParams,
    line: Line,
    clock: Clock,
    memory: Asked<(u32, Use)>,
    descriptors: Option<Asked<(u32, Use)>>,
    orders: Rx<TransmitOrder>,
    progress: Tx<TransmitProgress>,
    wire: Tx<Frame>,
    ring: Ring,
    buffers: Buffers,
    /// Bytes before this address are there, if anybody says so.
    filled: Option<u64>,
    /// Where the next frame stands.
    next_frame: u64,
    vlan_type: u16,
    is_enabled: bool,
    /// The entry whose descriptor is being read, and the bytes that are asked and that came.
    reading: Option<(u32, u32, Data)>,
    pieces: VecDeque<Piece>,
    frames: VecDeque<Outgoing>,
    attentions: VecDeque<Attention>,
    /// When the next preamble may start.
    line_free: Time,
    /// Counts resets: what was asked before one is of no use.
    life: u32,
    n_frames: u64,
    bytes: u64,
    underruns: u64,
    bad_descriptors: u64,
    failures: u64,
}

impl MacTransmit {
    /// An assist that is not enabled; `clock` drives it.
    pub fn new(params: MacTransmitParams, clock: Clock, ports: MacTransmitPorts) -> MacTransmit {
        let MacTransmitPorts { orders, progress, memory, descriptors, wire } = ports;
        MacTransmit {
            line: Line::new(params.link_bps),
            clock,
            memory: Asked::new(memory, params.memory_references),
            descriptors: descriptors.map(|port| Asked::new(port, params.memory_references)),
            orders,
            progress,
            wire,
            ring: Ring::new(params.ring_entries),
            buffers: Buffers::default(),
            filled: None,
            next_frame: 0,
            vlan_type: 0x8100,
            is_enabled: false,
            reading: None,
            pieces: VecDeque::new(),
            frames: VecDeque::new(),
            attentions: VecDeque::new(),
            line_free: Time::ZERO,
            life: 0,
            n_frames: 0,
            bytes: 0,
            underruns: 0,
            bad_descriptors: 0,
            failures: 0,
            params,
        }
    }

    fn obey(&mut self, order: TransmitOrder) {
        match order {
            TransmitOrder::Reset => {
                self.life = self.life.wrapping_add(1);
                self.reading = None;
                self.pieces.clear();
                // What is on the line goes on; what has not started is gone.
                self.frames.retain(|frame| frame.start.is_some() && frame.is_whole);
                self.attentions.clear();
                (self.ring.producer, self.ring.next) = (0, 0);
            }
            TransmitOrder::Enable(is_enabled) => self.is_enabled = is_enabled,
            TransmitOrder::Ring(base) => self.ring.base = base,
            TransmitOrder::Buffers(buffers) => self.buffers = buffers,
            TransmitOrder::Producer(index) => self.ring.fill_to(index),
            TransmitOrder::Consumer(index) => self.ring.go_to(index),
            TransmitOrder::BufferProducer(addr) => self.filled = Some(addr),
            TransmitOrder::BufferConsumer(addr) => self.next_frame = addr,
            TransmitOrder::VlanType(vlan_type) => self.vlan_type = vlan_type,
        }
    }

    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut any = false;
        loop {
            let descriptor = self.descriptors.as_mut().and_then(Asked::answer);
            let Some(((life, what), result)) = descriptor.or_else(|| self.memory.answer()) else { return any };
            any = true;
            if life == self.life {
                self.take_answer(now, what, result);
            }
        }
    }

    fn take_answer(&mut self, now: Cycle, what: Use, result: Result<Data, BusError>) {
        let error = result.as_ref().err().copied();
        if let Some(error) = error {
            self.failures += 1;
            self.attentions.push_back(Attention::Memory(error));
        }
        match what {
            Use::Descriptor => match result {
                Ok(data) => self.take_descriptor(&data),
                // The entry is passed over.
                Err(_) => self.reading = None,
            },
            // Bytes that memory refused are zeros in a broken frame.
            Use::Bytes(bytes) => {
                let data = result.unwrap_or_else(|_| Data::from_elem(0, bytes as usize));
                self.take_bytes(now, &data, error.is_some());
            }
        }
    }

    fn take_descriptor(&mut self, data: &Data) {
        let (index, asked, mut bytes) = self.reading.take().expect("a descriptor is being read");
        bytes.extend_from_slice(data);
        if bytes.len() < DESCRIPTOR_BYTES as usize {
            self.reading = Some((index, asked, bytes));
            return;
        }
        let (first, second) = (word(&bytes[..4]), word(&bytes[4..8]));
        let bytes = second & 0xffff;
        if bytes == 0 {
            self.bad_descriptors += 1;
            self.attentions.push_back(Attention::Descriptor);
            return;
        }
        self.pieces.push_back(Piece {
            addr: u64::from(first & !(INSERT_TAG | GOES_ON)),
            bytes,
            asked: 0,
            come: 0,
            after: self.ring.after(index),
            vlan: (first & INSERT_TAG != 0).then_some((second >> 16) as u16),
            is_last: first & GOES_ON == 0,
        });
    }

    fn take_bytes(&mut self, now: Cycle, data: &Data, is_broken: bool) {
        let at = self.clock.edge(now);
        let piece = self.pieces.iter_mut().find(|piece| piece.come < piece.bytes).expect("a piece asked for it");
        if self.frames.back().is_none_or(|frame| frame.is_whole) {
            self.frames.push_back(Outgoing::default());
        }
        let frame = self.frames.back_mut().expect("there is one");
        frame.is_broken |= is_broken;
        let due = frame.start.map(|start| start + self.line.time(PREAMBLE_BYTES + frame.bytes.len() as u64));
        if due.is_some_and(|due| at > due) && !frame.is_broken {
            frame.is_broken = true;
            self.underruns += 1;
            self.attentions.push_back(Attention::Underrun);
        }
        frame.bytes.extend_from_slice(data);
        piece.come += data.len() as u32;
        if piece.come == piece.bytes && piece.is_last {
            frame.finish(piece.vlan.map(|tag| (self.vlan_type, tag)));
        }
        if frame.is_whole || frame.bytes.len() >= self.params.start_bytes as usize {
            frame.ready.get_or_insert(at);
        }
    }

    /// Tells of frames that have been read, and of what needs attention.
    fn report(&mut self) -> bool {
        let mut any = false;
        while let Some(&attention) = self.attentions.front() {
            if !self.progress.has_room() {
                return any;
            }
            self.attentions.pop_front();
            self.progress.send(TransmitProgress::Attention(attention));
            any = true;
        }
        while let Some(piece) = self.pieces.front().filter(|piece| piece.come == piece.bytes) {
            if piece.is_last {
                if !self.progress.has_room() {
                    return any;
                }
                let end = self.buffers.after(piece.addr, u64::from(piece.bytes.next_multiple_of(8)));
                self.progress.send(TransmitProgress::Consumer(piece.after, end));
            }
            self.pieces.pop_front();
            any = true;
        }
        any
    }

    fn begin(&mut self) -> bool {
        let unread = self.pieces.iter().filter(|piece| piece.come < piece.bytes).count();
        let may = self.is_enabled && self.reading.is_none() && unread <= self.params.descriptors_ahead;
        if !may || self.ring.is_empty() {
            return false;
        }
        let index = self.ring.next;
        self.ring.next = self.ring.after(index);
        self.reading = Some((index, 0, Data::new()));
        true
    }

    fn ask_descriptor(&mut self, now: Cycle) {
        let MacTransmit { params, memory, descriptors, ring, reading, life, .. } = self;
        let Some((index, asked, _)) = reading else { return };
        let port = descriptors.as_mut().unwrap_or(memory);
        if *asked < DESCRIPTOR_BYTES && port.is_free(now) {
            let addr = ring.addr(*index, DESCRIPTOR_BYTES) + u64::from(*asked);
            let bytes = piece(addr, DESCRIPTOR_BYTES - *asked, params.memory_burst_bytes);
            port.ask(now, addr, Access::Read(bytes), (*life, Use::Descriptor));
            *asked += bytes;
        }
    }

    /// Asks for the next bytes; if the buffer is full, says when it will have room.
    fn ask_bytes(&mut self, now: Cycle) -> Option<Time> {
        let asked: u64 = self.pieces.iter().map(|piece| u64::from(piece.asked - piece.come)).sum();
        let held: u64 = self.frames.iter().map(|frame| frame.bytes.len() as u64).sum();
        let at = self.clock.edge(now);
        let gone = self.frames.front().map_or(0, |frame| frame.gone(at, self.line));
        let MacTransmit { params, memory, pieces, buffers, filled, next_frame, life, .. } = self;
        let piece = pieces.iter_mut().find(|piece| piece.asked < piece.bytes)?;
        // Frames stand one behind the other, each on a multiple of 8 bytes; firmware may announce one before it is there.
        let end = buffers.after(piece.addr, u64::from(piece.bytes).next_multiple_of(8));
        let is_there = |filled: u64| {
            let filled = buffers.after(filled, filled.next_multiple_of(8) - filled);
            buffers.distance(*next_frame, end) <= buffers.distance(*next_frame, filled)
        };
        if piece.asked == 0 && filled.is_some_and(|filled| !is_there(filled)) {
            return None;
        }
        let (addr, bytes) = buffers.piece(piece.addr, piece.asked, piece.bytes, params.memory_burst_bytes);
        let over = (asked + held + u64::from(bytes)).saturating_sub(u64::from(params.buffer_bytes));
        if over > gone {
            let start = self.frames.front()?.start?;
            return Some(start + self.line.time(PREAMBLE_BYTES + over));
        }
        if memory.is_free(now) {
            memory.ask(now, addr, Access::Read(bytes), (*life, Use::Bytes(bytes)));
            piece.asked += bytes;
            if piece.asked == piece.bytes {
                *next_frame = end;
            }
        }
        None
    }

    /// Starts the first frame that has not started, if it can, and hands over those that have left; says when to look
    /// again.
    fn transmit(&mut self, now: Cycle) -> Option<Time> {
        let at = self.clock.edge(now);
        loop {
            let frame = self.frames.front_mut()?;
            let start = match (frame.start, frame.ready) {
                (Some(start), _) => start,
                (None, Some(ready)) => *frame.start.insert(self.line_free.max(ready)),
                (None, None) => return None,
            };
            if !frame.is_whole {
                return None;
            }
            let len = frame.bytes.len() as u64 + u64::from(Frame::FCS_BYTES);
            let end = start + self.line.time(PREAMBLE_BYTES + len);
            if at < end {
                return Some(end);
            }
            if !self.wire.has_room() {
                return None;
            }
            self.line_free = start + self.line.time(PREAMBLE_BYTES + len + GAP_BYTES);
            let Outgoing { bytes, is_broken, .. } = self.frames.pop_front().expect("there is one");
            self.wire.send(Frame { id: self.n_frames, bytes: bytes.into(), is_intact: !is_broken });
            self.n_frames += 1;
            self.bytes += len;
        }
    }
}

impl Outgoing {
    /// All bytes are there: the tag is inserted, the frame padded.
    fn finish(&mut self, tag: Option<(u16, u16)>) {
        if let Some((vlan_type, tag)) = tag.filter(|_| self.bytes.len() >= 12) {
            let tag = u32::from(vlan_type) << 16 | u32::from(tag);
            self.bytes.splice(12..12, tag.to_be_bytes());
        }
        if self.bytes.len() < Frame::LEAST_BYTES {
            self.bytes.resize(Frame::LEAST_BYTES, 0);
        }
        self.is_whole = true;
    }

    /// Bytes that have left at this time.
    fn gone(&self, at: Time, line: Line) -> u64 {
        let Some(start) = self.start.filter(|&start| start < at) else { return 0 };
        line.bytes(at - start).saturating_sub(PREAMBLE_BYTES).min(self.bytes.len() as u64)
    }
}

impl Component for MacTransmit {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut acted = false;
        while let Some(order) = self.orders.take() {
            self.obey(order);
            acted = true;
        }
        acted |= self.take_answers(now);
        acted |= self.report();
        acted |= self.begin();
        self.ask_descriptor(now);
        let room = self.ask_bytes(now);
        let leaves = self.transmit(now);
        let has_asked = self.memory.has_asked(now) || self.descriptors.as_ref().is_some_and(|port| port.has_asked(now));
        match [room, leaves].into_iter().flatten().min() {
            _ if acted || has_asked => Activity::Busy,
            Some(time) => Activity::Until(self.clock.cycle_at_or_after(time).max(now + 1)),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("orders", &self.orders);
        ports.output("progress", &self.progress);
        self.memory.port("memory", ports);
        if let Some(descriptors) = &self.descriptors {
            descriptors.port("descriptors", ports);
        }
        ports.output("wire", &self.wire);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("frames", self.n_frames);
        counters.add("bytes_with_fcs", self.bytes);
        counters.add("underruns", self.underruns);
        counters.add("bad_descriptors", self.bad_descriptors);
        counters.add("failures", self.failures);
    }
}

#[cfg(test)]
mod tests;
