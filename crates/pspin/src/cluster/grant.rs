//! A cycle of the cores: the arbitration of L1's banks, and the run of each core after its grant.
//!
//! Apart from the cores themselves, a simulation of busy cores spends most of its time here. Most accesses are within a
//! word, permitted, and to banks without another request. All other accesses take a function call.

use super::Cluster;
use super::hpu::Wait;
use super::l1::{L1, OUTSIDE_PORT, OUTSIDE_PORTS};
use super::ready::Requests;
use blocks::cpu::{Access, AccessKind, Core, Plain};
use isa::riscv::{Load, Width};
use kernel::{Cycle, members};

/// Work that is left for a port.
enum Left {
    /// To perform its access: only the bank's arbiter has noted the grant.
    Grant(u32),
    /// To run its core on from an instruction that needs checks.
    Run(usize),
}

impl Cluster {
    /// Lets the cores continue whose next step is due in this cycle and is not a request to a bank of L1. Also admits accesses of other
    /// clusters.
    #[inline(never)]
    pub(super) fn run_others(&mut self, now: Cycle) {
        let others = self.cores.ready.take_others(now);
        self.grant_others(others, now);
        if !self.plan.is_cores_only(now) {
            self.admit_remote(now);
        }
    }

    /// Does the same as [`Cluster::grant_banks`], which is inlined only where nothing else happens in a cycle.
    #[inline(never)]
    pub(super) fn grant_banks_among_others(&mut self, now: Cycle) {
        self.grant_banks(now);
    }

    /// Decides the requests to banks of L1 in this cycle, and lets the cores continue that get their banks.
    #[inline(always)]
    pub(super) fn grant_banks(&mut self, now: Cycle) {
        let Requests { ports, banks, contested } = self.cores.ready.take_requests(now);
        if ports == 0 {
            return;
        }
        let blocked = self.l1.blocked(now);
        if contested | banks & blocked == 0 {
            self.grant_all(ports, now);
        } else {
            self.share_banks(ports, contested | blocked, blocked, now);
        }
    }

    /// These cores perform their due action, which is not a bank request.
    fn grant_others(&mut self, cores: u32, now: Cycle) {
        for i in members(cores.into()).map(|core| core as usize) {
            match self.cores[i].wait {
                Wait::Access => self.access(i, now),
                Wait::Fetch(addr) => self.fetch(i, addr, now),
                Wait::Prefetch(addr, after) => {
                    self.prefetch(i, addr, now, now + after);
                    self.advance(i, now);
                }
                Wait::Killed => self.kill(i, now),
                _ => self.advance(i, now),
            }
        }
    }

    /// Core `i` requests memory, but not a bank of the own L1 that it may access.
    fn access(&mut self, i: usize, now: Cycle) {
        if self.access_driver_words(i, now) {
            return;
        }
        let addr = self.cores[i].next_address();
        if self.cores[i].guard.is_own_l1(addr) { self.refuse(i, now) } else { self.access_elsewhere(i, addr, now) }
    }

    /// Grants each of these ports its bank. No other port requests the same bank.
    #[inline(always)]
    fn grant_all(&mut self, mut requests: u32, now: Cycle) {
        while requests != 0 {
            if self.plan.is_open(now) {
                match self.grant_swiftly::<false>(&mut requests, now) {
                    None => return,
                    Some(left) => self.do_rest(left, now),
                }
            } else if self.plan.is_open_with_profiles(now) {
                self.grant_with_profiles(&mut requests, now);
            } else {
                let port = take_first(&mut requests);
                self.l1.grant_alone(self.cores.banks[port as usize].into(), port);
                self.grant(port, now);
            }
        }
    }

    /// Does the same for cores with profiles, if they may complete plain accesses, up to the first that needs more work: that may end
    /// the cycles in which they may.
    #[inline(never)]
    fn grant_with_profiles(&mut self, requests: &mut u32, now: Cycle) {
        if let Some(left) = self.grant_swiftly::<true>(requests, now) {
            self.do_rest(left, now);
        }
    }

    /// Does the work that [`Cluster::grant_swiftly`] has left.
    #[inline(always)]
    fn do_rest(&mut self, left: Left, now: Cycle) {
        match left {
            Left::Grant(port) => self.grant(port, now),
            Left::Run(i) => self.advance_carefully(i, now),
        }
    }

    /// Grants these ports their banks and lets their cores run to their next accesses. Each port is removed from the set. If a port
    /// needs more work, this stops and returns the work; that is rare. `PROFILES` tells that the cores have profiles.
    #[inline(always)]
    fn grant_swiftly<const PROFILES: bool>(&mut self, requests: &mut u32, now: Cycle) -> Option<Left> {
        let Cluster { cores, l1, fetch, plan, .. } = self;
        let runway = fetch.runway(plan.horizon(now));
        while *requests != 0 {
            let port = take_first(requests);
            let i = port as usize;
            l1.grant_alone(cores.banks[i].into(), port);
            let Some(hpu) = cores.hpus.get_mut(i) else { return Some(Left::Grant(port)) };
            let core = &mut hpu.core;
            let &Access { addr, value, .. } = core.access();
            match core.waits_for() {
                Plain::LoadsWord if addr & 3 == 0 => core.load_plain(now, l1.load(addr)),
                Plain::StoresWord if addr & 3 == 0 => *l1.word(addr) = value.to_le_bytes(),
                _ if access_part_of_word(core, l1, now) => {}
                _ => return Some(Left::Grant(port)),
            }
            if !core.pass_plain::<PROFILES>(&runway, now) {
                return Some(Left::Run(i));
            }
            let at = hpu.core.time() + 1;
            let addr = hpu.core.access().addr;
            if hpu.accesses_l1(addr) {
                let bank = l1.bank(addr) as u8;
                cores.banks[i] = bank;
                cores.ready.request(port, bank, now, at);
            } else {
                cores.ready.add(i, now, at);
            }
        }
        None
    }

    /// Some of the requests are for the same bank, or for a `blocked` one. `special` contains both kinds of banks.
    #[inline(never)]
    fn share_banks(&mut self, mut requests: u32, special: u64, blocked: u64, now: Cycle) {
        while requests != 0 {
            let port = requests.trailing_zeros();
            let bank = self.cores.banks[port as usize];
            if special >> bank & 1 == 0 {
                requests &= requests - 1;
                self.l1.grant_alone(bank.into(), port);
                self.grant_among_others(port, now);
                continue;
            }
            let same = members(requests.into()).filter(|&port| self.cores.banks[port as usize] == bank);
            let same = same.fold(0, |set, port| set | 1 << port);
            requests &= !same;
            let mut losers = same;
            if blocked >> bank & 1 == 0 {
                let winner = self.l1.arbitrate(bank.into(), same.into());
                losers &= !(1 << winner);
                self.grant_among_others(winner, now);
            }
            self.l1.conflicts.add(u64::from(losers.count_ones()));
            // Outside ports repeat their requests by themselves.
            let losers = losers & !OUTSIDE_PORTS;
            self.cores.ready.request_again(losers, bank, now + 1);
            members(losers.into()).for_each(|core| self.fetch_behind_access(core as usize, now));
        }
    }

    /// Does the same as [`Cluster::grant`], which is inlined only where no other request competes.
    #[inline(never)]
    fn grant_among_others(&mut self, port: u32, now: Cycle) {
        self.grant(port, now);
    }

    /// A narrow request gets its bank.
    #[inline(never)]
    fn grant(&mut self, port: u32, now: Cycle) {
        if port >= OUTSIDE_PORT {
            return self.remote.grant(port, self.cores.banks[port as usize].into(), &mut self.l1, now);
        }
        let i = port as usize;
        let hpu = &mut self.cores.hpus[i];
        let core = &mut hpu.core;
        let access = core.access();
        let Access { addr, value, kind, .. } = *access;
        let (shift, bytes) = (addr % 4 * 8, access.bytes());
        // Almost every access is of a word or within one, and almost every core runs ahead to its next access.
        match kind {
            AccessKind::Load(Load::Word) if shift == 0 => core.loaded(now, self.l1.load(addr)),
            AccessKind::Store(Width::Word) if shift == 0 => {
                self.l1.store(addr, value, u32::MAX);
                core.stored(now);
            }
            AccessKind::Load(load) if shift + 8 * bytes <= 32 => {
                core.loaded(now, load.extend(self.l1.load(addr) >> shift));
            }
            AccessKind::Store(_) if shift + 8 * bytes <= 32 => {
                self.l1.store(addr, value << shift, (u32::MAX >> (32 - 8 * bytes)) << shift);
                core.stored(now);
            }
            AccessKind::Amo(_) if addr & 3 != 0 && self.cores.misaligned_amo_traps => {
                return self.refuse_misaligned(i, now);
            }
            AccessKind::Amo(amo) => core.loaded(now, self.l1.amo(now, addr & !3, amo, value)),
            _ => return self.grant_part(i, now),
        }
        debug_assert!(hpu.first_part.is_none(), "an access within a word has one part");
        let horizon = self.plan.horizon(now).min(hpu.deadline);
        if !core.run_ahead(&self.fetch.runway(horizon)) {
            return self.advance_carefully(i, now);
        }
        // The same as `request`, for a core that has requested memory before: `wait` is already set.
        let at = core.time() + 1;
        let addr = core.access().addr;
        if hpu.accesses_l1(addr) {
            self.cores.banks[i] = self.l1.bank(addr) as u8;
            self.cores.ready.request(i as u32, self.cores.banks[i], now, at);
        } else {
            self.cores.ready.add(i, now, at);
        }
    }

    /// A part of an access across two words gets its bank.
    #[cold]
    fn grant_part(&mut self, i: usize, now: Cycle) {
        let (addr, op) = (self.cores[i].next_address(), self.cores[i].word_op());
        let word = self.l1.access(addr, op, now);
        self.word_done(i, now, now, word);
    }
}

/// Performs the access of a core that waits for a plain load or store of a part of a word. Returns false, without effect, for all
/// other accesses.
#[inline(never)]
fn access_part_of_word(core: &mut Core, l1: &mut L1, now: Cycle) -> bool {
    let &Access { addr, value, kind, .. } = core.access();
    let (shift, bits) = (addr % 4 * 8, 8 * core.access().bytes());
    if core.waits_for() != Plain::Other || shift + bits > 32 {
        return false;
    }
    match kind {
        AccessKind::Load(load) => core.load_plain(now, load.extend(l1.load(addr) >> shift)),
        AccessKind::Store(_) => l1.store(addr, value << shift, (u32::MAX >> (32 - bits)) << shift),
        AccessKind::Amo(_) => return false,
    }
    true
}

/// Removes the first member from a set that is not empty.
#[inline(always)]
fn take_first(set: &mut u32) -> u32 {
    let first = set.trailing_zeros();
    *set &= *set - 1;
    first
}
