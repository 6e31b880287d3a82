//! How the cluster's DMA engine moves beats: from one side of its crossbar through the engine's buffer to the other
//! side.
//!
//! `tick` handles the registers on this path, in the order in which a cycle reads them. The content and the room of a
//! register are those from before the cycle.

mod reads;
mod writes;

use super::Finished;
use super::part::{At, Bytes, Open, Place, ReadPart, Side, WritePart};
use crate::cluster::l1::L1;
use crate::cluster::ports::DmaPorts;
use crate::cluster::wide::BeatRequests;
use crate::lanes::{Lanes, bytes_of, lanes_of};
use crate::protocol::{BEAT_BYTES, BurstReply};
use kernel::trace::Counter;
use kernel::{Cycle, Ports};
use std::collections::VecDeque;

/// Number of reads, and of writes, that the emitters hold. Source: `dmac_wrap.sv`, AxiAxReqDepth.
const EMITTERS: usize = 12;
/// Number of beats that a register of the crossbar holds. Source: `spill_register.sv`.
const REGISTER: u32 = 2;
/// Cycles from a request's departure from the emitters to its arrival at the crossbar.
const TO_CROSSBAR: u64 = 1;
/// Cycles from the last beat in L1, or at an unmapped address, to the response at the crossbar.
const RESPONSE: u64 = 1;
/// Cycles from a response at the crossbar to its arrival at the engine.
const RESPONSE_TO_ENGINE: u64 = 1;

/// The parts in flight, and the position of each stage in them. All stages handle the parts in order.
///
/// Timing:  see [`super::Dma`]. A read beat is at the engine 2 cycles after L1 has served it, and in the lanes in the
///          next cycle. A write beat leaves the lanes at the earliest one cycle after that. In the following cycle it
///          is on the crossbar and requests L1. Write bursts of one beat to L1 take 2 cycles each: the crossbar reads
///          the next address when the burst before it has left, and its data one cycle later.
/// Source:  PsPIN RTL a49fec8, `dmac_wrap.sv`, `axi_dma_data_mover.sv`, `axi_demux.sv`, `axi_to_mem.sv`.
/// Differs: an engine that writes to L2 does not stop other engines' reads of L2: if its buffer is full or its bytes are late,
///          its own data wait in front of the crossbar. A write burst is sent whole with its first beat. Bytes of L1 that
///          are not read yet have the values that L1 holds at that time; bytes of L2 must have come. The response is as
///          late as the last beat requires.
pub struct Movement {
    ports: DmaPorts,
    /// The number of beats that the memories know to be held.
    reported: u32,
    /// Arrival cycles of beats that the memories reported as late before the reply with their data came.
    late: Vec<Cycle>,
    max_bursts: u32,
    /// Reads whose last beat is not in the lanes, and the number of the first one.
    reads: VecDeque<ReadPart>,
    first_read: u64,
    /// Writes without a response, and the number of the first one.
    writes: VecDeque<WritePart>,
    first_write: u64,
    /// Number of `writes` whose beats L1 may write at less than one a cycle, even without other requests.
    n_uneven: u32,
    /// Number of `writes` that go to L2.
    n_to_l2: u32,
    /// Bytes that were read. The first one belongs to the part in `passes`. A write to L2 may have been sent before all its bytes were
    /// read; the next `n_ahead` bytes that are read are such bytes, and are not added.
    bytes: Bytes,
    n_ahead: u32,

    /// The next part whose read passes the crossbar, and the first cycle for it.
    next_read: (u64, Cycle),
    open_reads: Open,
    /// Reads that are requested from L2.
    at_l2: VecDeque<u64>,
    /// Reads that are requested from L1, and the next beat of the first one.
    at_l1: VecDeque<u64>,
    l1_beat: u32,
    /// L1's converter requests that beat.
    requests_read: bool,
    /// Beats that the converter has requested and that are not in the crossbar's register.
    read_ahead: u32,
    /// Cycles in which the arriving beats reach the engine, if it has room for them.
    coming: VecDeque<Cycle>,
    /// Beats in the crossbar's register towards the engine. `had_room` is true if the register had room before this
    /// cycle.
    arrived: u32,
    had_room: bool,

    /// The next beats to enter the register and to fill the lanes, of reads; to leave the lanes and to pass the crossbar, of
    /// writes.
    enters: At,
    fills: At,
    drains: At,
    passes: At,
    lanes: Lanes,

    /// Beats in the crossbar's register from the engine.
    leaving: u32,
    /// The next part whose write address passes the crossbar, and the first cycle for it. `is_decided` is true if the
    /// crossbar has admitted it.
    next_write: (u64, Cycle),
    is_decided: bool,
    open_writes: Open,
    /// Number of writes that the interconnect to L2 has taken and not answered. `sent` are the
    /// parts whose writes are sent.
    l2_writes: u32,
    sent: VecDeque<u64>,
    /// L1's converter requests the beat that has passed.
    requests_write: bool,
    /// Cycles in which responses are at the crossbar; the flag is true for responses of L2.
    responses: VecDeque<(Cycle, bool)>,
    finished: VecDeque<(Cycle, Finished)>,
    faults: Counter,
}

impl Movement {
    /// At most `max_bursts` writes are outstanding at L2.
    pub fn new(max_bursts: u32, ports: DmaPorts) -> Self {
        Movement {
            ports,
            reported: 0,
            late: Vec::new(),
            max_bursts,
            reads: VecDeque::new(),
            first_read: 0,
            writes: VecDeque::new(),
            first_write: 0,
            n_uneven: 0,
            n_to_l2: 0,
            bytes: Bytes::default(),
            n_ahead: 0,
            next_read: (0, 0),
            open_reads: Open::default(),
            at_l2: VecDeque::new(),
            at_l1: VecDeque::new(),
            l1_beat: 0,
            requests_read: false,
            read_ahead: 0,
            coming: VecDeque::new(),
            arrived: 0,
            had_room: true,
            enters: At::default(),
            fills: At::default(),
            drains: At::default(),
            passes: At::default(),
            lanes: Lanes::default(),
            leaving: 0,
            next_write: (0, 0),
            is_decided: false,
            open_writes: Open::default(),
            l2_writes: 0,
            sent: VecDeque::new(),
            requests_write: false,
            responses: VecDeque::new(),
            finished: VecDeque::new(),
            faults: Counter::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("dma_requests", &self.ports.requests);
        ports.input("dma_replies", &self.ports.replies);
        ports.output("dma_held", &self.ports.held);
        ports.input("dma_late", &self.ports.late);
    }

    /// Number of parts that are read from or written to an unmapped address.
    pub fn faults(&self) -> u64 {
        self.faults.total()
    }

    /// Returns true if the emitters have room for a read, and if they have room for a write.
    pub fn rooms(&self) -> (bool, bool) {
        let n_drained = self.drains.part.max(self.first_write) - self.first_write;
        (self.reads.len() < EMITTERS, self.writes.len() - (n_drained as usize) < EMITTERS)
    }

    /// Adds a read.
    pub fn take_read(&mut self, part: ReadPart) {
        self.reads.push_back(part);
    }

    /// Adds a write.
    pub fn take_write(&mut self, part: WritePart) {
        self.n_uneven += u32::from(part.is_uneven);
        self.n_to_l2 += u32::from(part.side.place == Place::L2);
        self.writes.push_back(part);
    }

    /// The next transfer that has ended, and the cycle of its end.
    pub fn next_finished(&mut self) -> Option<(Cycle, Finished)> {
        self.finished.pop_front()
    }

    /// Returns true if something may happen in the next cycle without a reply.
    pub fn moves(&self) -> bool {
        let waits_for_data = self.is_decided && matches!(self.write(self.next_write.0).side.place, Place::L1(_));
        self.has_read(self.next_read.0)
            || self.has_write(self.next_write.0) && !waits_for_data
            || !self.at_l1.is_empty()
            || !self.coming.is_empty()
            || self.arrived + self.leaving != 0
            || !self.lanes.are_empty()
            || self.requests_write
            || !self.responses.is_empty()
            || !self.finished.is_empty()
    }

    /// The first cycle after `now` in which a request to L2 may leave or a transfer may end, if no part and no reply
    /// arrives.
    pub fn shows_at(&self, now: Cycle) -> Cycle {
        let ended = self.finished.front().map_or(Cycle::MAX, |&(at, _)| at.max(now + 1));
        let Some(first) = self.writes.front() else { return ended };
        let is_in_l1 = |part: &WritePart| matches!(part.side.place, Place::L1(_));
        if self.has_read(self.next_read.0) || !self.writes.iter().all(is_in_l1) {
            return now + 1;
        }
        // At best, L1 writes one beat in each cycle, starting with the next one.
        let written = if self.passes.part == self.first_write { self.passes.beat } else { 0 };
        ended.min(now + Cycle::from(first.side.beats - written) + RESPONSE + RESPONSE_TO_ENGINE)
    }

    /// Simulates one cycle, except for L1.
    pub fn tick(&mut self, now: Cycle, l1: &L1) {
        self.take_replies(now);
        self.take_late(now);
        self.enter(now);
        let left = self.leaving;
        self.cross_lanes();
        self.tell_held();
        if left > 0 {
            self.pass_write(now);
        }
        self.open_write(now);
        self.take_responses(now);
        self.send_write(now, l1);
        self.open_read(now);
        self.ask_read(now);
    }

    /// The beats of L1 that its converters request.
    pub fn requests(&self) -> BeatRequests {
        let line = |Side { place, .. }: Side, beat: u32| {
            let Place::L1(offset) = place else { unreachable!("the part is in L1") };
            (offset & !(BEAT_BYTES - 1)) + beat * BEAT_BYTES
        };
        let read = || line(self.read(self.at_l1[0]).side, self.l1_beat);
        let write = || line(self.write(self.passes.part).side, self.passes.beat);
        BeatRequests { write: self.requests_write.then(write), read: self.requests_read.then(read) }
    }

    fn read(&self, number: u64) -> &ReadPart {
        &self.reads[(number - self.first_read) as usize]
    }

    fn has_read(&self, number: u64) -> bool {
        number < self.first_read + self.reads.len() as u64
    }

    fn write(&self, number: u64) -> &WritePart {
        &self.writes[(number - self.first_write) as usize]
    }

    fn write_mut(&mut self, number: u64) -> &mut WritePart {
        &mut self.writes[(number - self.first_write) as usize]
    }

    fn has_write(&self, number: u64) -> bool {
        number < self.first_write + self.writes.len() as u64
    }

    /// Takes replies of L2. Read data reach the engine from this cycle on, the last beat in the cycle that the reply says. If
    /// they pause, they do so after the first beat.
    fn take_replies(&mut self, now: Cycle) {
        // In a catch-up `now` is before the cluster's current cycle, in which a reply may already have arrived.
        while self.ports.replies.is_due(now)
            && let Some(reply) = self.ports.replies.take()
        {
            match reply {
                BurstReply::Data { data, last, .. } => {
                    let number = self.at_l2.pop_front().expect("a reply to a read");
                    let behind = u64::from(self.read(number).side.beats) - 1;
                    self.bytes.end().extend_from_slice(&data);
                    let last = last.max(now + behind);
                    self.coming.extend(last - behind..=last);
                    if !self.late.is_empty() {
                        let late = std::mem::take(&mut self.late);
                        late.into_iter().for_each(|at| self.beat_is_late(at));
                    }
                }
                BurstReply::Later { beats } => {
                    self.coming.iter_mut().rev().take(beats as usize).for_each(|at| *at += 1);
                }
                BurstReply::Written { .. } => {
                    // The response passes the same registers as data, so the engine has it in this cycle.
                    let number = self.sent.pop_front().expect("a reply to a write");
                    self.write_mut(number).has(now - RESPONSE_TO_ENGINE);
                    self.end_writes();
                }
            }
        }
    }

    /// One beat leaves the buffer, and one enters it.
    fn cross_lanes(&mut self) {
        let drained = (self.leaving < REGISTER && !self.lanes.are_empty()).then(|| {
            let Side { addr, size, .. } = self.write(self.drains.part).side;
            lanes_of(addr, &bytes_of(addr, size, self.drains.beat))
        });
        let drained = drained.filter(|&lanes| self.lanes.hold(lanes));
        let filled = (self.arrived > 0).then(|| {
            let ReadPart { side: Side { addr, size, .. }, to } = *self.read(self.fills.part);
            lanes_of(to, &bytes_of(addr, size, self.fills.beat))
        });
        let filled = filled.filter(|&lanes| self.lanes.take(lanes));
        if let Some(lanes) = drained {
            self.lanes.pop(lanes);
            self.leaving += 1;
            let n_beats = self.write(self.drains.part).side.beats;
            self.drains.advance(n_beats);
        }
        if let Some(lanes) = filled {
            self.lanes.push(lanes);
            self.arrived -= 1;
            let n_beats = self.read(self.fills.part).side.beats;
            if self.fills.advance(n_beats) {
                self.reads.pop_front();
                self.first_read += 1;
            }
        }
    }

    /// Ends the oldest writes that await no more events.
    fn end_writes(&mut self) {
        while self.writes.front().is_some_and(|part| part.awaits == 0) {
            let part = self.writes.pop_front().expect("just seen");
            let is_l2 = part.side.place == Place::L2;
            self.n_uneven -= u32::from(part.is_uneven);
            self.n_to_l2 -= u32::from(is_l2);
            self.first_write += 1;
            self.responses.push_back((part.responds, is_l2));
            self.finished.extend(part.finishes.map(|finished| (part.responds + RESPONSE_TO_ENGINE, finished)));
        }
    }
}
