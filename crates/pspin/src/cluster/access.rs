//! Accesses of cores outside their own L1: registers beside them, peripherals of the cluster, and the rest of the NIC.

use super::Cluster;
use super::dma_registers::Launcher;
use super::events::Reply;
use super::hpu::{Hpu, Wait};
use crate::map;
use crate::pe::{PeOp, PeReply, PeRequest};
use blocks::cpu::{AccessKind, Privilege};
use isa::riscv::Load;
use kernel::{Cycle, members};

/// Cycles that an access to a slow peripheral of the cluster, or a character, stalls EX.
/// Source: PsPIN RTL a49fec8, `periph_FIFO.sv`, `XBAR_PE`: request, arbitration, response, grant.
pub(super) const SLOW_PERIPHERAL: u64 = 3;
/// Cycles for which an access to an unmapped address stalls EX.
/// Source: measured on the RTL: a store to address 0 in machine mode. The crossbar of `pe_noc.sv` answers it (`axi_err_slv.sv`).
const UNMAPPED: u64 = 14;
/// Cycles from an event until the sleeping cores continue: the event unit, and the core's clock.
/// Source: measured on the RTL: PsPIN's boot, from the grant of the store to the dispatch FIFO to the next instruction.
const WAKE: u64 = 6;
/// Extra cycles of an access that reaches the peripherals over the cluster's own AXI bus. The peripheral interconnect
/// decodes only the addresses of cluster 0 and the alias. So in other clusters an absolute address of the own cluster
/// uses the bus.
/// Source: PsPIN RTL a49fec8, `cluster_interconnect_wrap.sv` (`CLUSTER_ID` of `XBAR_PE`), `axi2per_req_channel.sv`.
const CLUSTER_BUS: u64 = 10;

/// Peripherals of the first cluster.
const FIRST: u32 = map::L1_BASE + map::CLUSTER_PERIPHERALS;

/// Number of the peripheral with the public registers of the DMA engine, in bits 10 to 13 of an address.
const PUBLIC_DMA: u32 = 6;
/// Number of the instruction cache's control unit, in the same bits.
const CACHE_CONTROL: u32 = 5;

/// Number of the driver on a core's own link, in bits 10 to 19 of an address.
const DRIVER: u32 = 1 << 4 | 4;

/// Longest line of text in bytes; a longer one is printed in parts.
const MAX_TEXT: usize = 4096;

impl Cluster {
    /// The operation of core `i` on the word at [`Hpu::next_address`].
    pub(super) fn word_op(&self, i: usize) -> PeOp {
        let access = self.cores[i].core.access();
        let shift = access.addr % 4 * 8;
        match access.kind {
            AccessKind::Load(_) => PeOp::Load,
            AccessKind::Amo(amo) => PeOp::Amo { amo, operand: access.value },
            AccessKind::Store(width) => {
                let ones = u32::MAX >> (32 - 8 * width.bytes());
                if self.cores[i].first_part.is_some() {
                    PeOp::Store { value: access.value >> (32 - shift), mask: ones >> (32 - shift) }
                } else {
                    PeOp::Store { value: access.value << shift, mask: ones << shift }
                }
            }
        }
    }

    /// Performs an operation on a word of L1. Returns the old word.
    pub(super) fn word_on_l1(&mut self, addr: u32, op: PeOp, now: Cycle) -> u32 {
        let old = self.l1.load(addr);
        match op {
            PeOp::Load => old,
            PeOp::Store { value, mask } => {
                self.l1.store(addr, value, mask);
                old
            }
            PeOp::Amo { amo, operand } => self.l1.amo(now, addr, amo, operand),
        }
    }

    /// The word that core `i` requested was granted in cycle `granted`. The access is done, or its second half follows.
    pub(super) fn word_done(&mut self, i: usize, now: Cycle, granted: Cycle, word: u32) {
        let access = self.cores[i].core.access();
        let shift = access.addr % 4 * 8;
        let crosses = access.addr % 4 + access.bytes() > 4 && !matches!(access.kind, AccessKind::Amo(_));
        let raw = match (crosses, self.cores[i].first_part) {
            (true, None) => {
                self.cores[i].first_part = Some(word >> shift);
                self.fetch_behind_access(i, now);
                return self.request(i, now, granted + 1);
            }
            (true, Some(low)) => low | word << (32 - shift),
            (false, _) if matches!(access.kind, AccessKind::Amo(_)) => word,
            (false, _) => word >> shift,
        };
        self.cores[i].first_part = None;
        self.complete(i, now, granted, raw);
    }

    /// An access of core `i` to an address outside its own L1.
    pub(super) fn access_elsewhere(&mut self, i: usize, addr: u32, now: Cycle) {
        let own = map::L1_BASE + self.id * map::L1_STRIDE + map::CLUSTER_PERIPHERALS;
        let window = addr >> 20;
        let is_link = addr & 0x4000 != 0;
        let is_mistaken = self.cores.mistakes.peripherals_of_cluster_0_are_own && window == FIRST >> 20 && !is_link;
        let is_beside = window == map::ALIAS_PERIPHERALS >> 20 || window == own >> 20 || is_mistaken;
        let is_link = is_beside && is_link;
        if !is_link {
            self.fetch_behind_access(i, now);
        }
        let is_drivers = is_link && addr >> 10 & 0x3ff == DRIVER;
        if !is_drivers {
            // Accesses to the driver are the most frequent and rarely affect other parts: `access_driver` decides.
            self.plan.do_all();
        }
        if !self.is_permitted(i, addr, is_beside) {
            self.refuse(i, now);
        } else if self.cores.misaligned_amo_traps && self.cores[i].is_misaligned_amo() {
            self.refuse_misaligned(i, now);
        } else if is_beside {
            if is_link { self.access_link(i, addr, now) } else { self.access_slow(i, addr, now) }
        } else if addr >> 12 == map::STDOUT >> 12 && matches!(self.word_op(i), PeOp::Store { .. }) {
            self.put_character(i, now);
            self.word_done(i, now, now + SLOW_PERIPHERAL, 0);
        } else if !map::is_routed(addr) {
            self.totals.unmapped.add(1);
            self.word_done(i, now, now + UNMAPPED, 0);
        } else {
            let request = PeRequest { core: i as u32, addr: addr & !3, op: self.word_op(i) };
            self.cores[i].pe_request = Some((now, request));
            self.cores[i].wait = Wait::Pe;
            self.pe_asking |= 1 << i;
        }
    }

    /// Physical memory protection outside the own L1. Machine mode may access everything.
    fn is_permitted(&self, i: usize, addr: u32, is_beside: bool) -> bool {
        let Hpu { core, guard, first_part, .. } = &self.cores[i];
        let access = core.access();
        core.privilege() == Privilege::Machine
            // If the first part was permitted, the second one is too. Registers on the link are checked for each part.
            || first_part.is_some() && !is_beside
            || match (is_beside, addr & 0x4000 != 0) {
                (true, true) => guard.allows_link(addr),
                (true, false) => guard.allows_peripherals(),
                (false, _) => {
                    guard.allows(addr, access.bytes(), !matches!(access.kind, AccessKind::Load(_)))
                }
            }
    }

    /// An access over core `i`'s own link: event unit, DMA, inter-core FIFOs, driver. The core waits if it gets no
    /// grant.
    fn access_link(&mut self, i: usize, addr: u32, now: Cycle) {
        let write = match self.word_op(i) {
            PeOp::Load => None,
            PeOp::Store { value, .. } | PeOp::Amo { operand: value, .. } => Some(value),
        };
        match (addr >> 14 & 0x3f, addr >> 10 & 0xf) {
            (1, 0) => {
                let elw = self.cores[i].core.access().kind == AccessKind::Load(Load::Elw);
                let reply = self.event_unit.access(i as u32, addr & 0x3ff, write, elw);
                self.wake_sleepers(now);
                match reply {
                    Reply::Value(value) => self.word_done(i, now, now, value),
                    Reply::Sleep => self.cores[i].wait = Wait::Event,
                }
            }
            (1, 1) => self.access_dma(i, addr & 0x3c, write, now),
            (1, 2) => self.access_fifo(i, i, addr, write, now),
            (1, 3) => self.access_fifo(i, (i + 1) % self.cores.len(), addr, write, now),
            (1, 4) => self.access_driver(i, addr & 0x3fc, write, now),
            _ => self.cores[i].wait = Wait::Forever,
        }
        if matches!(self.cores[i].wait, Wait::Event | Wait::Fifo | Wait::Driver | Wait::Launch) {
            self.fetch_behind_access(i, now);
        }
    }

    fn wake_sleepers(&mut self, now: Cycle) {
        for i in members(self.event_unit.take_woken().into()) {
            self.cores.repeat(i as usize, Wait::Event, now, now + WAKE);
        }
    }

    /// Core `i` reads its own inter-core FIFO or writes its neighbour's.
    fn access_fifo(&mut self, i: usize, target: usize, addr: u32, write: Option<u32>, now: Cycle) {
        match self.cores.access_fifo(i, target, addr, write, now) {
            Some(word) => self.word_done(i, now, now, word),
            None => self.cores[i].wait = Wait::Fifo,
        }
    }

    /// An access of core `i` to a peripheral of the cluster over the PE path.
    fn access_slow(&mut self, i: usize, addr: u32, now: Cycle) {
        let op = self.word_op(i);
        if is_public_dma(addr) {
            if self.public_launch.is_some() {
                return self.cores.ready.add(i, now, now + 1);
            }
            if self.hold_public(Launcher::Core(i), addr & 0x3c, op) {
                self.cores[i].wait = Wait::Launch;
                return;
            }
        }
        let (word, extra) = match addr >> 10 & 0xf {
            CACHE_CONTROL => match self.fetch.access(addr & 0xfc, written(op), now, &mut self.plan) {
                Some(answer) => answer,
                None => return self.cores.ready.add(i, now, now + 1),
            },
            _ => (self.slow_register(i as u32, addr, op, now), 0),
        };
        let over_the_bus = ![map::ALIAS_PERIPHERALS, FIRST].map(|at| at >> 20).contains(&(addr >> 20));
        let extra = extra + if over_the_bus { CLUSTER_BUS } else { 0 };
        self.word_done(i, now, now + SLOW_PERIPHERAL + extra, word);
    }

    /// A register of the cluster's slow peripherals.
    pub(super) fn slow_register(&mut self, core: u32, addr: u32, op: PeOp, now: Cycle) -> u32 {
        let write = written(op);
        match addr >> 10 & 0xf {
            // Cluster control: the end-of-computation register has no effect here.
            0 => 0,
            1 => self.timer.access(addr & 0x3ff, write, now),
            2 | 3 => match self.event_unit.access(core, addr & 0x3ff, write, false) {
                Reply::Value(word) => {
                    self.wake_sleepers(now);
                    word
                }
                Reply::Sleep => 0,
            },
            // The window of an optional accelerator, which the cluster does not have.
            4 => 0xdead_beef,
            CACHE_CONTROL => self.fetch.access(addr & 0xfc, write, now, &mut self.plan).map_or(0, |(word, _)| word),
            PUBLIC_DMA => {
                let mut registers = self.public_dma;
                let word = self.dma_register(&mut registers, addr & 0x3c, write, now);
                self.public_dma = registers;
                word
            }
            // Unmapped.
            _ => 0,
        }
    }

    fn put_character(&mut self, i: usize, now: Cycle) {
        let character = self.cores[i].core.access().value as u8;
        let text = &mut self.cores[i].text;
        if character != b'\n' && text.len() < MAX_TEXT {
            text.push(character);
            return;
        }
        self.end_line(i, now);
        if character != b'\n' {
            self.cores[i].text.push(character);
        }
    }

    /// Prints the current line of text of core `i`.
    pub(super) fn end_line(&mut self, i: usize, now: Cycle) {
        let text = std::mem::take(&mut self.cores[i].text);
        self.console.borrow_mut().line(now, self.id, i as u32, &String::from_utf8_lossy(&text));
    }

    /// Sends one request a cycle to the PE interconnect, at the earliest in the cycle after the core's request.
    pub(super) fn send_pe_request(&mut self, now: Cycle) {
        if self.pe_asking == 0 || !self.pe.0.has_room() {
            return;
        }
        let waiting = (0..self.cores.len()).filter(|&i| self.cores[i].pe_request.is_some_and(|(since, _)| since < now));
        let waiting = waiting.fold(0, |set, i| set | 1u64 << i);
        if let Some(i) = self.pe_turn.take(waiting) {
            let (_, request) = self.cores[i as usize].pe_request.take().expect("a core that asks");
            self.pe_asking &= !(1 << i);
            self.pe.0.send(request);
        }
    }

    /// Takes a response of the PE interconnect. The core's grant follows one cycle later.
    pub(super) fn take_pe_replies(&mut self, now: Cycle) {
        if self.pe.1.is_due(now)
            && let Some(PeReply { core, value }) = self.pe.1.take()
        {
            let is_lost = self.cores.mistakes.atomics_return_one && self.cores[core as usize].is_read_and_write();
            self.word_done(core as usize, now, now + 1, if is_lost { 1 } else { value });
        }
    }
}

/// Returns true if the address of a slow peripheral is one of the DMA engine's public registers.
pub(super) fn is_public_dma(addr: u32) -> bool {
    addr >> 10 & 0xf == PUBLIC_DMA
}

/// The value that an access writes to a peripheral; `None` for a load.
fn written(op: PeOp) -> Option<u32> {
    match op {
        PeOp::Load => None,
        PeOp::Store { value, .. } | PeOp::Amo { operand: value, .. } => Some(value),
    }
}
