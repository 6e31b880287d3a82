//! The cores of a cluster: how each runs and why it stops.

use super::Cluster;
use super::hpu::{Hpu, Wait};
use super::icache::CoreLines;
use super::ready::Ready;
use blocks::cpu::{FetchLines, Stop};
use isa::riscv::cause::INSTRUCTION_FAULT;
use kernel::Cycle;

impl Cluster {
    /// The access of core `i` is answered with a grant in cycle `granted`. The core continues.
    #[inline]
    pub(super) fn complete(&mut self, i: usize, now: Cycle, granted: Cycle, raw: u32) {
        self.hpus[i].core.complete(granted, raw);
        self.advance(i, now);
    }

    /// Runs core `i` up to the first instruction that needs another component. Nearly always that is an access, and nothing
    /// before it needs a check.
    #[inline(never)]
    pub(super) fn advance(&mut self, i: usize, now: Cycle) {
        let Hpu { core, deadline, .. } = &mut self.hpus[i];
        let horizon = self.plan.horizon(now).min(*deadline);
        match core.run_ahead(&self.program, self.icache.there(), horizon) {
            true => {
                let at = core.time().max(now) + 1;
                self.ask(i, now, at);
            }
            false => self.advance_carefully(i, now),
        }
    }

    /// Does the same for a core that has just run ahead as far as it could.
    #[inline(never)]
    pub(super) fn advance_carefully(&mut self, i: usize, now: Cycle) {
        let stop = if self.caching.is_on() {
            let Hpu { core, deadline, miss, held_line: held, .. } = &mut self.hpus[i];
            let lines = CoreLines { cache: &self.icache, miss, held };
            core.run_carefully(&self.program, &lines, self.plan.horizon(now).min(*deadline))
        } else {
            self.run_uncached(i, now)
        };
        self.stopped(i, stop, now);
    }

    #[inline(never)]
    fn run_core(&mut self, i: usize, now: Cycle) -> Stop {
        if !self.caching.is_on() {
            return self.run_uncached(i, now);
        }
        let Hpu { core, deadline, miss, held_line: held, .. } = &mut self.hpus[i];
        core.run(&self.program, &CoreLines { cache: &self.icache, miss, held }, self.plan.horizon(now).min(*deadline))
    }

    /// Core `i` has stopped: sets its wait state and the cycle of its next action.
    pub(super) fn stopped(&mut self, i: usize, mut stop: Stop, now: Cycle) {
        loop {
            let hpu = &mut self.hpus[i];
            let time = hpu.core.time();
            let (wait, at) = match stop {
                Stop::Access => return self.ask(i, now, (time + 1).max(now + 1)),
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
                Stop::Trap if self.mistakes.stray_fetches_hang && hpu.core.last_trap().cause == INSTRUCTION_FAULT => {
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
            hpu.wait = wait;
            self.ready.add(i, now, at.max(now + 1));
            return;
        }
    }

    /// Lets core `i` repeat its access to the driver in cycle `at`, if it waits for the driver.
    pub(super) fn retry_driver(&mut self, i: usize, at: Cycle) {
        if self.hpus[i].wait == Wait::Driver {
            self.hpus[i].wait = Wait::Access;
            self.ready.add(i, at, at);
        }
    }
}
