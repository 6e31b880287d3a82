//! How a core of a cluster runs, and why it stops.

use super::Cluster;
use super::hpu::{Hpu, Wait};
use super::ready::Ready;
use blocks::cpu::Stop;
use isa::riscv::cause::INSTRUCTION_FAULT;
use kernel::Cycle;

impl Cluster {
    /// The access of core `i` is answered with a grant in cycle `granted`. The core continues.
    #[inline]
    pub(super) fn complete(&mut self, i: usize, now: Cycle, granted: Cycle, raw: u32) {
        self.cores[i].core.complete(granted, raw);
        self.advance(i, now);
    }

    /// Runs core `i` up to the first instruction that needs another component. Nearly always that is an access, and nothing
    /// before it needs a check.
    #[inline(never)]
    pub(super) fn advance(&mut self, i: usize, now: Cycle) {
        let Hpu { core, deadline, .. } = &mut self.cores[i];
        let horizon = self.plan.horizon(now).min(*deadline);
        match self.fetch.run_ahead(core, horizon) {
            true => {
                let at = core.time().max(now) + 1;
                self.request(i, now, at);
            }
            false => self.advance_carefully(i, now),
        }
    }

    /// Does the same for a core that has just run ahead as far as it could.
    #[inline(never)]
    pub(super) fn advance_carefully(&mut self, i: usize, now: Cycle) {
        let hpu = &mut self.cores[i];
        let horizon = self.plan.horizon(now).min(hpu.deadline);
        let stop = self.fetch.run_carefully(hpu, now, horizon);
        self.stopped(i, stop, now);
    }

    fn run_core(&mut self, i: usize, now: Cycle) -> Stop {
        let hpu = &mut self.cores[i];
        let horizon = self.plan.horizon(now).min(hpu.deadline);
        self.fetch.run(hpu, now, horizon)
    }

    /// Core `i` requests memory from cycle `at` on.
    #[inline(always)]
    pub(super) fn request(&mut self, i: usize, now: Cycle, at: Cycle) {
        self.cores.request(i, now, at, &self.l1);
    }

    /// Core `i` needs a line in this cycle.
    pub(super) fn fetch(&mut self, i: usize, addr: u32, now: Cycle) {
        if self.fetch.request(i, addr, now, &mut self.cores, &mut self.plan) {
            self.advance(i, now);
        }
    }

    /// Core `i` will need the line after its current one. Its controller looks for that line in cycle `looks_at`.
    pub(super) fn prefetch(&mut self, i: usize, addr: u32, now: Cycle, looks_at: Cycle) {
        self.fetch.prefetch(i, addr, now, looks_at, &mut self.cores, &mut self.plan);
    }

    /// Core `i` requests an access for the first time in this cycle, and may have to wait. Fetch does not wait with it.
    #[inline]
    pub(super) fn fetch_behind_access(&mut self, i: usize, now: Cycle) {
        self.fetch.go_on_behind_access(i, now, &mut self.cores, &mut self.plan);
    }

    /// Core `i` has stopped: sets its wait state and the cycle of its next action.
    pub(super) fn stopped(&mut self, i: usize, mut stop: Stop, now: Cycle) {
        loop {
            let hpu = &mut self.cores.hpus[i];
            let time = hpu.core.time();
            let (wait, at) = match stop {
                Stop::Access => return self.request(i, now, (time + 1).max(now + 1)),
                Stop::Yield if time >= hpu.deadline => (Wait::Killed, time),
                // Repeated divisions may end later than the calendar reaches. Then the core runs again before they end.
                Stop::Yield | Stop::FenceI => (Wait::Run, time.min(now + Ready::FARTHEST)),
                Stop::Fetch(addr) if time > now => (Wait::Fetch(addr), time),
                Stop::Fetch(addr) => return self.fetch(i, addr, now),
                Stop::Prefetch(addr, after) if time > now => (Wait::Prefetch(addr, after), time),
                Stop::Prefetch(addr, after) => {
                    self.prefetch(i, addr, now, now + after);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Pause if time + 1 > now => (Wait::Run, time + 1),
                Stop::Pause => {
                    stop = self.run_core(i, now);
                    continue;
                }
                // The line had arrived, but a flush has removed it from the cache since. No line is in flight.
                Stop::Abandon(_) if hpu.miss.is_none() => {
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Abandon(addr) => {
                    hpu.wait = Wait::Abandoned(addr);
                    return;
                }
                Stop::Trap
                    if self.cores.mistakes.stray_fetches_hang && hpu.core.last_trap().cause == INSTRUCTION_FAULT =>
                {
                    hpu.wait = Wait::Stray;
                    return;
                }
                Stop::Trap => {
                    self.report_trap(i, now);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Wait => {
                    hpu.wait = Wait::Forever;
                    return;
                }
            };
            return self.cores.wait(i, wait, now, at.max(now + 1));
        }
    }
}
