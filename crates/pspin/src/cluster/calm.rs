//! When a cluster ticks, and when it looks at nothing but its cores.
//!
//! A cluster is calm while nothing goes on but what cores do with their own L1 and their drivers, and while beats move that show
//! nowhere else: then all other steps of a cycle would find nothing to do. It is calm no longer when something comes to a port,
//! when a core asks for anything else, when a transfer ends or a watchdog runs out.

use super::Cluster;
use kernel::{Activity, Cycle};

impl Cluster {
    /// What comes before the cores' turn: beats alone, or everything.
    #[inline(never)]
    pub(super) fn begin_cycle(&mut self, now: Cycle, has_mail: bool) {
        self.catch_up(now);
        if self.calm_until > 0 && !has_mail && now < self.alarm {
            // The end of a transfer lets others go on.
            let has_ended = self.wide_next == now && self.run_wide(now);
            self.plan_wide(now);
            self.calm_until = if has_ended { 0 } else { self.alarm.min(self.wide_next) };
        } else {
            self.calm_until = 0;
            self.prepare_cores(now);
        }
    }

    /// When to tick next.
    pub(super) fn next(&mut self, now: Cycle) -> Activity {
        let (refill, leaves) = (self.next_refill(now), self.next_leave());
        let soon = self.pe_asking != 0
            || self.remote.is_some()
            || self.remotes.0.is_due(now)
            || self.commanding != 0 && self.ports.commands.has_room() // Else room will be mail.
            || self.launching != 0
            || self.public_launch.is_some()
            || self.scheduler.is_pressing(self.idle != 0)
            || self.pe.1.is_due(now)
            || self.may_accept(now)
            || leaves <= now + 1;
        self.plan_wide(now);
        // What waits for the end of a command or of a transfer waits for mail, or for `catch_up`; what only waits for its time
        // must not be missed.
        let is_calm = !soon && self.is_active && leaves == Cycle::MAX && refill == Cycle::MAX;
        self.calm_until = if is_calm { self.alarm.min(self.wide_next) } else { 0 };
        if soon {
            return Activity::Busy;
        }
        self.sleep(now, refill.min(leaves))
    }

    /// Waits until a core is due, a watchdog runs out or something comes of the beats that move, but no longer than to `limit`.
    pub(super) fn sleep(&self, now: Cycle, limit: Cycle) -> Activity {
        let limit = limit.min(self.wide_shows).min(self.alarm.max(now + 1));
        match self.ready.next_or(now, limit) {
            Cycle::MAX => Activity::Idle,
            next if next == now + 1 => Activity::Busy,
            next => Activity::Until(next),
        }
    }
}
