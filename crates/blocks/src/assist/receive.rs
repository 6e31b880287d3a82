//! `mac-receive`: stores arriving frames in a ring of buffers, with a ring of descriptors.
//!
//! Ports:   `orders` (receive-orders, receives), `progress` (receive-progress, sends); `memory`, and `descriptors` if
//!           they are not in `memory` (memory, ask): one reference per cycle on each; `wire` (frames, receives).
//! Timing:  a frame arrives with its last bit; its buffer and its descriptor entry are allocated then. The descriptor
//!           is written after the last byte, and reported when memory has acknowledged both.
//! Order:   frames get buffers and descriptors in order of arrival, and are reported in that order.
//! Errors:  a frame is dropped if the filter refuses it, or if there is no free entry, no buffer, or no room between
//!           line and memory (for its first 64 bytes if `is_paced`, otherwise for the whole frame). Drops are
//!           reported and counted in memory.
//! Source:  thesis, table 3.3 (MAC assist); IEEE 802.3; docs/machines/tigon2.md, Descriptors, has the layout of
//!           descriptors.
//! Differs: hardware writes while a frame arrives. If `is_paced`, bytes reach memory one frame time later than in
//!           hardware (or the time of the frame in front, if that is longer); otherwise they are written at once after
//!           the frame's end. Overruns are not counted in memory.

mod drops;
mod params;

use super::card_side::{CardPorts, CardSide, next_activity};
use super::filter::Filter;
use super::line_rate::LineRate;
use super::moves::{MoveLog, Recorder, Route, Wait};
use super::protocol::{Attention, Buffers, ReceiveOrder, ReceiveProgress};
use super::ring::Ring;
use super::tracked_port::TrackedReply;
use crate::bus::{Access, Data, Planned};
use crate::ethernet::Frame;
use drops::Drops;
use kernel::trace::{Counter, Level};
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Time};
pub use params::MacReceiveParams;
use std::collections::VecDeque;

/// The ports of a [`MacReceive`].
pub struct MacReceivePorts {
    /// The ports of every assist.
    pub card: CardPorts<ReceiveOrder, ReceiveProgress>,
    /// The line.
    pub wire: Rx<Frame>,
}

/// Stores each arriving frame in the next buffer and describes it in the next descriptor. Drops frames that the
/// filter refuses or that find no room, and counts them in memory too.
pub struct MacReceive {
    params: MacReceiveParams,
    line: LineRate,
    clock: Clock,
    card: CardSide<ReceiveOrder, ReceiveProgress, Use>,
    wire: Rx<Frame>,
    /// `producer` of this ring is firmware's consumer: the entry that must not be filled.
    ring: Ring,
    buffers: Buffers,
    producer: u64,
    consumer: u64,
    is_enabled: bool,
    frames: VecDeque<Incoming>,
    attentions: VecDeque<Attention>,
    filter: Option<Filter>,
    drops: Drops,
    /// End of the last frame on a paced line.
    busy_until: Time,
    counts: Counts,
    /// Occupied part of the buffers in memory, in units of 1/[`PARTS`].
    buffered: Level,
    recorder: Option<Recorder>,
}

/// Frames dropped by a [`MacReceive`], by reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveDrops {
    /// The receiver was disabled.
    pub disabled: u64,
    /// The filter refused the frame.
    pub filtered: u64,
    /// No room between line and memory.
    pub overruns: u64,
    /// No room in the ring of buffers.
    pub buffer_full: u64,
    /// No free descriptor.
    pub ring_full: u64,
}

/// Purpose of a memory reference.
#[derive(Clone, Copy)]
enum Use {
    /// A write of this many bytes of a frame.
    Bytes(u32),
    Descriptor,
    /// A read of a counter of dropped frames; `Counted` is the write.
    Count(usize),
    Counted,
}

/// A frame that is being written to memory.
struct Incoming {
    id: u64,
    /// Bytes with check sequence.
    bytes: Vec<u8>,
    flags: u32,
    addr: u64,
    /// Index of its descriptor.
    index: u32,
    /// When its first byte arrives, for a paced receiver.
    begins: Time,
    sent: u32,
    acknowledged: u32,
    is_described: bool,
    is_done: bool,
    times: Times,
}

/// Cycles of a frame, for records of transfers.
#[derive(Clone, Copy, Default)]
struct Times {
    arrived: Cycle,
    /// The first byte was sent to memory (`sent`); memory acknowledged the last one (`stored`).
    sent: Cycle,
    stored: Cycle,
    /// Its descriptor was in memory.
    described: Cycle,
}

/// Frame counters.
#[derive(Default)]
struct Counts {
    frames: Counter,
    bytes: Counter,
    disabled: Counter,
    filtered: Counter,
    overruns: Counter,
    buffer_full: Counter,
    ring_full: Counter,
    failures: Counter,
}

/// Error bits of a receive descriptor, word 1. Source: docs/machines/tigon2.md, Descriptors.
const CRC_ERROR: u32 = 1 << 16;
const RUNT: u32 = 1 << 22;
/// Bytes of a descriptor: word 0 is the address, word 1 the error bits and length. Source: docs/machines/tigon2.md,
/// Descriptors.
const DESCRIPTOR_BYTES: u32 = 8;
/// Minimum frame length on a line. Source: IEEE 802.3, 64 bytes.
const LEAST_ON_LINE: u64 = 64;
/// Alignment of frames in memory. Source: docs/machines/tigon2.md, Descriptors.
const ALIGNMENT: u64 = 8;

/// The use of buffers is counted in this many equal parts, because firmware chooses their size in bytes.
const PARTS: u64 = 1024;

impl MacReceive {
    /// A disabled assist; `clock` drives it.
    pub fn new(params: MacReceiveParams, ports: MacReceivePorts, clock: Clock) -> MacReceive {
        MacReceive {
            line: LineRate::new(params.link_bps),
            clock,
            card: CardSide::new(ports.card, params.memory_references),
            wire: ports.wire,
            ring: Ring::new(params.ring_entries),
            buffers: Buffers::default(),
            producer: 0,
            consumer: 0,
            is_enabled: false,
            frames: VecDeque::new(),
            attentions: VecDeque::new(),
            filter: None,
            drops: Drops::new(),
            busy_until: Time::ZERO,
            counts: Counts::default(),
            buffered: Level::default(),
            recorder: None,
            params,
        }
    }

    /// Records its frames from now on.
    pub fn record(&mut self, log: MoveLog) {
        self.recorder = Some(Recorder::new(self.clock, log, &[]));
    }

    /// Frames dropped, by reason.
    pub fn dropped(&self) -> ReceiveDrops {
        let Counts { disabled, filtered, overruns, buffer_full, ring_full, .. } = &self.counts;
        let [disabled, filtered, overruns, buffer_full, ring_full] =
            [disabled, filtered, overruns, buffer_full, ring_full].map(Counter::total);
        ReceiveDrops { disabled, filtered, overruns, buffer_full, ring_full }
    }

    fn apply(&mut self, now: Cycle, order: ReceiveOrder) {
        match order {
            ReceiveOrder::Reset => {
                self.take_back(now);
                self.card.reset();
                self.frames.clear();
                self.attentions.clear();
                self.busy_until = Time::ZERO;
                (self.ring.producer, self.ring.next) = (0, 0);
                (self.producer, self.consumer) = (self.buffers.base, self.buffers.base);
            }
            ReceiveOrder::Enable(is_enabled) => self.is_enabled = is_enabled,
            ReceiveOrder::Ring(base) => self.ring.base = base,
            ReceiveOrder::Buffers(buffers) => {
                self.take_back(now);
                self.buffers = buffers;
                (self.producer, self.consumer) = (buffers.base, buffers.base);
            }
            ReceiveOrder::Producer(index) => self.ring.go_to(index),
            ReceiveOrder::Consumer(index) => self.ring.fill_to(index),
            ReceiveOrder::BufferProducer(addr) => self.producer = addr,
            ReceiveOrder::BufferConsumer(addr) => self.consumer = addr,
            ReceiveOrder::Filter(filter) => self.filter = Some(filter),
            ReceiveOrder::Statistics(base) => self.drops.base = Some(base),
        }
    }

    /// Bytes of the buffers.
    fn all(&self) -> u64 {
        self.buffers.end.saturating_sub(self.buffers.base)
    }

    /// Bytes of the buffers that hold frames.
    fn used(&self) -> u64 {
        if self.producer >= self.consumer {
            self.producer - self.consumer
        } else {
            self.all().saturating_sub(self.consumer - self.producer)
        }
    }

    /// Free bytes of the buffers. Equal pointers mean empty, so one byte always stays free.
    fn room(&self) -> u64 {
        self.all().saturating_sub(self.used() + 1)
    }

    /// Bytes between line and memory: received and not yet sent to memory.
    fn held(&self, now: Cycle) -> u64 {
        let received = |frame: &Incoming| match self.clock.edge(now) {
            _ if !self.params.is_paced => frame.bytes.len() as u64,
            time if time < frame.begins => 0,
            time => self.line.bytes(time - frame.begins).min(frame.bytes.len() as u64),
        };
        self.frames.iter().map(|frame| received(frame).saturating_sub(frame.sent.into())).sum()
    }

    /// Allocates a buffer and a descriptor for a frame that has arrived, or returns why it must be dropped.
    fn accept(&mut self, now: Cycle, frame: &Frame) -> Result<(), Attention> {
        let len = frame.bytes.len() as u64 + u64::from(Frame::FCS_BYTES);
        if self.held(now) + if self.params.is_paced { LEAST_ON_LINE } else { len } > u64::from(self.params.buffer_bytes)
        {
            return Err(Attention::Overrun);
        }
        let room = len.next_multiple_of(ALIGNMENT);
        if room > self.room() {
            return Err(Attention::BufferFull);
        }
        let index = self.ring.next;
        if self.ring.after(index) == self.ring.producer {
            return Err(Attention::RingFull);
        }
        let mut bytes = Vec::with_capacity(len as usize);
        bytes.extend_from_slice(&frame.bytes);
        bytes.extend_from_slice(&frame.fcs());
        let is_runt = frame.bytes.len() < Frame::LEAST_BYTES;
        let flags = if frame.is_intact { 0 } else { CRC_ERROR } | if is_runt { RUNT } else { 0 };
        let (addr, begins) = (self.producer, self.busy_until.max(self.clock.edge(now)));
        self.busy_until = begins + self.line.time(len);
        let (sent, acknowledged, is_described, is_done) = (0, 0, false, false);
        let (id, times) = (frame.id, Times { arrived: now, ..Times::default() });
        self.frames.push_back(Incoming {
            id,
            bytes,
            flags,
            addr,
            index,
            begins,
            sent,
            acknowledged,
            is_described,
            is_done,
            times,
        });
        self.producer = self.buffers.after(addr, room);
        self.ring.next = self.ring.after(index);
        self.counts.frames.add(1);
        self.counts.bytes.add(len);
        Ok(())
    }

    fn take_frame(&mut self, now: Cycle) {
        let Some(frame) = self.wire.take_due(now) else { return };
        let is_taken = self.filter.map_or(Ok(()), |filter| filter.check(&frame.bytes));
        let mut reason = None;
        if !self.is_enabled {
            self.counts.disabled.add(1);
            reason = Some("receiver_off");
        } else if let Err(stranger) = is_taken {
            self.counts.filtered.add(1);
            self.drops.note_refused(stranger);
            reason = Some("filtered");
        } else if let Err(attention) = self.accept(now, &frame) {
            match attention {
                Attention::BufferFull => self.counts.buffer_full.add(1),
                Attention::RingFull => self.counts.ring_full.add(1),
                _ => self.counts.overruns.add(1),
            }
            reason = Some(match attention {
                Attention::BufferFull => "no_buffer",
                Attention::RingFull => "no_descriptor",
                _ => "overrun",
            });
            self.drops.note_loss(attention);
            self.attentions.push_back(attention);
        }
        if let Some((recorder, reason)) = self.recorder.as_ref().zip(reason) {
            recorder.note(Route::Drop(frame.id, reason), Vec::new(), (0, 0), [now, now], &[]);
        }
    }

    fn take_answers(&mut self, now: Cycle) {
        while let Some(TrackedReply { what, result, is_current, at }) = self.card.answer(now) {
            if let Err(error) = &result {
                self.counts.failures.add(1);
                self.attentions.push_back(Attention::Memory(*error));
            }
            match what {
                // Counters in memory outlive a reset.
                Use::Count(kind) => self.drops.update(kind, &result.unwrap_or_default()),
                Use::Bytes(bytes) if is_current => {
                    let unacknowledged = |frame: &&mut Incoming| (frame.acknowledged as usize) < frame.bytes.len();
                    let frame = self.frames.iter_mut().find(unacknowledged).expect("a frame wrote them");
                    frame.acknowledged += bytes;
                    frame.times.stored = at;
                }
                Use::Descriptor if is_current => {
                    let frame = self.frames.iter_mut().find(|frame| !frame.is_done).expect("a frame has it");
                    (frame.is_done, frame.times.described) = (true, at);
                }
                Use::Bytes(_) | Use::Descriptor | Use::Counted => {}
            }
        }
    }

    /// Reports frames that are in memory, and attentions.
    fn report(&mut self, now: Cycle) {
        self.card.report(&mut self.attentions, ReceiveProgress::Attention);
        while self.card.progress.has_room() && self.frames.front().is_some_and(|frame| frame.is_done) {
            let frame = self.frames.pop_front().expect("there is one");
            let end = self.buffers.after(frame.addr, (frame.bytes.len() as u64).next_multiple_of(ALIGNMENT));
            self.card.progress.send(ReceiveProgress::Producer(self.ring.after(frame.index), end));
            self.note(now, &frame);
        }
    }

    /// Records a frame that is in memory.
    fn note(&self, now: Cycle, frame: &Incoming) {
        let Some(recorder) = &self.recorder else { return };
        let Times { arrived, sent, stored, described } = frame.times;
        let len = frame.bytes.len() as u64;
        // A paced receiver writes a frame as if its bytes arrived a second time, at the rate of the line.
        let at = |time: Time| self.clock.cycle_at_or_after(time);
        let line = self.params.is_paced.then(|| [at(frame.begins), at(frame.begins + self.line.time(len))]);
        let [begins, whole] = line.unwrap_or([sent, sent]);
        let steps = [
            (Wait::Before, begins),
            (Wait::Line, whole.min(stored)),
            (Wait::MemoryWrite, stored),
            (Wait::Describe, described),
            (Wait::Report, now),
        ];
        let areas = self.buffers.areas(frame.addr, len);
        recorder.note(Route::Receive(frame.id), areas, (0, 0), [arrived, sent], &steps);
    }

    /// Writes the next bytes of the first incomplete frame, if they are due. Returns when the following ones are due;
    /// `None` if an answer or room must come first.
    fn give_bytes(&mut self, now: Cycle) -> Option<Time> {
        let is_planning = self.card.memory.is_planning();
        while self.card.memory.is_free(if is_planning { now } else { now + 1 }) {
            let MacReceive { params, line, clock, card, buffers, frames, .. } = self;
            let frame = frames.iter_mut().find(|frame| (frame.sent as usize) < frame.bytes.len())?;
            let len = frame.bytes.len() as u32;
            let (addr, bytes) = buffers.piece(frame.addr, frame.sent, len, params.memory_burst_bytes);
            let arrival = || frame.begins + line.time(u64::from(frame.sent + bytes));
            let due = if params.is_paced { arrival() } else { Time::ZERO };
            if !is_planning && (due > clock.edge(now) || !card.memory.is_free(now)) {
                return Some(due);
            }
            let (from, to) = (frame.sent as usize, (frame.sent + bytes) as usize);
            let data = Data::from_slice(&frame.bytes[from..to]);
            let cycle = if is_planning { now.max(clock.cycle_at_or_after(due)) } else { now };
            // Replies come in order, so the reply to the descriptor's write shows that all bytes are in memory.
            let planned = Planned::new(cycle, addr, Access::Write(data)).quiet(true);
            card.memory.plan(now, planned, Use::Bytes(bytes));
            if frame.sent == 0 {
                frame.times.sent = now;
            }
            frame.sent += bytes;
            if is_planning && frame.sent == len {
                self.describe(now);
                if self.undescribed().is_some() {
                    return None; // The plan is full.
                }
            }
        }
        None
    }

    /// Cancels all planned references that were not sent before this tick.
    fn take_back(&mut self, now: Cycle) {
        let MacReceive { card, frames, .. } = self;
        for what in card.memory.take_back(now) {
            let mut frames = frames.iter_mut().rev();
            match what {
                Use::Bytes(bytes) => frames.find(|frame| frame.sent > 0).expect("a frame has them").sent -= bytes,
                Use::Descriptor => {
                    frames.find(|frame| frame.is_described).expect("a frame has it").is_described = false
                }
                Use::Count(_) | Use::Counted => unreachable!("counters are not planned"),
            }
        }
    }

    /// The first frame without a descriptor, if its descriptor may follow its bytes.
    fn undescribed(&self) -> Option<usize> {
        let first = self.frames.iter().position(|frame| !frame.is_described)?;
        // Within one memory the descriptor follows the bytes in order; in a separate memory it must wait until they
        // are acknowledged.
        let frame = &self.frames[first];
        let behind = if self.card.is_split() { frame.acknowledged } else { frame.sent };
        (behind as usize == frame.bytes.len()).then_some(first)
    }

    /// Writes the descriptor of the first frame without one, after its bytes.
    fn describe(&mut self, now: Cycle) {
        let Some(first) = self.undescribed() else { return };
        let MacReceive { card, ring, frames, .. } = self;
        let (frame, port) = (&mut frames[first], card.descriptors());
        if port.is_free(now) {
            let words = (frame.addr as u32, frame.bytes.len() as u32 | frame.flags);
            let mut data = Data::from_slice(&words.0.to_be_bytes());
            data.extend_from_slice(&words.1.to_be_bytes());
            let addr = ring.addr(frame.index, DESCRIPTOR_BYTES);
            port.ask(now, addr, Access::Write(data), Use::Descriptor);
            frame.is_described = true;
        }
    }
}

impl Component for MacReceive {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.card.orders.is_due(now) {
            self.take_answers(now.saturating_sub(1));
        }
        while let Some(order) = self.card.orders.take_due(now) {
            self.apply(now, order);
        }
        self.take_answers(now);
        if self.wire.is_due(now) {
            self.take_back(now);
        }
        self.take_frame(now);
        self.report(now);
        // Counters are written while the port has nothing else to do, so nothing is planned while they wait.
        let may_plan = self.recorder.is_none() && !self.card.is_split() && !self.drops.has_work();
        if !self.card.memory.start_planning(may_plan) {
            self.take_back(now);
        }
        self.describe(now);
        let due = self.give_bytes(now);
        self.drops.work(now, &mut self.card.memory);
        self.buffered.set(now, (self.used() * PARTS).checked_div(self.all()).unwrap_or(0));
        // One frame is taken, and one reference sent, in each cycle.
        let has_more = || self.undescribed().is_some() || self.drops.has_work();
        next_activity(self.clock, now, self.wire.has_item() || self.card.has_sent(now) && has_more(), due)
    }

    fn ports(&self, ports: &mut Ports) {
        self.card.ports(ports);
        ports.input("wire", &self.wire);
    }

    fn counters(&self, counters: &mut CounterList) {
        let Counts { frames, bytes, disabled, filtered, overruns, buffer_full, ring_full, failures } = &self.counts;
        counters.add("frames", frames.total());
        counters.add("bytes_with_fcs", bytes.total());
        counters.add("dropped.disabled", disabled.total());
        counters.add("dropped.filtered", filtered.total());
        counters.add("dropped.overrun", overruns.total());
        counters.add("dropped.buffer_full", buffer_full.total());
        counters.add("dropped.ring_full", ring_full.total());
        counters.add("failures", failures.total());
        counters.held("buffered_cycles", &self.buffered, PARTS, "buffers for received frames: their bytes");
    }
}

#[cfg(test)]
mod tests;
