//! Lines in flight to the instruction cache: the misses of cores, and the requests to program memory.

use blocks::policy::RotatingTree;
use kernel::Cycle;
use std::collections::VecDeque;

/// Cycles from the arrival of a line, or from a retry notice, to the lookup of the waiting cores. If the line is
/// present, its first instruction leaves decode in that cycle.
pub(super) const NOTICE_TO_LOOKUP: Cycle = 2;
/// Cycles of a miss outside program memory: from the lookup that misses to program memory, and back.
pub const MISS_PATH: u32 = 4;

/// A line that a core's cache controller misses. The controller does nothing else until it has the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Miss {
    pub addr: u32,
    /// Cycle in which the controller looks for the line, for the first time or again; `Cycle::MAX` while it waits for
    /// another part.
    pub looks_at: Cycle,
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
pub(super) enum Taken {
    /// Program memory gets a request for this line.
    Requests(u32),
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
    requesting: u64,
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
            requesting: 0,
            turn: RotatingTree::new(n_cores),
            coming: Vec::new(),
            last: None,
            fills: VecDeque::new(),
        }
    }

    /// Sets the arbiter to its state after `grants` grants.
    pub fn set_grants(&mut self, grants: u32) {
        self.turn.set_grants(grants);
    }

    /// A core requests a line. The request is valid from the next cycle on.
    pub fn request(&mut self, core: usize, addr: u32, way: usize) {
        self.requests[core] = (addr, way);
        self.requesting |= 1 << core;
    }

    /// A line has arrived. Returns the set of cores that waited for it.
    pub fn arrive(&mut self, now: Cycle, addr: u32) -> u64 {
        let place = self.coming.iter().position(|coming| coming.addr == addr).expect("a line that was requested");
        let Coming { way, cores, .. } = self.coming.swap_remove(place);
        self.last = Some((now, addr));
        self.fills.push_back((now + NOTICE_TO_LOOKUP, addr, way));
        cores
    }

    /// A line that a core requested while the cache was off has arrived. Returns the core.
    pub fn arrive_alone(&mut self, addr: u32) -> usize {
        let place = self.coming.iter().position(|coming| coming.addr == addr).expect("a line that was requested");
        self.coming.remove(place).cores.trailing_zeros() as usize
    }

    /// Takes a request while the cache is off, if program memory has room for it. Returns the line.
    pub fn take_alone(&mut self, has_room: impl FnOnce() -> bool) -> Option<u32> {
        let core = self.turn.choose(self.requesting)? as usize;
        if !has_room() {
            return None;
        }
        let (addr, way) = self.requests[core];
        self.coming.push(Coming { addr, way, cores: 1 << core });
        self.requesting &= !(1 << core);
        self.turn.grant();
        Some(addr)
    }

    /// Discards the lines that have arrived.
    pub fn forget(&mut self) {
        self.fills.clear();
        self.last = None;
    }

    /// Returns true if a line was requested from program memory and has not arrived.
    pub fn is_coming(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Returns true if it has no request to take, and no line that has arrived.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.requesting == 0 && self.fills.is_empty()
    }

    /// The first cycle in which it has work, if no line arrives before.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let fill = self.fills.front().map_or(Cycle::MAX, |&(at, ..)| at);
        if self.requesting != 0 { now + 1 } else { fill }
    }

    /// Takes a line that is present from this cycle on, and its way.
    pub fn fill(&mut self, now: Cycle) -> Option<(u32, usize)> {
        let &(at, addr, way) = self.fills.front()?;
        if at > now {
            return None;
        }
        self.fills.pop_front();
        Some((addr, way))
    }

    /// Takes a request, if there is one. A request that needs program memory is taken only if program memory has room
    /// for it.
    pub fn take(&mut self, now: Cycle, has_room: impl FnOnce() -> bool) -> Option<Taken> {
        let core = self.turn.choose(self.requesting)? as usize;
        let (addr, way) = self.requests[core];
        let taken = if self.last.is_some_and(|(at, line)| line == addr && at + 1 >= now) {
            Taken::Retries(core)
        } else if let Some(coming) = self.coming.iter_mut().find(|coming| coming.addr == addr) {
            coming.cores |= 1 << core;
            Taken::Joins
        } else if has_room() {
            self.coming.push(Coming { addr, way, cores: 1 << core });
            Taken::Requests(addr)
        } else {
            return None;
        };
        self.requesting &= !(1 << core);
        self.turn.grant();
        Some(taken)
    }
}

#[cfg(test)]
mod tests;
