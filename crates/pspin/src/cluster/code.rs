//! Code that the host writes while the cores run.

use super::Cluster;
use crate::params::IcacheParams;
use crate::pe::CodeWrite;
use blocks::cpu::Program;
use kernel::Cycle;
use std::rc::Rc;

/// Maximum number of cycles that a core may run ahead.
pub(super) const MOST_RUN_AHEAD: u64 = 24;

impl Cluster {
    /// Applies the host's writes to program memory: replaces the decoded program and invalidates the written lines.
    ///
    /// The RTL's caches keep using a line that they hold, and the host cannot reach the register that flushes them. So
    /// with the RTL a driver must load code only to addresses from which no code has run. In this model the next fetch
    /// of a line always sees the loaded code.
    pub(super) fn take_code(&mut self, now: Cycle) {
        while self.code.is_due(now)
            && let Some(CodeWrite { addr, data }) = self.code.take()
        {
            self.settle_profiles();
            // The first write copies the program for this cluster. Until then all clusters share one program.
            Rc::make_mut(&mut self.program).write(addr, &data);
            self.icache.forget(addr, data.len() as u32);
            self.plan_run_ahead();
        }
    }

    /// Updates the run-ahead after a change of the program or of the bound.
    pub(super) fn plan_run_ahead(&mut self) {
        // While the cache is off, a core runs one instruction at a time and does not run ahead.
        let bound = if self.caching.is_on() { self.plan.run_ahead_bound() } else { 0 };
        let (lines_fit, cycles) = run_ahead(&self.program, self.icache.params(), bound);
        self.plan.set_run_ahead(lines_fit, cycles);
        self.choose_run_ahead();
    }
}

/// Returns true if the cache holds the whole program, and the number of cycles that a core may then run ahead of the
/// others, at most `bound`.
///
/// A present line stays until another line replaces it. If all lines fit, that never happens. Otherwise it happens at
/// the earliest when a miss of this cycle brings a line.
pub(super) fn run_ahead(program: &Program, params: &IcacheParams, bound: u64) -> (bool, u64) {
    let fits = program.used_bytes() <= params.bytes as usize;
    (fits, if fits { bound } else { bound.min(params.miss_cycles.into()) })
}
