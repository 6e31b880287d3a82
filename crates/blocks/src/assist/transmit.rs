//! `mac-transmit`: sends the frames of a ring of descriptors at the rate of the line.
//!
//! Ports:   `orders` (transmit-orders, receives), `progress` (transmit-progress, sends); `memory`, and `descriptors`
//!           if they are not in `memory` (memory, ask): one reference per cycle on each; `wire` (frames, sends): a
//!           frame at the end of its last bit.
//! Timing:  a frame is read when all of it is in the buffers. It starts when `start_bytes` of it are read and the gap
//!           after the previous frame has passed. Bytes leave at the exact rate of the line; each frame takes its
//!           bytes, check sequence, preamble and gap. An entry is done when the last byte of its frame has been read
//!           from memory.
//! Order:   frames leave in the order of their descriptors.
//! Errors:  an invalid descriptor is skipped. A frame whose bytes come too late or not at all is sent with an invalid
//!           check sequence. Both are reported.
//! Source:  thesis, table 3.3 (MAC assist); IEEE 802.3; docs/machines/tigon2.md, Descriptors, has the layout of
//!           descriptors.
//! Differs: no flow control frames.

mod outgoing;
mod params;

use super::card_side::{CardPorts, CardSide, Reading, next_activity};
use super::line_rate::LineRate;
use super::moves::{MoveLog, Recorder, Route, Wait, count_since};
use super::protocol::{Attention, Buffers, TransmitOrder, TransmitProgress};
use super::ring::Ring;
use super::tracked_port::TrackedReply;
use crate::bus::{Access, BusError, Data};
use crate::ethernet::Frame;
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Time, Tx};
use outgoing::{DESCRIPTOR_BYTES, GAP_BYTES, Outgoing, PREAMBLE_BYTES, Piece, Times};
pub use params::MacTransmitParams;
use std::collections::VecDeque;

/// The ports of a [`MacTransmit`].
pub struct MacTransmitPorts {
    /// The ports of every assist.
    pub card: CardPorts<TransmitOrder, TransmitProgress>,
    /// The line.
    pub wire: Tx<Frame>,
}

/// Sends frames in the order of their descriptors.
pub struct MacTransmit {
    params: MacTransmitParams,
    line: LineRate,
    clock: Clock,
    card: CardSide<TransmitOrder, TransmitProgress, Use>,
    wire: Tx<Frame>,
    ring: Ring,
    buffers: Buffers,
    /// Frame bytes before this address are present, if firmware reports this.
    filled: Option<u64>,
    /// Address of the next frame.
    next_frame: u64,
    vlan_type: u16,
    is_enabled: bool,
    /// The descriptor that is being read.
    reading: Option<Reading<u32>>,
    pieces: VecDeque<Piece>,
    frames: VecDeque<Outgoing>,
    attentions: VecDeque<Attention>,
    /// Earliest start of the next preamble.
    line_free: Time,
    /// Time for which frames occupied the line.
    line_time: Time,
    n_frames: u64,
    bytes: Counter,
    underruns: Counter,
    bad_descriptors: Counter,
    failures: Counter,
    recorder: Option<Recorder>,
    /// When the first word of `reading` was requested.
    reading_since: Cycle,
    /// Cycle since which no byte can be requested, because the buffer is full. Set only while transfers are recorded.
    full_since: Option<Cycle>,
}

/// Purpose of a memory reference.
#[derive(Clone, Copy)]
enum Use {
    Descriptor,
    /// A read of this many bytes for the first incomplete piece.
    Bytes(u32),
}

impl MacTransmit {
    /// A disabled assist; `clock` drives it.
    pub fn new(params: MacTransmitParams, ports: MacTransmitPorts, clock: Clock) -> MacTransmit {
        MacTransmit {
            line: LineRate::new(params.link_bps),
            clock,
            card: CardSide::new(ports.card, params.memory_references),
            wire: ports.wire,
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
            line_time: Time::ZERO,
            n_frames: 0,
            bytes: Counter::default(),
            underruns: Counter::default(),
            bad_descriptors: Counter::default(),
            failures: Counter::default(),
            recorder: None,
            reading_since: 0,
            full_since: None,
            params,
        }
    }

    /// Records its frames from now on.
    pub fn record(&mut self, log: MoveLog) {
        self.recorder = Some(Recorder::new(self.clock, log, &[self.ring.entries]));
    }

    fn apply(&mut self, now: Cycle, order: TransmitOrder) {
        match order {
            TransmitOrder::Reset => {
                self.card.reset();
                self.reading = None;
                self.pieces.clear();
                // A frame on the line continues; frames not yet started are discarded.
                self.frames.retain(|frame| frame.start.is_some() && frame.is_whole);
                self.attentions.clear();
                (self.ring.producer, self.ring.next) = (0, 0);
            }
            TransmitOrder::Enable(is_enabled) => self.is_enabled = is_enabled,
            TransmitOrder::Ring(base) => self.ring.base = base,
            TransmitOrder::Buffers(buffers) => self.buffers = buffers,
            TransmitOrder::Producer(index) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.order(now, 0, self.ring.producer, index);
                }
                self.ring.fill_to(index);
            }
            TransmitOrder::Consumer(index) => self.ring.go_to(index),
            TransmitOrder::BufferProducer(addr) => self.filled = Some(addr),
            TransmitOrder::BufferConsumer(addr) => self.next_frame = addr,
            TransmitOrder::VlanType(vlan_type) => self.vlan_type = vlan_type,
        }
    }

    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut any = false;
        while let Some(TrackedReply { what, result, is_current, .. }) = self.card.answer(now) {
            any = true;
            if is_current {
                self.take_answer(now, what, result);
            }
        }
        any
    }

    fn take_answer(&mut self, now: Cycle, what: Use, result: Result<Data, BusError>) {
        let error = result.as_ref().err().copied();
        if let Some(error) = error {
            self.failures.add(1);
            self.attentions.push_back(Attention::Memory(error));
        }
        match what {
            Use::Descriptor => match result {
                Ok(data) => self.take_descriptor(now, &data),
                // The entry is skipped.
                Err(_) => self.reading = None,
            },
            // Bytes that memory refuses become zeros, and the frame is sent with an invalid check sequence.
            Use::Bytes(bytes) => {
                let data = result.unwrap_or_else(|_| Data::from_elem(0, bytes as usize));
                self.take_bytes(now, &data, error.is_some());
            }
        }
    }

    fn take_descriptor(&mut self, now: Cycle, data: &Data) {
        let is_whole = self.reading.as_mut().expect("a descriptor is being read").take(data);
        let Some(Reading { entry, data, .. }) = self.reading.take_if(|_| is_whole) else { return };
        let mut piece = Piece::of(&data, self.ring.after(entry));
        let ordered = self.recorder.as_ref().map_or(0, |recorder| recorder.ordered(0, entry));
        piece.times = Times { ordered, reading: self.reading_since, read: now, requested: 0, full: 0 };
        if piece.bytes == 0 {
            self.bad_descriptors.add(1);
            self.attentions.push_back(Attention::Descriptor);
            return;
        }
        self.pieces.push_back(piece);
    }

    fn take_bytes(&mut self, now: Cycle, data: &Data, is_broken: bool) {
        let at = self.clock.edge(now);
        let piece = self.pieces.iter_mut().find(|piece| piece.received < piece.bytes).expect("a piece requested it");
        if self.frames.back().is_none_or(|frame| frame.is_whole) {
            self.frames.push_back(Outgoing::default());
        }
        let frame = self.frames.back_mut().expect("there is one");
        frame.is_broken |= is_broken;
        let full = std::mem::take(&mut piece.times.full);
        frame.times.get_or_insert(piece.times).full += if frame.ready.is_none() { full } else { 0 };
        let due = frame.start.map(|start| start + self.line.time(PREAMBLE_BYTES + frame.bytes.len() as u64));
        if due.is_some_and(|due| at > due) && !frame.is_broken {
            frame.is_broken = true;
            self.underruns.add(1);
            self.attentions.push_back(Attention::Underrun);
        }
        frame.bytes.extend_from_slice(data);
        piece.received += data.len() as u32;
        if piece.received == piece.bytes && self.recorder.is_some() {
            frame.areas.extend(self.buffers.areas(piece.addr, piece.bytes.into()));
        }
        if piece.received == piece.bytes && piece.is_last {
            frame.finish(piece.vlan.map(|tag| (self.vlan_type, tag)));
        }
        if frame.is_whole || frame.bytes.len() >= self.params.start_bytes as usize {
            frame.ready.get_or_insert(at);
        }
    }

    /// Reports frames that have been read, and attentions.
    fn report(&mut self) -> bool {
        let mut any = self.card.report(&mut self.attentions, TransmitProgress::Attention);
        while let Some(piece) = self.pieces.front().filter(|piece| piece.received == piece.bytes) {
            if piece.is_last {
                if !self.card.progress.has_room() {
                    break;
                }
                let end = self.buffers.after(piece.addr, u64::from(piece.bytes.next_multiple_of(8)));
                self.card.progress.send(TransmitProgress::Consumer(piece.after, end));
            }
            self.pieces.pop_front();
            any = true;
        }
        any
    }

    fn begin(&mut self, now: Cycle) -> bool {
        let unread = self.pieces.iter().filter(|piece| piece.received < piece.bytes).count();
        let may = self.is_enabled && self.reading.is_none() && unread <= self.params.descriptors_ahead;
        if !may || self.ring.is_empty() {
            return false;
        }
        let index = self.ring.next;
        self.ring.next = self.ring.after(index);
        let addr = self.ring.addr(index, DESCRIPTOR_BYTES);
        self.reading = Some(Reading::new(index, addr, DESCRIPTOR_BYTES));
        self.reading_since = now;
        true
    }

    fn ask_descriptor(&mut self, now: Cycle) {
        if let Some(reading) = &mut self.reading {
            reading.ask(now, self.card.descriptors(), self.params.memory_burst_bytes, |_| Use::Descriptor);
        }
    }

    /// Requests the next bytes; if the buffer is full, returns when it will have room.
    fn ask_bytes(&mut self, now: Cycle) -> Option<Time> {
        let wanted = self.pieces.iter().position(|piece| piece.requested < piece.bytes)?;
        let requested: u64 = self.pieces.iter().map(|piece| u64::from(piece.requested - piece.received)).sum();
        let held: u64 = self.frames.iter().map(|frame| frame.bytes.len() as u64).sum();
        let MacTransmit { params, card, pieces, buffers, filled, next_frame, .. } = self;
        let piece = &mut pieces[wanted];
        // Frames follow each other at multiples of 8 bytes. Firmware may announce a frame before all of it is present.
        let end = buffers.after(piece.addr, u64::from(piece.bytes).next_multiple_of(8));
        let is_there = |filled: u64| {
            let filled = buffers.after(filled, filled.next_multiple_of(8) - filled);
            buffers.distance(*next_frame, end) <= buffers.distance(*next_frame, filled)
        };
        if piece.requested == 0 && filled.is_some_and(|filled| !is_there(filled)) {
            return None;
        }
        let (addr, bytes) = buffers.piece(piece.addr, piece.requested, piece.bytes, params.memory_burst_bytes);
        let over = (requested + held + u64::from(bytes)).saturating_sub(u64::from(params.buffer_bytes));
        let gone = match self.frames.front() {
            Some(frame) if over > 0 => frame.gone(self.clock.edge(now), self.line),
            _ => 0,
        };
        if self.recorder.is_some() {
            piece.times.full += count_since(&mut self.full_since, now, piece.requested > 0 && over > gone);
        }
        if over > gone {
            let start = self.frames.front()?.start?;
            return Some(start + self.line.time(PREAMBLE_BYTES + over));
        }
        if card.memory.is_free(now) {
            card.memory.ask(now, addr, Access::Read(bytes), Use::Bytes(bytes));
            if piece.requested == 0 {
                piece.times.requested = now;
            }
            piece.requested += bytes;
            if piece.requested == piece.bytes {
                *next_frame = end;
            }
        }
        None
    }

    /// Starts the next frame if possible and delivers frames that have left. Returns when to call again.
    fn transmit(&mut self, now: Cycle) -> Option<Time> {
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
            if self.clock.edge(now) < end {
                return Some(end);
            }
            if !self.wire.has_room() {
                return None;
            }
            let takes = self.line.time(PREAMBLE_BYTES + len + GAP_BYTES);
            (self.line_free, self.line_time) = (start + takes, self.line_time + takes);
            let Outgoing { bytes, is_broken, ready, times, areas, .. } = self.frames.pop_front().expect("there is one");
            if let (Some(recorder), Some(times)) = (&self.recorder, times) {
                let Times { ordered, reading, read, requested, full } = times;
                let ready = self.clock.cycle_at_or_after(ready.unwrap_or(start));
                let steps = [
                    (Wait::Before, reading),
                    (Wait::Descriptor, read),
                    (Wait::Before, requested),
                    // While the buffer was full, the line was the slower side.
                    (Wait::MemoryRead, requested.max(ready.saturating_sub(full))),
                    (Wait::LineBusy, self.clock.cycle_at_or_after(start)),
                    (Wait::Line, now),
                ];
                recorder.note(Route::Send, areas, (0, 0), [ordered, requested], &steps);
            }
            self.wire.send(Frame { id: self.n_frames, bytes: bytes.into(), is_intact: !is_broken });
            self.n_frames += 1;
            self.bytes.add(len);
        }
    }
}

impl Component for MacTransmit {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut acted = false;
        while let Some(order) = self.card.orders.take_due(now) {
            self.apply(now, order);
            acted = true;
        }
        acted |= self.take_answers(now);
        acted |= self.report();
        acted |= self.begin(now);
        self.ask_descriptor(now);
        let room = self.ask_bytes(now);
        let leaves = self.transmit(now);
        let due = [room, leaves].into_iter().flatten().min();
        // To record waiting times, the assist must check after each request if the buffer is full.
        let may_ask = if self.recorder.is_some() { self.card.has_sent(now) } else { self.card.may_follow(now) };
        next_activity(self.clock, now, acted || may_ask, due)
    }

    fn ports(&self, ports: &mut Ports) {
        self.card.ports(ports);
        ports.output("wire", &self.wire);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("frames", self.n_frames);
        counters.add("bytes_with_fcs", self.bytes.total());
        let limit = format!("the line out: {} Gbit/s", self.params.link_bps as f64 / 1e9);
        counters.busy("line_cycles", self.clock.cycle_at_or_after(self.line_time), 1, &limit);
        counters.add("underruns", self.underruns.total());
        counters.add("bad_descriptors", self.bad_descriptors.total());
        counters.add("failures", self.failures.total());
    }
}

#[cfg(test)]
mod tests;
