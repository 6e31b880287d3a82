//! The switch of the instruction cache: the cache is off after reset, until boot code turns it on.

use super::icache::LINE_BYTES;
use crate::map::PROGRAM_BASE;
use crate::params::IcacheParams;
use blocks::cpu::FetchLines;
use kernel::Cycle;

/// Cycles from the NIC's reset to that of the cluster: a synchronizer of four registers, and the first state of the
/// cache's controller.
/// Source: PsPIN RTL a49fec8, `pulp_cluster.sv` (`rstgen_i`); measured on it.
const RESET: Cycle = 5;
/// Cycles from a write to the cache's registers until its central controller stops taking requests: one cycle for the
/// register, and one for a state in which the controller still takes requests. If the cache is off, there is one more
/// such state.
const TO_DRAIN: Cycle = 2;

/// A change that was written to the cache's registers and is pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    On,
    Off,
    Flush,
}

/// The cache's switch.
///
/// Timing: while the cache is off, every fetch goes to program memory, even for a line that the cluster fetched just
///         before. Without competing requests the line arrives in 5 cycles. Before the cache is turned on or flushed,
///         its controller waits until no line is in flight, and then needs one cycle for each set. In these cycles no
///         line is requested. The same happens after reset. The core that turns the cache on continues when no line is
///         in flight. The core that flushes it continues when all lines are invalidated. A fetch that was requested
///         before is served first, and its line stays in the prefetch buffer. PsPIN's boot of four clusters matches the
///         RTL to the cycle.
/// Source: PsPIN RTL a49fec8, `icache_bank_mp_128.sv`, `central_controller_128.sv`, `mp_pf_icache_ctrl_unit.sv`.
/// Differs: all lines are invalidated in the first of those cycles.
pub(super) struct Caching {
    is_on: bool,
    n_sets: Cycle,
    /// The pending change, and the first cycle for it. The change waits until no line is in flight.
    change: Option<(Cycle, Change)>,
    /// The cache has been turned on or off, and the core that did so has no response yet.
    was_changed: bool,
    /// First cycle in which a line may be requested.
    serves_from: Cycle,
}

impl Caching {
    pub fn new(params: &IcacheParams) -> Self {
        let n_sets = Cycle::from(params.bytes / LINE_BYTES / params.ways);
        Caching { is_on: false, n_sets, change: None, was_changed: false, serves_from: RESET + n_sets }
    }

    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns true if the central controller takes requests in this cycle.
    pub fn serves(&self, now: Cycle) -> bool {
        now >= self.serves_from && self.change.is_none_or(|(from, _)| now < from)
    }

    /// Returns true if the cache is in the state `on`, and no change is pending or unanswered.
    pub fn is_settled(&self, on: bool) -> bool {
        self.change.is_none() && self.is_on == on && !self.was_changed
    }

    /// A core writes the register that turns the cache on or off. Returns true if the change is done.
    pub fn turn(&mut self, on: bool, now: Cycle) -> bool {
        let is_done = self.change.is_none() && self.is_on == on;
        self.was_changed &= !is_done;
        if self.change.is_none() && !is_done {
            let drain = if self.is_on { TO_DRAIN } else { TO_DRAIN + 1 };
            self.change = Some((now + drain, if on { Change::On } else { Change::Off }));
        }
        is_done
    }

    /// A core writes the register that flushes the cache. Returns true if the flush is done or the cache is off.
    pub fn flush(&mut self, now: Cycle) -> bool {
        if !self.is_on || self.change.is_some() {
            return !self.is_on;
        }
        if now >= self.serves_from {
            self.change = Some((now + TO_DRAIN, Change::Flush));
        }
        now + 2 == self.serves_from
    }

    /// Returns true if the pending change happens in this cycle. It invalidates all lines.
    pub fn changes(&mut self, now: Cycle, is_coming: bool) -> bool {
        let Some((_, change)) = self.change.take_if(|&mut (from, _)| from <= now && !is_coming) else { return false };
        self.is_on = change != Change::Off;
        self.was_changed = change != Change::Flush;
        self.serves_from = now
            + match change {
                Change::On => 1 + self.n_sets,
                Change::Flush => 2 + self.n_sets,
                Change::Off => 1,
            };
        true
    }

    /// The first cycle in which the pending change may happen, if no line is in flight.
    #[inline]
    pub fn next_event(&self) -> Option<Cycle> {
        self.change.map(|(from, _)| from)
    }
}

/// The line that a core has fetched while the cache is off.
pub(super) struct HeldLine {
    pub addr: Option<u32>,
    pub program_bytes: u32,
}

impl FetchLines for HeldLine {
    fn present(&self, addr: u32) -> bool {
        // A fetch beyond program memory faults at once.
        self.addr == Some(addr & !(LINE_BYTES - 1)) || addr.wrapping_sub(PROGRAM_BASE) >= self.program_bytes
    }

    fn there(&self) -> &[u8] {
        &[]
    }
}

#[cfg(test)]
mod tests;
