//! When a cluster ticks, how far its cores run ahead, and which steps of a cycle are skipped.
//!
//! A cluster handles only its cores while nothing else can happen: cores access their own L1 and their drivers, and
//! beats move whose results no other part sees yet. All steps of a cycle are done again when a message arrives at a
//! port, when a core accesses anything else, when a transfer ends or when a watchdog runs out.

use super::{Cluster, code};
use kernel::{Activity, Cycle};

/// The steps that a cluster skips, and the end of the skip. Skipping does not change any result.
pub(super) struct TickPlan {
    /// Cycles by which a core may now run ahead of the others.
    run_ahead: u64,
    /// The same value while no core misses a line.
    max_run_ahead: u64,
    /// Upper bound of both, set from outside.
    run_ahead_bound: u64,
    /// All lines of the program fit into the instruction cache.
    lines_fit: bool,
    /// Before this cycle only cores can act, with their own L1 and their drivers, unless a message arrives. No message
    /// that waits at a port can be taken either. 0 if unknown.
    cores_only_until: Cycle,
    /// The next cycle in which the wide ports of L1 or the DMA engine have something to do.
    pub next_beat: Cycle,
    /// The first cycle in which their work has an effect outside L1.
    pub next_wide_effect: Cycle,
    /// The next cycle in which a watchdog may run out.
    pub next_deadline: Cycle,
}

impl TickPlan {
    pub fn new() -> Self {
        TickPlan {
            run_ahead: 0,
            max_run_ahead: 0,
            run_ahead_bound: code::MOST_RUN_AHEAD,
            lines_fit: true,
            cores_only_until: 0,
            next_beat: Cycle::MAX,
            next_wide_effect: Cycle::MAX,
            next_deadline: Cycle::MAX,
        }
    }

    /// Bounds the cycles by which a core may run ahead.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.run_ahead_bound = cycles.clamp(1, code::MOST_RUN_AHEAD);
    }

    pub fn run_ahead_bound(&self) -> u64 {
        self.run_ahead_bound
    }

    /// Sets how far a core may run ahead while no line is missing, and whether the instruction cache holds all lines.
    pub fn set_run_ahead(&mut self, lines_fit: bool, cycles: u64) {
        (self.lines_fit, self.max_run_ahead) = (lines_fit, cycles);
    }

    /// Sets the run-ahead after a change of misses. A line that arrives could replace another one, so cores then do not
    /// run ahead.
    pub fn choose_run_ahead(&mut self, is_missing: bool) {
        let may_lose_a_line = !self.lines_fit && is_missing;
        self.run_ahead = if may_lose_a_line { self.max_run_ahead.min(1) } else { self.max_run_ahead };
    }

    /// The cycle to which a core may run now.
    #[inline(always)]
    pub fn horizon(&self, now: Cycle) -> Cycle {
        now + self.run_ahead
    }

    /// Returns true if all steps except those of the cores are skipped.
    #[inline(always)]
    pub fn is_cores_only(&self, now: Cycle) -> bool {
        now < self.cores_only_until
    }

    /// From now on, all steps of a cycle are done.
    #[inline(always)]
    pub fn do_all(&mut self) {
        self.cores_only_until = 0;
    }

    /// Skips all steps except those of the cores until a watchdog may run out or a beat is due.
    fn leave_out(&mut self) {
        self.cores_only_until = self.next_deadline.min(self.next_beat);
    }
}

impl Cluster {
    /// The steps before the cores' turn: only beats, or all steps.
    #[inline(never)]
    pub(super) fn begin_cycle(&mut self, now: Cycle, has_mail: bool) {
        self.catch_up(now);
        if self.plan.cores_only_until > 0 && !has_mail && now < self.plan.next_deadline {
            // The end of a transfer lets other parts continue.
            let has_ended = self.plan.next_beat == now && self.run_wide(now);
            self.plan_wide(now);
            if has_ended { self.plan.do_all() } else { self.plan.leave_out() }
        } else {
            self.plan.do_all();
            self.prepare_cores(now);
        }
    }

    /// Returns when to tick next.
    pub(super) fn next(&mut self, now: Cycle) -> Activity {
        let (refill, leaves) = (self.next_refill(now), self.next_leave());
        let soon = self.pe_asking != 0
            || self.remote.is_busy()
            || self.remotes.0.is_due(now)
            || self.drivers.with_commands != 0
                && (!self.drivers.command_arbiter.is_locked() || self.ports.commands.has_room()) // New room wakes the cluster.
            || self.launching != 0
            || self.public_launch.is_some()
            || self.scheduler.is_pressing(self.drivers.without_task != 0)
            || self.pe.1.is_due(now)
            || self.may_accept(now)
            || leaves <= now + 1;
        self.plan_wide(now);
        // A feedback that waits for the end of a command or a transfer waits for a message or for `catch_up`. A
        // feedback that waits only for its time must not be missed.
        let only_cores = !soon && self.is_active && leaves == Cycle::MAX && refill == Cycle::MAX;
        if only_cores {
            self.plan.leave_out()
        } else {
            self.plan.do_all()
        }
        if soon {
            return Activity::Busy;
        }
        self.sleep(now, refill.min(leaves))
    }

    /// Sleeps until a core is due, a watchdog runs out or a moving beat may have an effect outside L1, but not beyond
    /// `limit`.
    pub(super) fn sleep(&self, now: Cycle, limit: Cycle) -> Activity {
        let limit = limit.min(self.plan.next_wide_effect).min(self.plan.next_deadline.max(now + 1));
        match self.ready.next_or(now, limit) {
            Cycle::MAX => Activity::Idle,
            next if next == now + 1 => Activity::Busy,
            next => Activity::Until(next),
        }
    }
}
