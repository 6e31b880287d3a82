//! Lines in flight to the instruction cache: the misses of cores, and the requests to program memory.

use super::Cluster;
use super::hpu::{Hpu, Wait};
use super::icache::CoreLines;
use crate::pe::{LineReply, LineRequest};
use blocks::cpu::FetchLines;
use blocks::policy::RotatingTree;
use kernel::{Cycle, members};
use std::collections::VecDeque;

/// Cycles from the arrival of a line, or from a retry notice, to the lookup of the waiting cores. If the line is
/// present, its first instruction leaves decode in that cycle.
const NOTICE_TO_LOOKUP: Cycle = 2;
/// Cycles of a miss outside program memory: from the lookup that misses to program memory, and back.
pub const MISS_PATH: u32 = 4;

/// A line that a core's cache controller misses. The controller does nothing else until it has the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Miss {
    pub addr: u32,
    /// Cycle in which the controller looks for the line, for the first time or again; `Cycle::MAX` while others have to
    /// act.
    looks_at: Cycle,
}

/// A line that was requested from program memory.
struct Coming {
    addr: u32,
    way: usize,
    /// Bit set of the cores that are notified when the line arrives.
    cores: u64,
}

/// The result of the request that the central controller took in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    /// Program memory gets a request for this line.
    Asks(u32),
    /// The line is in flight.
    Joins,
    /// The line arrived in this cycle or in the previous one: the core looks again.
    Retries(usize),
}

/// The cache's central controller.
///
/// Timing:  takes one request of the cores a cycle, in turn. A request for a line in flight joins the earlier request.
///          If the line arrived in this cycle or the previous one, the core has to look again. If the line arrived
///          earlier, it is requested once more, although it is present: a controller that missed does not look again by
///          itself.
/// Source:  PsPIN RTL a49fec8, `icache_bank_mp_128.sv`, `icache_intc`, `central_controller_128.sv`,
///          `merge_refill_cam_128_16.sv`.
pub(super) struct Refills {
    /// For each core, the line that it requests and the way that it chose.
    requests: Vec<(u32, usize)>,
    /// Bit set of the requesting cores.
    asking: u64,
    turn: RotatingTree,
    coming: Vec<Coming>,
    /// The line that arrived last, and the cycle of its arrival.
    last: Option<(Cycle, u32)>,
    /// Lines that have arrived: the first cycle in which each is present, its address and its way.
    fills: VecDeque<(Cycle, u32, usize)>,
}

impl Refills {
    pub fn new(n_cores: u32) -> Self {
        Refills {
            requests: vec![(0, 0); n_cores as usize],
            asking: 0,
            turn: RotatingTree::new(n_cores),
            coming: Vec::new(),
            last: None,
            fills: VecDeque::new(),
        }
    }

    /// Sets the arbiter to its state after `grants` grants.
    pub(super) fn set_grants(&mut self, grants: u32) {
        self.turn.set_grants(grants);
    }

    /// A core requests a line. The request is valid from the next cycle on.
    fn ask(&mut self, core: usize, addr: u32, way: usize) {
        self.requests[core] = (addr, way);
        self.asking |= 1 << core;
    }

    /// A line has arrived. Returns the set of cores that waited for it.
    fn arrive(&mut self, now: Cycle, addr: u32) -> u64 {
        let place = self.coming.iter().position(|coming| coming.addr == addr).expect("a line that was asked for");
        let Coming { way, cores, .. } = self.coming.swap_remove(place);
        self.last = Some((now, addr));
        self.fills.push_back((now + NOTICE_TO_LOOKUP, addr, way));
        cores
    }

    /// A line that a core requested while the cache was off has arrived. Returns the core.
    fn arrive_alone(&mut self, addr: u32) -> usize {
        let place = self.coming.iter().position(|coming| coming.addr == addr).expect("a line that was asked for");
        self.coming.remove(place).cores.trailing_zeros() as usize
    }

    /// Takes a request while the cache is off, if program memory has room for it. Returns the line.
    pub(super) fn take_alone(&mut self, has_room: impl FnOnce() -> bool) -> Option<u32> {
        let core = self.turn.choose(self.asking)? as usize;
        if !has_room() {
            return None;
        }
        let (addr, way) = self.requests[core];
        self.coming.push(Coming { addr, way, cores: 1 << core });
        self.asking &= !(1 << core);
        self.turn.grant();
        Some(addr)
    }

    /// Discards the lines that have arrived.
    pub(super) fn forget(&mut self) {
        self.fills.clear();
        self.last = None;
    }

    /// Returns true if a line was requested from program memory and has not arrived.
    pub(super) fn is_coming(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Takes a line that is present from this cycle on, and its way.
    fn fill(&mut self, now: Cycle) -> Option<(u32, usize)> {
        let &(at, addr, way) = self.fills.front()?;
        if at > now {
            return None;
        }
        self.fills.pop_front();
        Some((addr, way))
    }

    /// Takes a request, if there is one. A request that needs program memory is taken only if program memory has room
    /// for it.
    fn take(&mut self, now: Cycle, has_room: impl FnOnce() -> bool) -> Option<Taken> {
        let core = self.turn.choose(self.asking)? as usize;
        let (addr, way) = self.requests[core];
        let taken = if self.last.is_some_and(|(at, line)| line == addr && at + 1 >= now) {
            Taken::Retries(core)
        } else if let Some(coming) = self.coming.iter_mut().find(|coming| coming.addr == addr) {
            coming.cores |= 1 << core;
            Taken::Joins
        } else if has_room() {
            self.coming.push(Coming { addr, way, cores: 1 << core });
            Taken::Asks(addr)
        } else {
            return None;
        };
        self.asking &= !(1 << core);
        self.turn.grant();
        Some(taken)
    }
}

impl Cluster {
    /// Core `i` needs a line in this cycle.
    pub(super) fn fetch(&mut self, i: usize, addr: u32, now: Cycle) {
        if self.caching.is_on() && self.hpus[i].held_line != Some(addr) {
            self.hpus[i].held_line = None;
        }
        match self.hpus[i].miss {
            Some(Miss { addr: other, .. }) if other != addr => self.hpus[i].wait = Wait::Abandoned(other),
            Some(_) => self.hpus[i].wait = Wait::Line(addr),
            None if self.is_there(i, addr) => self.advance(i, now),
            // The prefetch buffer waited for another line when the core jumped. It requests this one a cycle later.
            None if self.hpus[i].line_came == now => {
                self.hpus[i].wait = Wait::Fetch(addr);
                self.ready.add(i, now, now + 1);
            }
            None => {
                self.hpus[i].wait = Wait::Line(addr);
                self.ask_for_line(i, addr);
            }
        }
    }

    /// Core `i` will need the line after its current one. Its controller looks for that line in cycle `looks_at`.
    pub(super) fn prefetch(&mut self, i: usize, addr: u32, now: Cycle, looks_at: Cycle) {
        if self.hpus[i].miss.is_some() {
            return;
        }
        match looks_at > now {
            true => self.set_miss(i, Some(Miss { addr, looks_at })),
            false if self.is_there(i, addr) => {}
            false => self.ask_for_line(i, addr),
        }
    }

    /// Core `i` requests an access for the first time in this cycle, and may have to wait. Fetch does not wait with it.
    pub(super) fn fetch_behind_access(&mut self, i: usize, now: Cycle) {
        let Hpu { core, miss, .. } = &self.hpus[i];
        if core.time() + 1 != now {
            return;
        }
        // Almost always, all lines that fetch may need are present.
        if !(miss.is_none() && self.caching.is_on() && core.needs_no_fetch(&self.program, self.icache.there())) {
            self.fetch_missing_behind_access(i, now);
        }
    }

    #[inline(never)]
    fn fetch_missing_behind_access(&mut self, i: usize, now: Cycle) {
        let held = self.held_line(i);
        let Hpu { core, miss, held_line, .. } = &mut self.hpus[i];
        let lines = CoreLines { cache: &self.icache, miss, held: held_line };
        match self.caching.is_on() {
            true => core.wait_for_access(&self.program, &lines),
            false => core.wait_for_access(&self.program, &held),
        }
        if miss.is_some() {
            return;
        }
        let behind = match self.caching.is_on() {
            true => core.fetch_behind_access(&self.program, &self.icache),
            false => core.fetch_behind_access(&self.program, &held),
        };
        if let Some((addr, cycles)) = behind {
            self.set_miss(i, Some(Miss { addr, looks_at: now + cycles }));
        }
    }

    /// Returns true if a line is present for core `i`, which has no outstanding request for a line.
    fn is_there(&self, i: usize, addr: u32) -> bool {
        self.icache.present(addr) || self.hpus[i].held_line == Some(addr)
    }

    /// The controller of core `i` does not find the line and requests it.
    fn ask_for_line(&mut self, i: usize, addr: u32) {
        self.set_miss(i, Some(Miss { addr, looks_at: Cycle::MAX }));
        let way = if self.caching.is_on() { self.icache.choose_way(i, addr) } else { 0 };
        self.refills.ask(i, addr, way);
    }

    fn set_miss(&mut self, i: usize, miss: Option<Miss>) {
        self.plan.do_all();
        self.hpus[i].miss = miss;
        self.missing = self.missing & !(1 << i) | u32::from(miss.is_some()) << i;
        self.choose_run_ahead();
    }

    /// While a line is in flight that could replace another one, a core may not run ahead.
    pub(super) fn choose_run_ahead(&mut self) {
        self.plan.choose_run_ahead(self.missing != 0);
    }

    fn look_at(&mut self, i: usize, at: Cycle) {
        self.hpus[i].miss.as_mut().expect("a controller that misses a line").looks_at = at;
    }

    /// Takes lines that arrive, takes one request, and lets controllers look for their lines.
    pub(super) fn refill(&mut self, now: Cycle) {
        while self.lines.1.is_due(now)
            && let Some(LineReply { addr }) = self.lines.1.take()
        {
            if !self.caching.is_on() {
                let core = self.refills.arrive_alone(addr);
                self.deliver_line(core, addr, now);
                continue;
            }
            let cores = self.refills.arrive(now, addr);
            members(cores).for_each(|core| self.look_at(core as usize, now + NOTICE_TO_LOOKUP));
        }
        self.switch_cache(now);
        let serves = self.caching.is_on() && self.caching.serves(now);
        match if serves { self.refills.take(now, || self.lines.0.has_room()) } else { None } {
            Some(Taken::Asks(addr)) => {
                self.totals.line_misses.add(1);
                self.lines.0.send(LineRequest { addr });
            }
            Some(Taken::Retries(core)) => self.look_at(core, now + 1 + NOTICE_TO_LOOKUP),
            Some(Taken::Joins) | None => {}
        }
        while let Some((addr, way)) = self.refills.fill(now) {
            self.icache.fill(addr, way);
        }
        for i in members(self.missing.into()).map(|core| core as usize) {
            if let Some(Miss { addr, looks_at }) = self.hpus[i].miss
                && looks_at == now
            {
                self.look(i, addr, now);
            }
        }
    }

    /// The controller of core `i` looks for the line that it misses.
    fn look(&mut self, i: usize, addr: u32, now: Cycle) {
        match self.is_there(i, addr) {
            true => self.line_is_there(i, now),
            false => self.ask_for_line(i, addr),
        }
    }

    /// Core `i` gets the line that it misses.
    pub(super) fn line_is_there(&mut self, i: usize, now: Cycle) {
        self.set_miss(i, None);
        let at = match self.hpus[i].wait {
            Wait::Line(_) => now,
            Wait::Abandoned(_) => now + 1,
            _ => {
                self.hpus[i].line_came = now;
                self.hpus[i].core.line_came();
                return self.fetch_at_target(i, now);
            }
        };
        self.hpus[i].core.fetched(at);
        self.hpus[i].wait = Wait::Run;
        self.ready.add(i, now, at);
    }

    /// A line has come for which core `i` does not wait. If a jump waits in decode, fetch continues at its target.
    #[cold]
    fn fetch_at_target(&mut self, i: usize, now: Cycle) {
        let Hpu { core, wait, miss, held_line: held, .. } = &mut self.hpus[i];
        let in_access = *wait != Wait::Run;
        if !self.caching.is_on() || in_access && core.time() >= now {
            return;
        }
        let lines = CoreLines { cache: &self.icache, miss, held };
        if let Some(addr) = core.fetch_at_target(&self.program, &lines, now, in_access) {
            self.set_miss(i, Some(Miss { addr, looks_at: now + 1 }));
        }
    }

    /// The next cycle with work for a line, if program memory does not respond before.
    pub(super) fn next_refill(&self, now: Cycle) -> Cycle {
        if self.refills.asking != 0 {
            return now + 1;
        }
        let looks = members(self.missing.into()).filter_map(|core| self.hpus[core as usize].miss);
        let fill = self.refills.fills.front().map(|&(at, ..)| at);
        let change = self.caching.next_event().filter(|_| !self.refills.is_coming()).map(|at| at.max(now + 1));
        looks.map(|miss| miss.looks_at).chain(fill).chain(change).min().unwrap_or(Cycle::MAX)
    }
}

#[cfg(test)]
mod tests;
