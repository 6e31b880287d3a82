//! How a core of a cluster runs, and why it stops.

use super::Cluster;
use super::hpu::{Hpu, Wait};
use super::ready::Ready;
use crate::protocol::{CONTEXT_CAUSE, WATCHDOG_CAUSE};
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
        match core.run_ahead(&self.fetch.runway(horizon)) {
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

    /// Refuses the access of core `i` with an exception.
    #[cold]
    pub(super) fn refuse(&mut self, i: usize, now: Cycle) {
        self.cores[i].first_part = None;
        if self.cores.mistakes.refused_accesses_happen {
            self.cores[i].core.fault_late(now);
            return self.request(i, now, now + 2);
        }
        self.cores[i].core.fault(now);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Refuses an AMO to an address that is not a multiple of 4.
    #[cold]
    pub(super) fn refuse_misaligned(&mut self, i: usize, now: Cycle) {
        self.cores[i].core.misalign(now);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Ends handlers whose watchdogs have run out. If a core waits for an event that may never happen, its handler ends
    /// now. All other handlers end when their core has what it waits for.
    #[cold]
    pub(super) fn watch_deadlines(&mut self, now: Cycle) {
        for i in 0..self.cores.len() {
            let may_never_come = matches!(self.cores[i].wait, Wait::Driver | Wait::Fifo | Wait::Event | Wait::Forever);
            if self.cores[i].deadline > now {
                continue;
            }
            if may_never_come {
                self.cores.wait(i, Wait::Killed, now, now + 1);
            } else if self.cores[i].wait == Wait::Stray {
                self.cores.wait(i, Wait::Run, now, now + 1);
                self.cores[i].core.fetched(now);
                self.report_trap(i, now);
            }
        }
    }

    /// Ends the handler of core `i`, which has run too long, with an exception.
    #[cold]
    pub(super) fn kill(&mut self, i: usize, now: Cycle) {
        let hpu = &mut self.cores[i];
        hpu.first_part = None;
        hpu.core.interrupt(now, WATCHDOG_CAUSE);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Clears the stack of core `i`, and raises an exception in which the runtime clears the core's registers, before
    /// the core runs a handler of another context. Each 64 bytes of the stack take one beat at the cluster DMA's port.
    /// This is done long before the runtime uses the stack.
    pub(super) fn clear_core(&mut self, i: usize, now: Cycle) {
        self.stdout.flush(i, now);
        let (stack, bytes) = self.cores[i].guard.stack();
        self.plan.do_all();
        self.beats.wide.clear(&mut self.l1, stack, bytes);
        self.cores[i].first_part = None;
        self.cores[i].core.refuse(now, CONTEXT_CAUSE);
        self.cores.restore_place(i);
        self.advance(i, now);
    }

    fn report_trap(&mut self, i: usize, now: Cycle) {
        self.traps.report(i, now, &mut self.cores, &mut self.drivers, &mut self.plan, &self.trace);
    }
}
