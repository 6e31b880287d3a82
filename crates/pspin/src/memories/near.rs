//! The port of the L2 memories towards the clusters: single accesses of cores, and bursts of DMA engines.

use super::memory::{Memory, MemoryPortSide, NEAR, position};
use super::reads::{Read, Requester};
use super::singles::is_atomic;
use super::{HANDLER, Memories, PACKET, READ, WRITE};
use crate::arbiter::LockingTree;
use crate::map;
use crate::params::MAX_CORES;
use crate::pe::{PeOp, PeReply, PeRequest, RemoteReply, RemoteRequest};
use isa::riscv::Amo;
use kernel::Cycle;
use std::ops::Range;

/// Cycles for which a read of a cluster's DMA engine keeps one of its places in the interconnect, beyond its further beats:
/// request, SRAM, answer, and back before the next request. Source: PsPIN RTL a49fec8, `dma_noc.sv`, `axi_id_remap.sv`.
pub(super) const DMA_READ_PLACE: u64 = 4;

/// Returns true if an access to handler memory reads it: a load, or an atomic operation, which then writes.
fn is_read(op: PeOp) -> bool {
    !matches!(op, PeOp::Store { .. } | PeOp::Amo { amo: Amo::StoreConditional, .. })
}

/// The turn among the reads of the clusters' DMA engines, to either memory. The engine whose turn it is delays all others
/// until its read passes. Source: PsPIN RTL a49fec8, `dma_noc.sv`, `axi_mux.sv`.
#[derive(Default)]
pub(super) struct DmaTurn {
    turn: LockingTree,
    /// Clusters whose engine requests a bank in this cycle, and the one whose turn it is, as bit sets.
    requests: u64,
    chosen: u64,
    passes: bool,
}

impl DmaTurn {
    /// The cluster whose turn it is.
    fn chosen(&self) -> usize {
        self.chosen.trailing_zeros() as usize
    }

    fn pass(&mut self) -> usize {
        self.passes = true;
        std::mem::take(&mut self.chosen).trailing_zeros() as usize
    }

    /// The cycle is over.
    pub(super) fn settle(&mut self) {
        if self.requests != 0 {
            self.turn.take(self.requests, std::mem::take(&mut self.passes));
        }
    }
}

impl Memories {
    /// Chooses the DMA engine whose read may pass in this cycle.
    pub(super) fn choose_dma_read(&mut self) {
        let requests = self.fronts[NEAR].to(HANDLER, READ) | self.fronts[NEAR].to(PACKET, READ);
        self.dma_turn.requests = requests;
        self.dma_turn.chosen = self.dma_turn.turn.choose(requests).map_or(0, |cluster| 1 << cluster);
    }

    /// Single accesses arrive: those to memories wait for their turn, others continue to another cluster or to the
    /// control block, or are unmapped.
    pub(super) fn take_singles(&mut self, now: Cycle) {
        for cluster in self.waiting.pe.positions() {
            let requests = &self.ports.pe[cluster].0;
            let Some(request) = requests.take_due(now) else { continue };
            self.waiting.pe.taken(cluster, requests);
            let target = (request.addr.wrapping_sub(map::L1_BASE) / map::L1_STRIDE) as usize;
            if self.memory_at(request.addr).is_some() {
                self.singles.push(cluster, request);
            } else if let Some((remote, _)) = self.ports.remote.get(target) {
                // There is room for an access of every core.
                remote.send(RemoteRequest { from: cluster as u32, request });
            } else {
                let value = self.control_register(&request);
                let reply = PeReply { core: request.core, value };
                self.singles.reply_at(now + self.timing.packet_load, false, cluster, reply);
            }
        }
    }

    /// Answers of other clusters.
    pub(super) fn take_remote_replies(&mut self, now: Cycle) {
        for target in self.waiting.remote.positions() {
            let replies = &self.ports.remote[target].1;
            let Some(RemoteReply { to, reply, op }) = replies.take_due(now) else { continue };
            self.waiting.remote.taken(target, replies);
            match op {
                PeOp::Load => self.singles.reply_at(now + self.timing.remote_load, false, to as usize, reply),
                PeOp::Store { .. } => self.singles.reply_at(now + self.timing.remote_store, true, to as usize, reply),
                op if is_atomic(op) => self.singles.reply_to_amo(now + self.timing.remote_amo, to as usize, reply),
                PeOp::Amo { .. } => self.singles.reply_at(now + self.timing.remote_amo, true, to as usize, reply),
            }
        }
    }

    /// Bursts come to this port, and single accesses request their banks. For each side with a single access, returns
    /// the requests for the side.
    pub(super) fn take_near(&mut self, memory: usize, now: Cycle) -> [Option<u64>; 2] {
        let mut singles = [None; 2];
        for side in [WRITE, READ] {
            let at = position(NEAR, side);
            if side == READ && memory == PACKET {
                singles[READ] = self.take_near_reads(now).then_some(0);
                break;
            }
            if side == WRITE && self.singles.next(WRITE).is_none() && self.fronts[NEAR].to(memory, WRITE) == 0 {
                continue;
            }
            // Reads pass while a burst is under way: single reads go between its beats, and bursts wait behind it.
            let is_free = side == READ || self.memories[memory].banks.end(at) <= now;
            let single = is_free && self.passes(memory, side, now);
            let mut dma = if is_free { self.burst_candidates(NEAR, memory, side) } else { 0 };
            if dma != 0 {
                dma &= !self.clusters_elsewhere(memory, side, now);
            }
            if side == READ && dma != 0 {
                dma &= self.dma_turn.chosen & self.clusters_with_place(now);
                if !self.singles.filter.has_place(now) {
                    dma = 0;
                }
            }
            let requests = u64::from(single) | u64::from(dma != 0) << 1;
            let Memory { banks, sides, reads, .. } = &mut self.memories[memory];
            if side == WRITE && !sides[at].address_passes(requests != 0, &mut reads[NEAR], now) {
                continue;
            }
            match sides[at].turn.choose(requests) {
                Some(0) if memory == HANDLER && self.singles.next(side).is_some_and(|request| is_read(request.op)) => {
                    sides[at].turn.grant(requests);
                    sides[at].has_address = false;
                    let (cluster, request) = self.singles.take(side, now);
                    self.singles.filter.pass(now, cluster, request);
                }
                Some(0) => {
                    let addr = self.singles.next(side).expect("an access that was seen").addr;
                    banks.request(at, addr);
                    singles[side] = Some(requests);
                }
                Some(_) if side == READ => {
                    sides[at].turn.grant(requests);
                    let cluster = self.dma_turn.pass();
                    let burst = self.take_front(NEAR, cluster, now);
                    self.memories[memory].bursts.push_back((cluster, burst));
                    self.dma_reads[cluster].push_back((Cycle::MAX, memory));
                    self.singles.filter.pass_burst(now);
                }
                Some(_) => {
                    sides[at].turn.grant(requests);
                    let cluster = sides[at].dma.take(dma).expect("a requester") as usize;
                    self.take_burst(memory, at, cluster, now);
                }
                None => {}
            }
        }
        if memory == HANDLER {
            self.come_handler_read(now);
            if let Some(addr) = self.singles.filter.request(now) {
                self.memories[memory].banks.request(position(NEAR, READ), addr);
                singles[READ] = Some(0);
            }
        }
        singles
    }

    /// The next read burst behind the filter comes to its banks when the one before is over.
    fn come_handler_read(&mut self, now: Cycle) {
        let at = position(NEAR, READ);
        let handler = &mut self.memories[HANDLER];
        if handler.banks.end(at) <= now
            && let Some((cluster, burst)) = handler.bursts.pop_front()
        {
            handler.sides[at].reading = None;
            handler.come(at, cluster, burst, now);
        }
    }

    /// Moves reads of packet memory on their way. Returns true if a single access requests its bank.
    fn take_near_reads(&mut self, now: Cycle) -> bool {
        let at = position(NEAR, READ);
        let mut dma = self.burst_candidates(NEAR, PACKET, READ);
        if dma != 0 {
            dma &= !self.clusters_elsewhere(PACKET, READ, now);
        }
        if dma != 0 {
            dma &= self.dma_turn.chosen & self.clusters_with_place(now);
        }
        let single = self.singles.next(READ).is_some_and(|request| self.memories[PACKET].contains(request.addr));
        let requests = u64::from(single) | u64::from(dma != 0) << 1;
        let Memory { reads, .. } = &mut self.memories[PACKET];
        if let Some(chosen) = reads[NEAR].turn.choose(requests) {
            let who = match chosen {
                0 => {
                    let (cluster, core) = self.singles.next_reader().expect("an access that was seen");
                    self.ports.dma.len() + cluster * MAX_CORES + core as usize
                }
                _ => self.dma_turn.chosen(),
            };
            let passes = reads[NEAR].show(who, now);
            reads[NEAR].turn.take(requests, passes);
            if passes && chosen == 0 {
                let (cluster, request) = self.singles.take(READ, now);
                reads[NEAR].push(who, Read::Single(cluster, request), now);
            } else if passes {
                let cluster = self.dma_turn.pass();
                let burst = self.take_front(NEAR, cluster, now);
                self.dma_reads[cluster].push_back((Cycle::MAX, PACKET));
                self.memories[PACKET].reads[NEAR].push(cluster, Read::Burst(cluster, burst), now);
            }
        }
        self.come_read(PACKET, NEAR, now);
        let Memory { banks, reads, .. } = &mut self.memories[PACKET];
        if reads[NEAR].request(now, banks.end(at).saturating_sub(now)) != Some(Requester::Single) {
            return false;
        }
        banks.request(at, reads[NEAR].single().expect("a single access"));
        true
    }

    /// Performs the single accesses that no bank has refused.
    pub(super) fn pass_singles(&mut self, memory: usize, singles: [Option<u64>; 2], refused: u64, now: Cycle) {
        for side in [WRITE, READ] {
            let at = position(NEAR, side);
            let Some(requests) = singles[side].filter(|_| refused >> at & 1 == 0) else { continue };
            let Memory { sides, reads, back, .. } = &mut self.memories[memory];
            let (cluster, request) = match (side, memory) {
                (READ, PACKET) => {
                    back.pass_single(now);
                    reads[NEAR].take_single(now)
                }
                (READ, _) => self.singles.filter.take(),
                _ => {
                    sides[at].turn.grant(requests);
                    sides[at].has_address = false;
                    self.singles.take(side, now)
                }
            };
            self.access(cluster, request, memory, now);
        }
    }

    /// Returns true if the next single access goes to this side of this memory and may be served now.
    fn passes(&mut self, memory: usize, side: usize, now: Cycle) -> bool {
        let Some(&PeRequest { addr, op, .. }) = self.singles.next(side) else { return false };
        // The data of a write follow its address.
        if side == WRITE && (!is_read(op) || memory == PACKET) && self.singles.write_came(now) {
            return false;
        }
        self.memories[memory].contains(addr)
            && (memory == PACKET
                || match op {
                    PeOp::Store { .. } | PeOp::Amo { amo: Amo::StoreConditional, .. } => {
                        self.singles.filter.takes_write(addr, now)
                    }
                    PeOp::Load | PeOp::Amo { amo: Amo::LoadReserved, .. } => self.singles.filter.has_place(now),
                    PeOp::Amo { .. } => self.singles.filter.takes_amo(now),
                })
    }

    /// Clusters whose DMA engine may have one more read under way.
    fn clusters_with_place(&mut self, now: Cycle) -> u64 {
        let mut clusters = 0;
        for (cluster, places) in self.dma_reads.iter_mut().enumerate() {
            while places.front().is_some_and(|&(free, _)| free <= now) {
                places.pop_front();
            }
            clusters |= u64::from(places.len() < self.max_dma_reads) << cluster;
        }
        clusters
    }

    /// Clusters whose DMA engine has bursts of this direction under way to the other memory. Answers come in the order of the
    /// engine's bursts, so its bursts to this memory wait. Source: `axi_demux.sv`, of `l2_xbar.sv`.
    fn clusters_elsewhere(&self, memory: usize, side: usize, now: Cycle) -> u64 {
        let other = HANDLER + PACKET - memory;
        let MemoryPortSide { coming, writing, .. } = &self.memories[other].sides[position(NEAR, side)];
        let burst = coming.as_ref().map(|&(cluster, _)| cluster).into_iter();
        let mut clusters = burst.chain(writing.map(|(cluster, _)| cluster)).fold(0, |set, cluster| set | 1 << cluster);
        if side == READ {
            for (cluster, places) in self.dma_reads.iter().enumerate() {
                let is_there = places.iter().any(|&(free, read)| read == other && free > now);
                clusters |= u64::from(is_there) << cluster;
            }
        }
        clusters
    }

    /// Performs a single access to a memory.
    fn access(&mut self, cluster: usize, request: PeRequest, memory: usize, now: Cycle) {
        self.pe_accesses.add(1);
        let PeRequest { core, addr, op } = request;
        let old = self.memories[memory].word(addr);
        let hart = cluster * MAX_CORES + core as usize;
        let reply = |value| PeReply { core, value };
        match op {
            PeOp::Store { value, mask } => {
                self.memories[memory].set_word(addr, old & !mask | value & mask);
                self.forget_reservations(addr..addr + 1);
                let cycles = if memory == PACKET { self.timing.packet_store } else { self.timing.handler_store };
                self.singles.reply_at(now - 1 + cycles, true, cluster, reply(0));
            }
            PeOp::Load | PeOp::Amo { amo: Amo::LoadReserved, .. } if memory == PACKET => {
                self.singles.answer_read(now + self.timing.packet_load, cluster, reply(old));
            }
            PeOp::Load => self.singles.filter.read(now, cluster, reply(old), false),
            PeOp::Amo { .. } if memory == PACKET => {
                self.singles.reply_at(now - 1 + self.timing.packet_amo, true, cluster, reply(old));
            }
            PeOp::Amo { amo: Amo::LoadReserved, .. } => {
                self.reservations[hart] = Some(addr);
                self.has_reservations = true;
                self.singles.filter.read(now, cluster, reply(old), false);
            }
            PeOp::Amo { amo: Amo::StoreConditional, operand } => {
                let holds = self.reservations[hart] == Some(addr);
                if holds {
                    self.memories[memory].set_word(addr, operand);
                    self.forget_reservations(addr..addr + 1);
                }
                self.reservations[hart] = None;
                self.singles.reply_at(now - 1 + self.timing.handler_store, true, cluster, reply(u32::from(!holds)));
            }
            PeOp::Amo { amo, operand } => {
                self.memories[memory].set_word(addr, amo.apply(old, operand));
                self.forget_reservations(addr..addr + 1);
                self.singles.filter.read(now, cluster, reply(old), true);
            }
        }
    }

    /// Removes the reservations of words whose first byte is in the `written` range.
    pub(super) fn forget_reservations(&mut self, written: Range<u32>) {
        if self.has_reservations {
            self.reservations.iter_mut().for_each(|held| *held = held.filter(|word| !written.contains(word)));
            self.has_reservations = self.reservations.iter().any(Option::is_some);
        }
    }

    fn control_register(&mut self, request: &PeRequest) -> u32 {
        match request.addr.wrapping_sub(map::SOC_CONTROL) {
            0x10 => self.info,
            offset @ 0x80..0x90 => {
                let register = &mut self.control[((offset - 0x80) / 4) as usize];
                let old = *register;
                if let PeOp::Store { value, mask } = request.op {
                    *register = old & !mask | value & mask;
                }
                old
            }
            0..0x2000 => 0,
            _ => {
                self.faults.add(1);
                0
            }
        }
    }
}
