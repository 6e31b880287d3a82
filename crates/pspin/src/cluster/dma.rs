//! The cluster's DMA engine: copies between its L1 and L2.
//!
//! This file is what its user sees of it, `dma/movement.rs` how beats move.

mod chunk;
mod movement;
#[cfg(test)]
mod tests;

use super::l1::L1;
use super::wide::{BeatRequests, Side};
use crate::params::{PspinParams, Regions};
use crate::protocol::{Burst, BurstReply, PAGE_BYTES};
use chunk::{Chunk, Place};
use kernel::trace::Counter;
use kernel::{Cycle, Ports, Rx, Tx};
use movement::{EMITTERS, Movement};
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

/// From a transfer's acceptance until the burst reshaper takes it: the FIFO.
const TO_RESHAPER: u64 = 1;
/// From a part that the burst reshaper hands on until its requests leave the emitters.
const TO_EMITTED: u64 = 1;
/// From one accepted transfer to the next: the arbiter before the engine hands one over each cycle.
const ACCEPT_INTERVAL: u64 = 1;

/// A transfer, as far as it is not cut into parts.
struct Transfer {
    owner: Owner,
    src: u32,
    dst: u32,
    left: u32,
}

/// The engine.
///
/// Timing:  one transfer accepted in [`ACCEPT_INTERVAL`] cycles; its first burst leaves 3 cycles later, further ones one a
///          cycle; 64 bytes a cycle each way; transfers finish in order, one a cycle. Parts of transfers are held by the
///          emitters until their last beat has left the buffer, [`EMITTERS`] at most, a transfer of which some are to come by
///          the burst reshaper, all others by the FIFO, which shows room 2 cycles after a beat that makes room in the emitters.
/// Source:  PsPIN RTL a49fec8, `dmac_wrap.sv`, `dma_noc.sv`; sums of its registers agree with RTL measurements.
/// Differs: a transfer is cut at the pages of both sides, where the RTL cuts reads at those of the source and writes at those
///          of the destination; with exact regions a packet's last word in L1 is filled with zeros.
pub struct Dma {
    l1_base: u32,
    l1_bytes: u32,
    l2: [std::ops::Range<u32>; 2],
    fifo: usize,
    fills_words: bool,
    /// The FIFO, with the cycle from which on the reshaper sees a transfer, and when one left it last.
    waiting: VecDeque<(Cycle, Transfer)>,
    left_at: Cycle,
    /// The burst reshaper.
    reshaped: Option<Transfer>,
    movement: Movement,
    /// The next transfer is accepted from this cycle on.
    accepts_from: Cycle,
    finishing: VecDeque<(Cycle, Finished)>,
    last_finish: Cycle,
    launched: u32,
    done: u32,
    done_at: Cycle,
    bytes: Counter,
}

impl Dma {
    pub fn new(cluster: u32, params: &PspinParams, ports: (Tx<Burst>, Rx<BurstReply>)) -> Self {
        let range = |base: u32, bytes: u32| base..base + bytes;
        Dma {
            l1_base: crate::map::L1_BASE + cluster * crate::map::L1_STRIDE,
            l1_bytes: params.cluster.l1_bytes,
            l2: [
                range(crate::map::L2_HANDLER_BASE, params.l2.handler_bytes),
                range(crate::map::L2_PACKET_BASE, params.l2.packet_bytes),
            ],
            fifo: params.cluster.dma_fifo as usize,
            fills_words: params.isolation.regions == Regions::Exact,
            waiting: VecDeque::new(),
            left_at: 0,
            reshaped: None,
            movement: Movement::new(params.cluster.dma_bursts, ports),
            accepts_from: 0,
            finishing: VecDeque::new(),
            last_finish: 0,
            launched: 0,
            done: 0,
            done_at: 0,
            bytes: Counter::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        self.movement.ports(ports);
    }

    /// Bytes copied, and parts of transfers whose address nothing answers at.
    pub fn totals(&self) -> (u64, u64) {
        (self.bytes.total(), self.movement.faults())
    }

    /// Takes a transfer of at least one byte in a cycle in which it [`Dma::accepts`] one; the transfer's id.
    pub fn launch(&mut self, now: Cycle, owner: Owner, src: u32, dst: u32, size: u32) -> u32 {
        assert!(self.accepts(now), "a transfer is launched when the engine accepts it");
        self.accepts_from = now + ACCEPT_INTERVAL;
        self.launched = self.launched.wrapping_add(1);
        self.bytes.add(size.into());
        self.waiting.push_back((now + TO_RESHAPER, Transfer { owner, src, dst, left: size }));
        self.launched
    }

    /// Whether it can take a transfer in this cycle.
    pub fn accepts(&self, now: Cycle) -> bool {
        // What leaves the FIFO in this cycle makes room in the next.
        let held = self.waiting.len() + usize::from(self.left_at == now);
        now >= self.accepts_from && held < self.fifo
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
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.launched != self.done
    }

    /// Lives through a cycle, but for L1: a transfer that finishes in it, and the beats that are asked of L1.
    pub fn tick(&mut self, now: Cycle, l1: &L1) -> (Option<Finished>, BeatRequests) {
        self.reshape(now);
        self.movement.tick(now, l1);
        while let Some((at, finished)) = self.movement.next_finished() {
            self.last_finish = at.max(self.last_finish + 1);
            self.finishing.push_back((self.last_finish, finished));
        }
        let is_due = self.finishing.front().is_some_and(|&(at, _)| at <= now);
        let finished = is_due.then(|| {
            self.done = self.done.wrapping_add(1);
            self.done_at = now;
            self.finishing.pop_front().expect("just seen").1
        });
        (finished, self.movement.requests())
    }

    /// L1 serves the beat that this side asks for.
    pub fn granted(&mut self, now: Cycle, side: Side, l1: &mut L1) {
        match side {
            Side::Read => self.movement.read_granted(now, l1),
            Side::Write => self.movement.write_granted(now, l1),
        }
    }

    /// The next cycle in which there is something to do, replies apart; `Cycle::MAX` if there is none.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let reshapes = self.has_more() && self.movement.n_emitted() < EMITTERS;
        if reshapes || self.movement.moves() { now + 1 } else { self.next_finish(now) }
    }

    /// The first cycle behind `now` in which it may ask L2 for something or a transfer may end, if neither launches nor
    /// answers come; before that it moves beats to L1 and nothing else.
    pub fn shows_at(&self, now: Cycle) -> Cycle {
        match self.next_event(now) {
            next if next == now + 1 && !self.has_more() => self.next_finish(now).min(self.movement.shows_at(now)),
            next => next,
        }
    }

    fn next_finish(&self, now: Cycle) -> Cycle {
        self.finishing.front().map_or(Cycle::MAX, |&(at, _)| at.max(now + 1))
    }

    /// Whether the burst reshaper has parts to hand on.
    fn has_more(&self) -> bool {
        self.reshaped.is_some() || !self.waiting.is_empty()
    }

    /// The burst reshaper hands a part on and takes the next transfer, if there is room behind it.
    fn reshape(&mut self, now: Cycle) {
        if self.movement.n_emitted() >= EMITTERS {
            return;
        }
        if let Some(Transfer { owner, src, dst, left }) = self.reshaped.take() {
            let size = left.min(PAGE_BYTES - src % PAGE_BYTES).min(PAGE_BYTES - dst % PAGE_BYTES);
            let ends = size == left;
            let fills_word = ends && self.fills_words && owner == Owner::Scheduler;
            let (from, to) = ((self.place(src, size), src), (self.place(dst, size), dst));
            let finishes = ends.then_some(Finished { owner });
            self.movement.take(Chunk::new(now + TO_EMITTED, from, to, size, finishes, fills_word));
            if !ends {
                let (src, dst) = (src.wrapping_add(size), dst.wrapping_add(size));
                self.reshaped = Some(Transfer { owner, src, dst, left: left - size });
            }
        }
        if self.reshaped.is_none() && self.waiting.front().is_some_and(|&(at, _)| at <= now) {
            self.left_at = now;
            self.reshaped = self.waiting.pop_front().map(|(_, transfer)| transfer);
        }
    }

    fn place(&self, addr: u32, size: u32) -> Place {
        let end = addr.wrapping_add(size - 1);
        let offset = addr.wrapping_sub(self.l1_base);
        if offset < self.l1_bytes && size <= self.l1_bytes - offset {
            Place::L1(offset)
        } else if self.l2.iter().any(|memory| memory.contains(&addr) && memory.contains(&end)) {
            Place::L2
        } else {
            Place::Nowhere
        }
    }
}
