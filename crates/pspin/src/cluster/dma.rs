//! The cluster's DMA engine: copies between its L1 and L2.

use super::held::Held;
use super::l1::{L1, WidePort};
use crate::params::{PspinParams, Regions};
use crate::protocol::{Burst, BurstReply, whole_words};
use kernel::trace::Counter;
use kernel::{Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Who asked for a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A core, through its own registers.
    Core(u32),
    /// Somebody, through the public registers.
    Public,
    /// The cluster scheduler: a packet comes to L1.
    Scheduler,
}

/// A transfer whose last byte is in place and acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// Who asked for it.
    pub owner: Owner,
}

/// A part of a transfer that stays within a page on both sides.
struct Chunk {
    owner: Owner,
    src: u32,
    dst: u32,
    size: u32,
    /// The last part of its transfer.
    last: bool,
}

/// Data of a chunk, at the engine from cycle `first` to `last`.
struct Arrived {
    chunk: Chunk,
    first: Cycle,
    last: Cycle,
    data: Box<[u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Byte offset in the own L1.
    L1(u32),
    L2,
    Nowhere,
}

// Stages of the engine, in cycles from a transfer's acceptance. Source: PsPIN RTL a49fec8, `dmac_wrap.sv` and
// `hw/deps/axi/src/dma`, registers counted along the path; sums agree with RTL measurements.
/// Burst reshaper, emitters, to the request on the engine's own crossbar.
const TO_READ: u64 = 3;
/// From one accepted transfer to the next: the arbiter before the engine hands one over each cycle.
const ACCEPT_INTERVAL: u64 = 1;
/// A read request on the crossbar until L1 is accessed.
const READ_TO_L1: u64 = 1;
/// From L1's access to the beat at the engine.
const L1_TO_ENGINE: u64 = 2;
/// From a beat at the engine until it is written to L1: data path, crossbar.
const ENGINE_TO_L1: u64 = 2;
/// From a beat at the engine until the write leaves for L2.
const ENGINE_TO_L2: u64 = 1;
/// From the last beat written to L1 until the transfer is done.
const L1_WRITTEN_TO_DONE: u64 = 2;
/// From the response of L2 until the transfer is done.
const L2_WRITTEN_TO_DONE: u64 = 1;

const PAGE_BYTES: u32 = 4096;

/// The engine.
///
/// Timing:  one transfer accepted in [`ACCEPT_INTERVAL`] cycles; its first burst is asked for [`TO_READ`] cycles later,
///          further ones one a cycle; 64 bytes a cycle each way; transfers finish in order.
/// Source:  PsPIN RTL a49fec8, `dmac_wrap.sv`, `dma_noc.sv`.
/// Differs: with exact regions a packet's last word in L1 is filled with zeros; the three beats of buffer between reading
///          and writing do not hold reads back when writes stall.
pub struct Dma {
    l1_base: u32,
    l1_bytes: u32,
    l2: (std::ops::Range<u32>, std::ops::Range<u32>),
    fifo: usize,
    max_bursts: usize,
    fills_words: bool,
    waiting: VecDeque<(Cycle, Chunk)>,
    held: Held,
    /// The next transfer is accepted from this cycle on.
    accepts_from: Cycle,
    next_read: Cycle,
    /// Chunks that L2 has been asked for.
    reading: VecDeque<Chunk>,
    /// Until when the last beat asked of each side arrives: the other side must wait for it.
    l2_read_until: Cycle,
    l1_read_until: Cycle,
    /// First cycle in which the write side is free.
    write_free: Cycle,
    /// Chunks that L2 has been sent.
    writing: VecDeque<Chunk>,
    next_write: Cycle,
    /// What is at the engine and not passed on yet.
    arrived: VecDeque<Arrived>,
    l1_written_until: Cycle,
    /// Bytes for L1 with the cycle of their last beat.
    copies: VecDeque<(Cycle, u32, Box<[u8]>)>,
    finishing: VecDeque<(Cycle, Finished)>,
    last_finish: Cycle,
    launched: u32,
    done: u32,
    done_at: Cycle,
    requests: Tx<Burst>,
    replies: Rx<BurstReply>,
    bytes: Counter,
    faults: Counter,
}

impl Dma {
    pub fn new(cluster: u32, params: &PspinParams, (requests, replies): (Tx<Burst>, Rx<BurstReply>)) -> Self {
        let range = |base: u32, bytes: u32| base..base + bytes;
        Dma {
            l1_base: crate::map::L1_BASE + cluster * crate::map::L1_STRIDE,
            l1_bytes: params.cluster.l1_bytes,
            l2: (
                range(crate::map::L2_HANDLER_BASE, params.l2.handler_bytes),
                range(crate::map::L2_PACKET_BASE, params.l2.packet_bytes),
            ),
            fifo: params.cluster.dma_fifo as usize,
            max_bursts: params.cluster.dma_bursts as usize,
            fills_words: params.isolation.regions == Regions::Exact,
            waiting: VecDeque::new(),
            held: Held::default(),
            accepts_from: 0,
            next_read: 0,
            reading: VecDeque::new(),
            l2_read_until: 0,
            l1_read_until: 0,
            write_free: 0,
            writing: VecDeque::new(),
            next_write: 0,
            arrived: VecDeque::new(),
            l1_written_until: 0,
            copies: VecDeque::new(),
            finishing: VecDeque::new(),
            last_finish: 0,
            launched: 0,
            done: 0,
            done_at: 0,
            requests,
            replies,
            bytes: Counter::default(),
            faults: Counter::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("dma_requests", &self.requests);
        ports.input("dma_replies", &self.replies);
    }

    /// Bytes copied, and parts of transfers whose address nothing answers at.
    pub fn totals(&self) -> (u64, u64) {
        (self.bytes.total(), self.faults.total())
    }

    /// Takes a transfer of at least one byte, if it can in this cycle; the transfer's id.
    pub fn launch(&mut self, now: Cycle, owner: Owner, src: u32, dst: u32, size: u32) -> Option<u32> {
        if !self.accepts(now) {
            return None;
        }
        self.accepts_from = now + ACCEPT_INTERVAL;
        self.launched = self.launched.wrapping_add(1);
        let mut at = 0;
        while at < size {
            let (from, to) = (src.wrapping_add(at), dst.wrapping_add(at));
            let part = (size - at).min(PAGE_BYTES - from % PAGE_BYTES).min(PAGE_BYTES - to % PAGE_BYTES);
            let chunk = Chunk { owner, src: from, dst: to, size: part, last: at + part == size };
            self.held.push(chunk.last);
            self.waiting.push_back((now + TO_READ, chunk));
            at += part;
        }
        Some(self.launched)
    }

    /// Whether it can take a transfer in this cycle.
    pub fn accepts(&mut self, now: Cycle) -> bool {
        now >= self.accepts_from && self.held.before_reshaper(now) < self.fifo
    }

    /// The id that the next transfer gets.
    pub fn next_id(&self) -> u32 {
        self.launched.wrapping_add(1)
    }

    /// The id of the last transfer that a register read in this cycle sees done.
    pub fn done_id(&self, now: Cycle) -> u32 {
        if self.done_at == now { self.done.wrapping_sub(1) } else { self.done }
    }

    /// Whether any transfer is not done.
    pub fn is_busy(&self) -> bool {
        self.launched != self.done
    }

    /// Whether nothing is under way at all, a copy of the last beat included.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.launched == self.done && self.copies.is_empty()
    }

    /// Lives through a cycle; a transfer that finishes in it.
    pub fn tick(&mut self, now: Cycle, l1: &mut L1) -> Option<Finished> {
        while let Some(reply) = self.replies.take() {
            match reply {
                BurstReply::Data { data, last, .. } => {
                    let chunk = self.reading.pop_front().expect("a reply to a read");
                    self.l2_read_until = self.l2_read_until.max(last);
                    self.arrived.push_back(Arrived { chunk, first: now, last, data });
                }
                BurstReply::Written { .. } => {
                    let chunk = self.writing.pop_front().expect("a reply to a write");
                    self.finish(&chunk, now + L2_WRITTEN_TO_DONE);
                }
            }
        }
        self.read_next(now, l1);
        self.write_next(now, l1);
        while self.copies.front().is_some_and(|&(at, ..)| at <= now) {
            let (_, offset, data) = self.copies.pop_front().expect("just seen");
            l1.write(offset, &data);
        }
        let due = self.finishing.front().is_some_and(|&(at, _)| at <= now);
        due.then(|| {
            self.done = self.done.wrapping_add(1);
            self.done_at = now;
            self.finishing.pop_front().expect("just seen").1
        })
    }

    /// The next cycle in which there is something to do, replies apart.
    pub fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let read = self.waiting.front().map(|&(at, _)| at.max(self.next_read));
        let write = self.arrived.front().map(|_| self.next_write);
        let copy = self.copies.front().map(|&(at, ..)| at);
        let finish = self.finishing.front().map(|&(at, _)| at);
        [read, write, copy, finish].into_iter().flatten().min().map(|at| at.max(now + 1))
    }

    /// Asks for the next chunk, one a cycle.
    fn read_next(&mut self, now: Cycle, l1: &mut L1) {
        let Some(&(ready, Chunk { src, size, .. })) = self.waiting.front() else { return };
        if now < ready.max(self.next_read) {
            return;
        }
        let place = self.place(src, size);
        // Bursts of one id to another target wait until those to the first are over.
        let free = match place {
            Place::L1(_) => self.reading.is_empty() && self.l2_read_until < now,
            Place::L2 => {
                // How many may be under way at once is up to the interconnect.
                self.l1_read_until < now && self.requests.has_room()
            }
            Place::Nowhere => self.reading.is_empty(),
        };
        if !free {
            // Looked at again in the next cycle.
            self.next_read = now + 1;
            return;
        }
        let (_, chunk) = self.waiting.pop_front().expect("just seen");
        self.next_read = now + 1;
        self.bytes.add(u64::from(size));
        match place {
            Place::L1(offset) => {
                let (first, last) = l1.reserve(WidePort::Dma, now + READ_TO_L1, offset, size);
                self.l1_read_until = last + L1_TO_ENGINE;
                let data = l1.read(offset, size);
                let (first, last) = (first + L1_TO_ENGINE, last + L1_TO_ENGINE);
                self.arrived.push_back(Arrived { chunk, first, last, data });
            }
            Place::L2 => {
                self.requests.send(Burst::Read { tag: 0, addr: src, size });
                self.reading.push_back(chunk);
            }
            Place::Nowhere => {
                self.faults.add(1);
                let data = vec![0; size as usize].into_boxed_slice();
                let at = now + READ_TO_L1 + L1_TO_ENGINE;
                self.arrived.push_back(Arrived { chunk, first: at, last: at + u64::from(size / 64), data });
            }
        }
    }

    /// Passes on what is at the engine, in order.
    fn write_next(&mut self, now: Cycle, l1: &mut L1) {
        while let Some(&Arrived { ref chunk, first, last, .. }) = self.arrived.front() {
            // A destination that begins earlier in its beat than the source does needs two beats for its first one.
            let first = first + u64::from(chunk.src % 64 > chunk.dst % 64);
            match self.place(chunk.dst, chunk.size) {
                Place::L1(offset) => {
                    if !self.writing.is_empty() {
                        return; // Bursts to the other target are not acknowledged yet.
                    }
                    let earliest = (first + ENGINE_TO_L1).max(self.write_free).max(now);
                    let Arrived { chunk, data, .. } = self.arrived.pop_front().expect("just seen");
                    let (_, written) = l1.reserve(WidePort::Dma, earliest, offset, chunk.size);
                    let written = written.max(last + ENGINE_TO_L1);
                    self.write_free = written + 1;
                    self.l1_written_until = written;
                    let ends_packet = self.fills_words && chunk.owner == Owner::Scheduler && chunk.last;
                    self.held.leaves(written - ENGINE_TO_L1 + 1);
                    self.copies.push_back((written, offset, if ends_packet { whole_words(data) } else { data }));
                    self.finish(&chunk, written + L1_WRITTEN_TO_DONE);
                }
                Place::L2 => {
                    let leaves = (first + ENGINE_TO_L2).max(self.write_free).max(self.l1_written_until + 1);
                    if now < leaves || self.writing.len() == self.max_bursts || !self.requests.has_room() {
                        self.next_write = leaves.max(now + 1);
                        return;
                    }
                    let Arrived { chunk, data, .. } = self.arrived.pop_front().expect("just seen");
                    self.write_free = now + (last - first.min(last)) + 1;
                    self.held.leaves(self.write_free - 1);
                    self.requests.send(Burst::Write { tag: 0, addr: chunk.dst, data });
                    self.writing.push_back(chunk);
                }
                Place::Nowhere => {
                    let Arrived { chunk, .. } = self.arrived.pop_front().expect("just seen");
                    self.held.leaves(last + 1);
                    self.faults.add(1);
                    self.finish(&chunk, last + ENGINE_TO_L1 + L1_WRITTEN_TO_DONE);
                }
            }
        }
    }

    /// A chunk is in place; transfers finish in order, one a cycle.
    fn finish(&mut self, chunk: &Chunk, at: Cycle) {
        if chunk.last {
            self.last_finish = at.max(self.last_finish + 1);
            self.finishing.push_back((self.last_finish, Finished { owner: chunk.owner }));
        }
    }

    fn place(&self, addr: u32, size: u32) -> Place {
        let end = addr.wrapping_add(size - 1);
        let offset = addr.wrapping_sub(self.l1_base);
        let (handler, packet) = &self.l2;
        if offset < self.l1_bytes && size <= self.l1_bytes - offset {
            Place::L1(offset)
        } else if (handler.contains(&addr) && handler.contains(&end))
            || (packet.contains(&addr) && packet.contains(&end))
        {
            Place::L2
        } else {
            Place::Nowhere
        }
    }
}
