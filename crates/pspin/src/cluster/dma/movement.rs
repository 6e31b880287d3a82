//! How the cluster's DMA engine moves beats: from one side of its crossbar over the engine's buffer to the other.
//!
//! `tick` goes through the registers of the way, in the order in which a cycle looks at them. What a register holds or has
//! room for is what it had before the cycle.

mod reads;
mod writes;

use super::Finished;
use super::chunk::{At, Chunk, Open, Place};
use crate::cluster::l1::L1;
use crate::cluster::wide::BeatRequests;
use crate::lanes::{Lanes, bytes_of, lanes_of};
use crate::protocol::{BEAT_BYTES, Burst, BurstReply};
use kernel::trace::Counter;
use kernel::{Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Chunks that the emitters hold. Source: `dmac_wrap.sv`, AxiAxReqDepth.
pub const EMITTERS: usize = 12;
/// Beats that a register of the crossbar holds. Source: `spill_register.sv`.
const REGISTER: u32 = 2;
/// From a request that leaves the emitters until it is at the crossbar.
const TO_CROSSBAR: u64 = 1;
/// From the last beat in L1, or nowhere, until the response is at the crossbar.
const RESPONSE: u64 = 1;
/// From a response at the crossbar until the engine has it.
const RESPONSE_TO_ENGINE: u64 = 1;

/// The chunks that are under way, and where each stage is with them; all stages take them in order.
///
/// Timing:  as [`super::Dma`] says. A read beat is at the engine 2 cycles after L1 has served it, in the lanes in the next; a write
///          beat leaves them a cycle later at the earliest, and is on the crossbar, and asks L1, in the one behind that. Write
///          bursts of one beat to L1 take 2 cycles each, for the crossbar looks at the next address when the one before
///          is gone, and at its data a cycle later.
/// Source:  PsPIN RTL a49fec8, `dmac_wrap.sv`, `axi_dma_data_mover.sv`, `axi_demux.sv`, `axi_to_mem.sv`.
/// Differs: L2 cannot be stopped, neither by a buffer that is full nor by bytes that are late: what it has begun to read
///          comes, and waits before the crossbar; a write burst is sent whole with its first beat, with the bytes in L1 of
///          that time where it is not read yet, and its response is as late as its last beat asks.
pub struct Movement {
    requests: Tx<Burst>,
    replies: Rx<BurstReply>,
    max_bursts: u32,
    chunks: VecDeque<Chunk>,
    /// The number of the first of them.
    first: u64,

    /// The next chunk whose read passes the crossbar, and from when on.
    next_read: (u64, Cycle),
    open_reads: Open,
    /// Chunks that L2 is asked for.
    at_l2: VecDeque<u64>,
    /// Chunks that L1 is asked for, and which beat of the first is next.
    at_l1: VecDeque<u64>,
    l1_beat: u32,
    /// L1's converter asks for that beat.
    requests_read: bool,
    /// Beats that it has asked for and that are not in the crossbar's register.
    read_ahead: u32,
    /// When the beats that come show at the engine, if there is room for them.
    coming: VecDeque<Cycle>,
    /// Beats in the crossbar's register towards the engine, and whether it had room before this cycle.
    arrived: u32,
    had_room: bool,

    /// The beats that come to the register, to the lanes, from the lanes, and pass the crossbar next.
    enters: At,
    fills: At,
    drains: At,
    passes: At,
    lanes: Lanes,

    /// Beats in the crossbar's register from the engine.
    leaving: u32,
    /// The next chunk whose write address passes the crossbar, from when on, and whether it is decided that it may.
    next_write: (u64, Cycle),
    is_decided: bool,
    open_writes: Open,
    /// Writes that the interconnect to L2 has taken and not answered, and those that are sent.
    l2_writes: u32,
    sent: VecDeque<u64>,
    /// L1's converter asks for the beat that has passed.
    requests_write: bool,
    /// When responses are at the crossbar, and whether they are L2's.
    responses: VecDeque<(Cycle, bool)>,
    finished: VecDeque<(Cycle, Finished)>,
    faults: Counter,
}

impl Movement {
    /// At most `max_bursts` writes are at L2 at once.
    pub fn new(max_bursts: u32, (requests, replies): (Tx<Burst>, Rx<BurstReply>)) -> Self {
        Movement {
            requests,
            replies,
            max_bursts,
            chunks: VecDeque::new(),
            first: 0,
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
        ports.output("dma_requests", &self.requests);
        ports.input("dma_replies", &self.replies);
    }

    /// Chunks read or written where nothing is.
    pub fn faults(&self) -> u64 {
        self.faults.total()
    }

    /// Chunks whose last beat has not left the buffer.
    pub fn n_emitted(&self) -> usize {
        self.chunks.len() - (self.drains.chunk.max(self.first) - self.first) as usize
    }

    /// One more chunk.
    pub fn take(&mut self, chunk: Chunk) {
        self.chunks.push_back(chunk);
    }

    /// The next transfer that has ended, and when.
    pub fn next_finished(&mut self) -> Option<(Cycle, Finished)> {
        self.finished.pop_front()
    }

    /// Whether something may happen in the next cycle without a reply.
    pub fn moves(&self) -> bool {
        let end = self.first + self.chunks.len() as u64;
        let waits_for_data = self.is_decided && matches!(self.chunk(self.next_write.0).to.0, Place::L1(_));
        self.next_read.0 != end
            || self.next_write.0 != end && !waits_for_data
            || !self.at_l1.is_empty()
            || !self.coming.is_empty()
            || self.arrived + self.leaving != 0
            || !self.lanes.are_empty()
            || self.requests_write
            || !self.responses.is_empty()
            || !self.finished.is_empty()
    }

    /// The first cycle behind `now` in which it may ask L2 or a transfer may end, if no chunk and no answer comes.
    pub fn shows_at(&self, now: Cycle) -> Cycle {
        let ended = self.finished.front().map_or(Cycle::MAX, |&(at, _)| at.max(now + 1));
        let Some(first) = self.chunks.front() else { return ended };
        let is_all_requested = self.next_read.0 == self.first + self.chunks.len() as u64;
        if !is_all_requested || self.chunks.iter().any(|chunk| !matches!(chunk.to.0, Place::L1(_))) {
            return now + 1;
        }
        // At best a beat is written in each cycle from the next one on.
        let written = if self.passes.chunk == self.first { self.passes.beat } else { 0 };
        ended.min(now + Cycle::from(first.writes - written) + RESPONSE + RESPONSE_TO_ENGINE)
    }

    /// Lives through a cycle, but for L1.
    pub fn tick(&mut self, now: Cycle, l1: &L1) {
        self.take_replies(now);
        self.enter(now);
        let left = self.leaving;
        self.cross_lanes();
        if left > 0 {
            self.pass_write(now);
        }
        self.open_write(now);
        self.take_responses(now);
        self.send_write(now, l1);
        self.open_read(now);
        self.ask_read(now);
    }

    /// The beats of L1 that its converters ask for.
    pub fn requests(&self) -> BeatRequests {
        let line = |at: At, side: fn(&Chunk) -> Place| {
            let Place::L1(offset) = side(self.chunk(at.chunk)) else { unreachable!("it is in L1") };
            (offset & !(BEAT_BYTES - 1)) + at.beat * BEAT_BYTES
        };
        let read = || line(At { chunk: self.at_l1[0], beat: self.l1_beat }, |chunk| chunk.from.0);
        let write = || line(self.passes, |chunk| chunk.to.0);
        BeatRequests { write: self.requests_write.then(write), read: self.requests_read.then(read) }
    }

    fn chunk(&self, number: u64) -> &Chunk {
        &self.chunks[(number - self.first) as usize]
    }

    fn chunk_mut(&mut self, number: u64) -> &mut Chunk {
        &mut self.chunks[(number - self.first) as usize]
    }

    fn has_chunk(&self, number: u64) -> bool {
        number < self.first + self.chunks.len() as u64
    }

    /// What L2 answers. Of data, the first beat shows at the engine in this cycle; if it pauses, it does so behind that.
    fn take_replies(&mut self, now: Cycle) {
        // Its cycle may lie behind that of the cluster, which ticks when an answer comes.
        while self.replies.is_due(now)
            && let Some(reply) = self.replies.take()
        {
            match reply {
                BurstReply::Data { data, last, .. } => {
                    let number = self.at_l2.pop_front().expect("a reply to a read");
                    let chunk = self.chunk_mut(number);
                    chunk.data = data.into_vec();
                    let behind = u64::from(chunk.reads) - 1;
                    self.coming.push_back(now);
                    self.coming.extend(last + 1 - behind..=last);
                }
                BurstReply::Later => {
                    self.coming.iter_mut().filter(|at| **at >= now).for_each(|at| *at += 1);
                }
                BurstReply::Written { .. } => {
                    // It passes the same registers as data, so that the engine has it in this cycle.
                    let number = self.sent.pop_front().expect("a reply to a write");
                    self.chunk_mut(number).has(now - RESPONSE_TO_ENGINE);
                    self.end_chunks();
                }
            }
        }
    }

    /// A beat leaves the buffer, and one comes to it.
    fn cross_lanes(&mut self) {
        let drained = (self.leaving < REGISTER && !self.lanes.are_empty()).then(|| {
            let Chunk { to, size, .. } = self.chunk(self.drains.chunk);
            lanes_of(to.1, &bytes_of(to.1, *size, self.drains.beat))
        });
        let drained = drained.filter(|&lanes| self.lanes.hold(lanes));
        let filled = (self.arrived > 0).then(|| {
            let Chunk { from, to, size, .. } = self.chunk(self.fills.chunk);
            lanes_of(to.1, &bytes_of(from.1, *size, self.fills.beat))
        });
        let filled = filled.filter(|&lanes| self.lanes.take(lanes));
        if let Some(lanes) = drained {
            self.lanes.pop(lanes);
            self.leaving += 1;
            let n_beats = self.chunk(self.drains.chunk).writes;
            self.drains.advance(n_beats);
        }
        if let Some(lanes) = filled {
            self.lanes.push(lanes);
            self.arrived -= 1;
            let n_beats = self.chunk(self.fills.chunk).reads;
            self.fills.advance(n_beats);
        }
    }

    /// The oldest chunks that have all that they await are done.
    fn end_chunks(&mut self) {
        while self.chunks.front().is_some_and(|chunk| chunk.awaits == 0) {
            let Chunk { to, responds, finishes, .. } = self.chunks.pop_front().expect("just seen");
            self.first += 1;
            self.responses.push_back((responds, to.0 == Place::L2));
            self.finished.extend(finishes.map(|finished| (responds + RESPONSE_TO_ENGINE, finished)));
        }
    }
}
