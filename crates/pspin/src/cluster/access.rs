//! Accesses of cores outside their own L1: registers beside them, peripherals of the cluster, and the rest of the NIC.

use super::Cluster;
use super::cores::FIRST_PERIPHERALS;
use super::dma_frontend::{DmaAccess, Launched, Launcher, is_public};
use super::drivers::DriverAccess;
use super::events::Reply;
use super::hpu::{Hpu, Wait};
use crate::events::HANDLER_LOST;
use crate::map;
use crate::pe::{PeOp, PeReply, PeRequest};
use blocks::cpu::{AccessKind, Core, Plain, Runway};
use isa::riscv::Load;
use kernel::{Cycle, members};

/// Cycles that an access to a slow peripheral of the cluster, or a character, stalls EX.
/// Source: PsPIN RTL a49fec8, `periph_FIFO.sv`, `XBAR_PE`: request, arbitration, response, grant.
const SLOW_PERIPHERAL: u64 = 3;
/// Cycles for which an access to an unmapped address stalls EX.
/// Source: measured on the RTL: a store to address 0 in machine mode. The crossbar of `pe_noc.sv` answers it (`axi_err_slv.sv`).
const UNMAPPED: u64 = 14;
/// Extra cycles of an access that reaches the peripherals over the cluster's own AXI bus. The peripheral interconnect
/// decodes only the addresses of cluster 0 and the alias. So in other clusters an absolute address of the own cluster
/// uses the bus.
/// Source: PsPIN RTL a49fec8, `cluster_interconnect_wrap.sv` (`CLUSTER_ID` of `XBAR_PE`), `axi2per_req_channel.sv`.
const CLUSTER_BUS: u64 = 10;

/// Number of the instruction cache's control unit, in bits 10 to 13 of an address.
const CACHE_CONTROL: u32 = 5;

/// Number of the driver on a core's own link, in bits 10 to 19 of an address.
const DRIVER: u32 = 1 << 4 | 4;

/// Returns true if an address of a peripheral belongs to a core's own link. See [`super::cores::Cores::is_beside`].
pub(super) fn is_link(addr: u32) -> bool {
    addr & 0x4000 != 0
}

/// Returns true if an address of a core's own link is one of the driver.
fn is_driver(addr: u32) -> bool {
    addr >> 10 & 0x3ff == DRIVER
}

impl Cluster {
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

    /// Completes the most frequent accesses outside L1, if core `i` waits for one: it reads a word of its task, or writes a word
    /// of a command. Every handler may do this. Returns false, without effect, for all other accesses.
    pub(super) fn access_driver_words(&mut self, i: usize, now: Cycle) -> bool {
        let addr = self.cores[i].core.access().addr;
        let is_open = self.plan.is_open(now);
        if !((is_open || self.plan.is_open_with_profiles(now))
            && is_driver(addr)
            && addr & 3 == 0
            && self.cores.is_beside(addr))
        {
            return false;
        }
        let Hpu { core, driver, .. } = &mut self.cores[i];
        let write = match core.waits_for() {
            Plain::LoadsWord => None,
            Plain::StoresWord => Some(core.access().value),
            Plain::Other | Plain::Not => return false,
        };
        let Some(word) = driver.access_words(now, addr & 0x3fc, write) else { return false };
        if write.is_none() {
            core.load_plain(now, word);
        }
        let runway = self.fetch.runway(self.plan.horizon(now));
        let is_at_access = match is_open {
            true => core.pass_plain::<false>(&runway, now),
            false => pass_with_profile(core, &runway, now),
        };
        if is_at_access {
            let at = core.time() + 1;
            self.request(i, now, at);
        } else {
            self.advance_carefully(i, now);
        }
        true
    }

    /// An access of core `i` to an address outside its own L1.
    pub(super) fn access_elsewhere(&mut self, i: usize, addr: u32, now: Cycle) {
        let is_beside = self.cores.is_beside(addr);
        let is_link = is_beside && is_link(addr);
        if !is_link {
            self.fetch_behind_access(i, now);
        }
        let is_drivers = is_link && is_driver(addr);
        if !is_drivers {
            // Accesses to the driver are the most frequent and rarely affect other parts: `Drivers::access` decides.
            self.plan.do_all();
        }
        if !self.cores[i].is_permitted(addr, is_beside) {
            self.refuse(i, now);
        } else if self.cores.misaligned_amo_traps && self.cores[i].is_misaligned_amo() {
            self.refuse_misaligned(i, now);
        } else if is_beside {
            if is_link { self.access_link(i, addr, now) } else { self.access_slow(i, addr, now) }
        } else if addr >> 12 == map::STDOUT >> 12 && matches!(self.cores[i].word_op(), PeOp::Store { .. }) {
            self.stdout.put(i, self.cores[i].core.access().value as u8, now);
            self.word_done(i, now, now + SLOW_PERIPHERAL, 0);
        } else if !map::is_routed(addr) {
            self.pe.unmapped.add(1);
            self.word_done(i, now, now + UNMAPPED, 0);
        } else {
            let request = PeRequest { core: i as u32, addr: addr & !3, op: self.cores[i].word_op() };
            self.pe.request(now, request);
            self.cores[i].wait = Wait::Pe;
        }
    }

    /// An access over core `i`'s own link: event unit, DMA, inter-core FIFOs, driver. The core waits if it gets no
    /// grant.
    fn access_link(&mut self, i: usize, addr: u32, now: Cycle) {
        let write = written(self.cores[i].word_op());
        match (addr >> 14 & 0x3f, addr >> 10 & 0xf) {
            (1, 0) => {
                let elw = self.cores[i].core.access().kind == AccessKind::Load(Load::Elw);
                let reply = self.peripherals.access_events(i as u32, addr, write, elw, now, &mut self.cores);
                match reply {
                    Reply::Value(value) => self.word_done(i, now, now, value),
                    Reply::Sleep => self.cores[i].wait = Wait::Event,
                }
            }
            (1, 1) => self.access_dma(i, addr, write, now),
            (1, 2) => self.access_fifo(i, i, addr, write, now),
            (1, 3) => self.access_fifo(i, (i + 1) % self.cores.len(), addr, write, now),
            (1, 4) => self.access_driver(i, addr & 0x3fc, write, now),
            _ => self.cores[i].wait = Wait::Forever,
        }
        if matches!(self.cores[i].wait, Wait::Event | Wait::Fifo | Wait::Driver | Wait::Launch) {
            self.fetch_behind_access(i, now);
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
        let op = self.cores[i].word_op();
        if is_public(addr) {
            if self.dma_frontend.is_held() {
                return self.cores.ready.add(i, now, now + 1);
            }
            if self.dma_frontend.hold(Launcher::Core(i), addr, op) {
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
        let over_the_bus = ![map::ALIAS_PERIPHERALS, FIRST_PERIPHERALS].map(|at| at >> 20).contains(&(addr >> 20));
        let extra = extra + if over_the_bus { CLUSTER_BUS } else { 0 };
        self.word_done(i, now, now + SLOW_PERIPHERAL + extra, word);
    }

    /// A register of the cluster's slow peripherals.
    fn slow_register(&mut self, core: u32, addr: u32, op: PeOp, now: Cycle) -> u32 {
        let write = written(op);
        if is_public(addr) {
            return self.dma_frontend.public.access(addr, write, &self.beats.dma, now);
        }
        if addr >> 10 & 0xf == CACHE_CONTROL {
            return self.fetch.access(addr & 0xfc, write, now, &mut self.plan).map_or(0, |(word, _)| word);
        }
        self.peripherals.access(core, addr, write, now, &mut self.cores)
    }

    /// Takes an access from another cluster. An access to L1 requests its banks, together with the cores; a peripheral
    /// answers in this cycle, except for a launch.
    #[inline(never)]
    pub(super) fn admit_remote(&mut self, now: Cycle) {
        if let Some(remote) = self.remote.take(now, &self.dma_frontend) {
            let PeRequest { addr, op, .. } = remote.request;
            if !(is_public(addr) && self.dma_frontend.hold(Launcher::Remote(remote), addr, op)) {
                let value = self.slow_register(0, addr, op, now);
                self.remote.answer(&remote, value);
            }
        }
        self.remote.request_banks(now, &mut self.cores, &self.l1);
    }

    /// Takes a response of the PE interconnect.
    pub(super) fn take_pe_replies(&mut self, now: Cycle) {
        if let Some(PeReply { core, value }) = self.pe.take(now) {
            let is_lost = self.cores.mistakes.atomics_return_one && self.cores[core as usize].is_read_and_write();
            self.word_done(core as usize, now, now + 1, if is_lost { 1 } else { value });
        }
    }

    /// Accesses the DMA registers of core `i`.
    fn access_dma(&mut self, i: usize, addr: u32, write: Option<u32>, now: Cycle) {
        match self.dma_frontend.access(i, addr, write, now, &mut self.cores, &self.beats.dma) {
            DmaAccess::Word(word) => self.word_done(i, now, now, word),
            DmaAccess::Launches => self.cores[i].wait = Wait::Launch,
            DmaAccess::Refused => self.refuse(i, now),
        }
    }

    /// The DMA engine takes a transfer, if it can.
    pub(super) fn launch_transfer(&mut self, now: Cycle) {
        let expired = self.dma_frontend.take_expired(now, &mut self.cores, &self.beats.dma);
        for core in members(expired.into()) {
            self.kill(core as usize, now);
        }
        match self.dma_frontend.launch(now, &mut self.cores, &mut self.beats.dma, self.scheduler.requests_copy()) {
            None => {}
            Some(Launched::Copy) => self.scheduler.launch_copy(now, &mut self.beats.dma, &self.trace),
            Some(Launched::Core(i, id)) => self.word_done(i, now, now, id),
            Some(Launched::Expired(i)) => self.kill(i, now),
            Some(Launched::Public(Launcher::Core(i), id)) => self.word_done(i, now, now + SLOW_PERIPHERAL, id),
            Some(Launched::Public(Launcher::Remote(remote), id)) => self.remote.answer(&remote, id),
        }
    }

    /// Core `i` reads or writes a register of its driver.
    fn access_driver(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        match self.drivers.access(i, (offset, write), now, &mut self.cores, &mut self.plan, &self.trace) {
            DriverAccess::Granted(granted, word, ended) => {
                if granted > now {
                    self.fetch_behind_access(i, now);
                }
                self.word_done(i, now, granted, word);
                if let Some((packet, stage)) = ended {
                    let lost = (0..).zip(self.cores[i].core.lost_between_marks()).filter(|(_, cycles)| **cycles > 0);
                    lost.for_each(|(cause, cycles)| {
                        self.trace.emit(&HANDLER_LOST, granted, &[packet, stage, cause, *cycles]);
                    });
                }
            }
            DriverAccess::Blocked => self.cores[i].wait = Wait::Driver,
            DriverAccess::Refused => self.refuse(i, now),
            DriverAccess::OtherContext => self.clear_core(i, now),
        }
    }
}

/// The value that an access writes to a peripheral; `None` for a load.
fn written(op: PeOp) -> Option<u32> {
    match op {
        PeOp::Load => None,
        PeOp::Store { value, .. } | PeOp::Amo { operand: value, .. } => Some(value),
    }
}

/// Does the same as [`Core::pass_plain`], which is inlined only for cores without profiles.
#[inline(never)]
fn pass_with_profile(core: &mut Core, runway: &Runway, granted: Cycle) -> bool {
    core.pass_plain::<true>(runway, granted)
}
