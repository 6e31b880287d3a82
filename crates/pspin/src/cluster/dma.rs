//! The cluster's DMA engine: copies between its L1 and L2.
//!
//! This file contains the engine's interface and its burst reshaper; `dma/movement.rs` moves the beats.

mod movement;
mod part;
#[cfg(test)]
mod tests;

use super::l1::L1;
use super::ports::DmaPorts;
use super::wide::{BeatRequester, BeatRequests};
use crate::params::{PspinParams, Regions};
use crate::protocol::PAGE_BYTES;
use kernel::trace::Counter;
use kernel::{Cycle, Ports};
use movement::Movement;
use part::{Place, ReadPart, Side, WritePart};
use std::collections::VecDeque;

/// The requester of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A core, through its own registers.
    Core(u32),
    /// A core or another cluster, through the public registers.
    Public,
    /// The cluster scheduler, which copies a packet to L1.
    Scheduler,
}

/// A transfer whose last byte is in place and acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The requester.
    pub owner: Owner,
}

/// Cycles from a transfer's acceptance until the burst reshaper takes it: the FIFO.
const TO_RESHAPER: u64 = 1;
/// Cycles from the reshaper's output of a part until its requests leave the emitters.
const TO_EMITTED: u64 = 1;
/// Cycles after which the next part of the transfer in the reshaper can send a request at the earliest: it is cut in the next cycle. A
/// transfer in the FIFO enters the reshaper a cycle before that.
const RESHAPER_TO_REQUEST: u64 = 1 + TO_EMITTED;
const FIFO_TO_REQUEST: u64 = 1 + RESHAPER_TO_REQUEST;
/// Cycles between two accepted transfers: the arbiter in front of the engine passes on one a cycle.
const ACCEPT_INTERVAL: u64 = 1;

/// The rest of a transfer that is being cut: the next addresses, and the numbers of bytes left to read and to write.
struct Transfer {
    owner: Owner,
    src: u32,
    dst: u32,
    to_read: u32,
    to_write: u32,
}

/// The engine.
///
/// Timing:  one transfer is accepted in [`ACCEPT_INTERVAL`] cycles. Its first burst leaves 3 cycles later, further ones
///          one a cycle. The engine moves 64 bytes a cycle in each direction. Transfers finish in order, one a cycle.
///          The burst reshaper cuts reads at the pages of the source and writes at those of the destination, one of each
///          in a cycle. The emitters hold 12 reads, each until its last beat is in the buffer, and 12 writes, each until
///          its last beat has left it. The burst reshaper holds the transfer whose parts are pending, and the FIFO holds
///          all later ones. The FIFO shows room 2 cycles after a beat that makes room in the emitters.
/// Source:  PsPIN RTL a49fec8, `dmac_wrap.sv`, `dma_noc.sv`, `axi_dma_burst_reshaper.sv` with `decouple_rw`; the delays of
///          its registers add up to the RTL measurements.
/// Differs: with exact regions a packet's last word in L1 is filled with zeros.
pub struct Dma {
    l1_base: u32,
    l1_bytes: u32,
    l2: [std::ops::Range<u32>; 2],
    fifo: usize,
    fills_words: bool,
    /// The FIFO: each transfer with the first cycle in which the reshaper sees it. `left_at` is the cycle of the last
    /// removal.
    waiting: VecDeque<(Cycle, Transfer)>,
    left_at: Cycle,
    /// The transfer in the burst reshaper.
    reshaped: Option<Transfer>,
    movement: Movement,
    /// First cycle in which the next transfer is accepted.
    accepts_from: Cycle,
    finishing: VecDeque<(Cycle, Finished)>,
    last_finish: Cycle,
    launched: u32,
    done: u32,
    done_at: Cycle,
    bytes: Counter,
}

impl Dma {
    pub fn new(cluster: u32, params: &PspinParams, ports: DmaPorts) -> Self {
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

    /// Number of bytes copied, and number of parts of transfers with an unmapped address.
    pub fn totals(&self) -> (u64, u64) {
        (self.bytes.total(), self.movement.faults())
    }

    /// Accepts a transfer of at least one byte in a cycle in which the engine [`Dma::accepts`] one. Returns its id.
    pub fn launch(&mut self, now: Cycle, owner: Owner, src: u32, dst: u32, size: u32) -> u32 {
        assert!(self.accepts(now), "a transfer is launched when the engine accepts it");
        self.accepts_from = now + ACCEPT_INTERVAL;
        self.launched = self.launched.wrapping_add(1);
        self.bytes.add(size.into());
        self.waiting.push_back((now + TO_RESHAPER, Transfer { owner, src, dst, to_read: size, to_write: size }));
        self.launched
    }

    /// Returns true if the engine can accept a transfer in this cycle.
    pub fn accepts(&self, now: Cycle) -> bool {
        // A transfer that leaves the FIFO in this cycle makes room in the next one.
        let held = self.waiting.len() + usize::from(self.left_at == now);
        now >= self.accepts_from && held < self.fifo
    }

    /// The id of the next transfer.
    pub fn next_id(&self) -> u32 {
        self.launched.wrapping_add(1)
    }

    /// The id of the last transfer that a register read in this cycle reports as done.
    pub fn done_id(&self, now: Cycle) -> u32 {
        if self.done_at == now { self.done.wrapping_sub(1) } else { self.done }
    }

    /// Returns true if a transfer is in progress.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.launched != self.done
    }

    /// Simulates one cycle, except for L1. Returns the transfer that finishes in it, and the requests for beats of L1.
    #[inline(always)]
    pub fn tick(&mut self, now: Cycle, l1: &L1) -> (Option<Finished>, BeatRequests) {
        if self.has_more() {
            self.reshape(now);
        }
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

    /// L1 serves the beat that this side requests.
    pub fn granted(&mut self, now: Cycle, side: BeatRequester, l1: &mut L1) {
        match side {
            BeatRequester::Read => self.movement.read_granted(now, l1),
            BeatRequester::Write => self.movement.write_granted(now, l1),
        }
    }

    /// The next cycle in which the engine has work, if no reply arrives before; `Cycle::MAX` if there is none.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        if self.reshapes() || self.movement.moves() { now + 1 } else { self.next_finish(now) }
    }

    /// Returns [`Dma::next_event`], and the first cycle after `now` in which the engine may send a request to L2 or a transfer may end,
    /// if no launch and no reply arrives. Before this cycle the engine only moves beats to L1.
    /// `is_alone`: no other beat of L1 can be requested before; `is_clearing`: stacks are cleared.
    #[inline(always)]
    pub fn plan(&self, now: Cycle, is_alone: bool, is_clearing: bool) -> (Cycle, Cycle) {
        let next = self.next_event(now);
        if next != now + 1 {
            return (next, next);
        }
        let of_next = match &self.reshaped {
            Some(_) => now + RESHAPER_TO_REQUEST,
            None if !self.waiting.is_empty() => now + FIFO_TO_REQUEST,
            None => Cycle::MAX,
        };
        let shows = self.next_finish(now).min(self.movement.shows_at(now)).min(of_next);
        let shows = if shows <= next { next } else { shows.min(self.movement.holds_at(now, is_alone, is_clearing)) };
        (next, shows)
    }

    fn next_finish(&self, now: Cycle) -> Cycle {
        self.finishing.front().map_or(Cycle::MAX, |&(at, _)| at.max(now + 1))
    }

    /// Returns true if the burst reshaper has parts to pass on.
    fn has_more(&self) -> bool {
        self.reshaped.is_some() || !self.waiting.is_empty()
    }

    /// Returns true if the burst reshaper may have work in the next cycle.
    fn reshapes(&self) -> bool {
        if !self.has_more() {
            return false;
        }
        let (may_read, may_write) = self.movement.rooms();
        match &self.reshaped {
            Some(transfer) => may_read && transfer.to_read > 0 || may_write && transfer.to_write > 0,
            None => may_read && may_write && !self.waiting.is_empty(),
        }
    }

    /// The burst reshaper cuts off a read and a write, each if the emitters have room for it. After the last ones, it takes the next
    /// transfer.
    fn reshape(&mut self, now: Cycle) {
        let (may_read, may_write) = self.movement.rooms();
        if let Some(mut transfer) = self.reshaped.take() {
            let Transfer { owner, src, dst, to_read, to_write } = transfer;
            let emitted = now + TO_EMITTED;
            if may_read && to_read > 0 {
                let size = to_read.min(PAGE_BYTES - src % PAGE_BYTES);
                // The next byte to read may be ahead of the next one to write, or behind it.
                let to = dst.wrapping_add(to_write.wrapping_sub(to_read));
                let side = Side::new(emitted, self.place(src, size), src, size);
                self.movement.take_read(ReadPart { side, to });
                (transfer.src, transfer.to_read) = (src.wrapping_add(size), to_read - size);
            }
            if may_write && to_write > 0 {
                let size = to_write.min(PAGE_BYTES - dst % PAGE_BYTES);
                let ends = size == to_write;
                let fills_word = ends && self.fills_words && owner == Owner::Scheduler;
                let from = src.wrapping_sub(to_write.wrapping_sub(to_read));
                let side = Side::new(emitted, self.place(dst, size), dst, size);
                self.movement.take_write(WritePart::new(side, from, ends.then_some(Finished { owner }), fills_word));
                (transfer.dst, transfer.to_write) = (dst.wrapping_add(size), to_write - size);
            }
            if transfer.to_read > 0 || transfer.to_write > 0 {
                self.reshaped = Some(transfer);
            }
        }
        if may_read && may_write && self.reshaped.is_none() && self.waiting.front().is_some_and(|&(at, _)| at <= now) {
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
