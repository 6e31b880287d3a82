//! The cores of a cluster: how each runs, why it stops, and the instruction lines that they wait for.

use super::Cluster;
use super::hpu_core::{HpuCore, Wait};
use crate::pe::{LineReply, LineRequest};
use blocks::cpu::{Lines, Stop};
use kernel::Cycle;

/// Cycles that a line asked for ahead takes longer, counted from the instruction at whose fetch that happens.
/// Source: RTL measurement: cold straight-line code stalls 8 to 9 cycles at each new line.
pub(super) const PREFETCH: u64 = 1;

impl Cluster {
    /// The access of core `i` is granted in cycle `granted` and answered; the core runs on.
    #[inline]
    pub(super) fn complete(&mut self, i: usize, now: Cycle, granted: Cycle, raw: u32) {
        self.cores[i].core.complete(granted, raw);
        self.advance(i, now);
    }

    /// Runs core `i` up to the first instruction that needs somebody else.
    pub(super) fn advance(&mut self, i: usize, now: Cycle) {
        let stop = self.run_core(i, now);
        self.stopped(i, stop, now);
    }

    #[inline(never)]
    fn run_core(&mut self, i: usize, now: Cycle) -> Stop {
        let HpuCore { core, deadline, .. } = &mut self.cores[i];
        core.run(&self.program, &self.icache, (now + self.run_ahead).min(*deadline))
    }

    /// Core `i` came back from running: what it waits for, and when it is looked at again.
    pub(super) fn stopped(&mut self, i: usize, mut stop: Stop, now: Cycle) {
        loop {
            let hpu_core = &mut self.cores[i];
            let time = hpu_core.core.time();
            let (wait, at) = match stop {
                Stop::Access => return self.ask(i, now, (time + 1).max(now + 1)),
                Stop::Yield if time >= hpu_core.deadline => (Wait::Killed, time),
                Stop::Yield | Stop::FenceI => (Wait::Run, time),
                Stop::Fetch(addr) if time > now => (Wait::Fetch(addr), time),
                Stop::Fetch(addr) => return self.fetch(i, addr, now),
                Stop::Prefetch(addr) if time > now => (Wait::Prefetch(addr), time),
                Stop::Prefetch(addr) => {
                    self.ask_for_line(addr, PREFETCH);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Abandon(addr) => {
                    hpu_core.wait = Wait::Abandoned(addr);
                    return;
                }
                Stop::Trap => {
                    self.tell_trap(i, now);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Wait => {
                    hpu_core.wait = Wait::Forever;
                    return;
                }
            };
            hpu_core.wait = wait;
            self.ready.add(i, now, at.max(now + 1));
            return;
        }
    }

    /// Core `i` needs a line in this cycle.
    pub(super) fn fetch(&mut self, i: usize, addr: u32, now: Cycle) {
        if self.icache.present(addr) {
            return self.advance(i, now);
        }
        self.cores[i].wait = Wait::Line(addr);
        self.ask_for_line(addr, 0);
    }

    /// Asks program memory for a line that is not there, unless it is on its way.
    pub(super) fn ask_for_line(&mut self, addr: u32, extra: u64) {
        if !self.icache.present(addr) && self.icache.miss(addr) {
            self.totals.line_misses.add(1);
            self.watch_icache();
            self.lines.0.send_late(LineRequest { addr }, extra);
        }
    }

    /// While a line is coming that could push out another, a core may not run ahead.
    fn watch_icache(&mut self) {
        let may_lose_a_line = !self.lines_fit && self.icache.refilling();
        self.run_ahead = if may_lose_a_line { 1 } else { self.most_run_ahead };
    }

    /// Lines have come: who waits for them goes on.
    pub(super) fn take_lines(&mut self, now: Cycle) {
        while self.lines.1.is_due(now)
            && let Some(LineReply { addr }) = self.lines.1.take()
        {
            self.icache.fill(addr);
            self.watch_icache();
            for i in 0..self.cores.len() {
                let at = match self.cores[i].wait {
                    Wait::Line(line) if line == addr => now,
                    Wait::Abandoned(line) if line == addr => now + 1,
                    _ => continue,
                };
                self.cores[i].core.fetched(at);
                self.cores[i].wait = Wait::Run;
                self.ready.add(i, now, at);
            }
        }
    }

    /// Lets core `i` ask its driver again in cycle `at`, if it waits for it.
    pub(super) fn retry_driver(&mut self, i: usize, at: Cycle) {
        if self.cores[i].wait == Wait::Driver {
            self.cores[i].wait = Wait::Access;
            self.ready.add(i, at, at);
        }
    }
}
