//! Code that the host writes while the cores run.

use super::Cluster;
use crate::params::IcacheParams;
use crate::pe::CodeWrite;
use blocks::cpu::Program;
use kernel::Cycle;
use std::rc::Rc;

/// Cycles that a core may run ahead where nothing else bounds it.
pub(super) const MOST_RUN_AHEAD: u64 = 24;

impl Cluster {
    /// What the host wrote to program memory replaces the decoded program, and the lines that held it are forgotten.
    ///
    /// The RTL's caches go on with a line that they hold, and the host cannot reach the register that flushes them; so there
    /// a driver must load code only where none has run. Here loaded code is always seen by the next fetch of its line.
    pub(super) fn take_code(&mut self, now: Cycle) {
        while self.code.is_due(now)
            && let Some(CodeWrite { addr, data }) = self.code.take()
        {
            // The first write makes the cluster's own copy of what all of them began with.
            Rc::make_mut(&mut self.program).write(addr, &data);
            self.icache.forget(addr, data.len() as u32);
            self.plan_run_ahead();
        }
    }

    /// The program or the bound has changed.
    pub(super) fn plan_run_ahead(&mut self) {
        // While the cache is off, a core runs an instruction at a time, and only where it is looked after.
        let bound = if self.caching.is_on() { self.plan.run_ahead_bound() } else { 0 };
        let (lines_fit, cycles) = run_ahead(&self.program, self.icache.params(), bound);
        self.plan.set_run_ahead(lines_fit, cycles);
        self.choose_run_ahead();
    }
}

/// Whether the cache holds all of a program, and the cycles that a core may then run ahead of the others, `bound` at most.
///
/// A line that is there stays as long as no other can take its place: for ever where all of them fit, else until a miss of
/// this cycle could bring one.
pub(super) fn run_ahead(program: &Program, params: &IcacheParams, bound: u64) -> (bool, u64) {
    let fits = program.used_bytes() <= params.bytes as usize;
    (fits, if fits { bound } else { bound.min(params.miss_cycles.into()) })
}
