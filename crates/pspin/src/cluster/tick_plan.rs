//! When a cluster ticks, how far its cores run ahead, and which steps of a cycle are skipped.
//!
//! While nothing else can happen, a cluster handles only its cores. They then access only their own L1 and their
//! drivers. Beats may move too, if no other part sees their results yet. All steps of a cycle are done again when a
//! message arrives at a port, when a core accesses anything else, when a transfer ends or when a watchdog runs out.

use super::ready::Ready;
use crate::params::IcacheParams;
use blocks::cpu::Runway;
use kernel::{Activity, Cycle};

/// Maximum number of cycles that a core may run ahead.
const MOST_RUN_AHEAD: u64 = 24;

/// A sleep of this number of cycles or fewer costs more host time than ticks without effect.
const SHORT_SLEEP: Cycle = 4;

/// The steps that a cluster skips, and the end of the skip. Skipping does not change any result.
pub(super) struct TickPlan {
    /// Cycles by which a core may now run ahead of the others.
    run_ahead: u64,
    /// The same value while no core misses a line.
    max_run_ahead: u64,
    /// Upper bound of both, set from outside.
    run_ahead_bound: u64,
    /// The cores have profiles.
    have_profiles: bool,
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
    next_deadline: Cycle,
    /// Before this cycle, no core that runs ahead meets a watchdog, and cores run ahead far enough for plain accesses. 0 if the
    /// cores have profiles.
    open_until: Cycle,
    /// The same for cores with profiles, and 0 for others.
    open_with_profiles_until: Cycle,
    /// Before this cycle only cores can act, and they may complete plain accesses.
    swift_until: Cycle,
}

impl TickPlan {
    pub fn new() -> Self {
        TickPlan {
            run_ahead: 0,
            max_run_ahead: 0,
            run_ahead_bound: MOST_RUN_AHEAD,
            have_profiles: false,
            lines_fit: true,
            cores_only_until: 0,
            next_beat: Cycle::MAX,
            next_wide_effect: Cycle::MAX,
            next_deadline: Cycle::MAX,
            open_until: 0,
            open_with_profiles_until: 0,
            swift_until: 0,
        }
    }

    /// Bounds the cycles by which a core may run ahead.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.run_ahead_bound = cycles.clamp(1, MOST_RUN_AHEAD);
    }

    /// From now on the cores have profiles.
    pub fn profile_cores(&mut self) {
        self.have_profiles = true;
        self.update();
    }

    /// Sets how far a core may run ahead while no line is missing. While the cache is off, a core runs one instruction
    /// at a time.
    ///
    /// A present line stays until another line replaces it. If all lines of the program fit, that never happens.
    /// Otherwise it happens at the earliest when a miss of this cycle brings a line.
    pub fn set_run_ahead(&mut self, is_cached: bool, program_bytes: usize, params: &IcacheParams) {
        self.lines_fit = program_bytes <= params.bytes as usize;
        self.max_run_ahead = match (is_cached, self.lines_fit) {
            (false, _) => 0,
            (true, true) => self.run_ahead_bound,
            (true, false) => self.run_ahead_bound.min(params.miss_cycles.into()),
        };
    }

    /// Sets the run-ahead after a change of misses. A line that arrives could replace another one, so cores then do not
    /// run ahead.
    pub fn misses_changed(&mut self, is_missing: bool) {
        let may_lose_a_line = !self.lines_fit && is_missing;
        self.run_ahead = if may_lose_a_line { self.max_run_ahead.min(1) } else { self.max_run_ahead };
        self.update();
    }

    /// The next watchdog may run out in cycle `deadline`.
    pub fn set_deadline(&mut self, deadline: Cycle) {
        self.next_deadline = deadline;
        self.update();
    }

    /// The next cycle in which a watchdog may run out.
    pub fn next_deadline(&self) -> Cycle {
        self.next_deadline
    }

    /// Derives `open_until`, `open_with_profiles_until` and `swift_until` from the other fields.
    fn update(&mut self) {
        let is_far = self.run_ahead >= Runway::LEAST_OPEN;
        let until = if is_far { self.next_deadline.saturating_sub(self.run_ahead) } else { 0 };
        (self.open_until, self.open_with_profiles_until) = if self.have_profiles { (0, until) } else { (until, 0) };
        self.swift_until = self.cores_only_until.min(until);
    }

    /// Returns true if cores without profiles may complete plain accesses in this cycle: they run ahead far enough, and meet no
    /// watchdog.
    #[inline(always)]
    pub fn is_open(&self, now: Cycle) -> bool {
        now < self.open_until
    }

    /// The same for cores with profiles.
    #[inline(always)]
    pub fn is_open_with_profiles(&self, now: Cycle) -> bool {
        now < self.open_with_profiles_until
    }

    /// Returns true if only cores can act in this cycle, and they may complete plain accesses.
    #[inline(always)]
    pub fn is_swift(&self, now: Cycle) -> bool {
        now < self.swift_until
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
        self.swift_until = 0;
    }

    /// Returns true if no step before the cores' turn has work in this cycle, except the movement of beats.
    pub fn is_calm(&self, now: Cycle, has_mail: bool) -> bool {
        self.cores_only_until > 0 && !has_mail && now < self.next_deadline
    }

    /// Skips all steps except those of the cores, if `only_cores` can act, until a watchdog may run out or a beat is
    /// due. Otherwise all steps are done.
    pub fn leave_out(&mut self, only_cores: bool) {
        self.cores_only_until = if only_cores { self.next_deadline.min(self.next_beat) } else { 0 };
        self.update();
    }

    /// Sleeps until a core is due, a watchdog runs out or a moving beat may have an effect outside L1, but not beyond
    /// `limit`.
    pub fn sleep(&self, ready: &Ready, now: Cycle, limit: Cycle) -> Activity {
        let limit = limit.min(self.next_wide_effect).min(self.next_deadline.max(now + 1));
        match ready.next_or(now, limit) {
            Cycle::MAX => Activity::Idle,
            next if next == now + 1 => Activity::Busy,
            next => Activity::Until(next),
        }
    }

    /// Like [`TickPlan::sleep`], while only cores can act. Instead of a short sleep the cluster ticks without effect, because that
    /// costs less host time.
    #[inline(always)]
    pub fn sleep_cores(&self, ready: &Ready, now: Cycle) -> Activity {
        match (1..=SHORT_SLEEP).any(|cycles| ready.is_due(now + cycles)) {
            true => Activity::Busy,
            false => self.sleep(ready, now, Cycle::MAX),
        }
    }
}
