//! DCQCN rate control: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 5.
//!
//! A receiver answers marked packets with congestion notifications, at most one for each sender in an interval. A sender starts at line
//! rate. A notification multiplies the rate by 1 - alpha / 2 and moves alpha towards 1; without notifications, alpha decays. A timer and a
//! byte counter then raise the rate in rounds. Each round moves the rate halfway to a target: the rate before the cut. In the first rounds
//! the target stays (fast recovery). Later rounds raise the target by a step (additive increase), or by more if both timer and counter are
//! beyond the first rounds (hyper increase).
//!
//! Rates are whole bit/s and alpha is a multiple of 2^-32, rounded down.

use crate::span::{BitRate, Ratio, Span};
use diagnostics::param::{ParamError, must, within};
use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of DCQCN. Source of the defaults: Zhu et al., SIGCOMM 2015, figure 14 and section 5.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DcqcnParams {
    /// Weight of a notification in alpha.
    pub g: Ratio,
    /// Minimum time between two notifications to a sender.
    pub notification_interval: Span,
    /// Time without a notification after which alpha decays.
    pub alpha_timer: Span,
    /// Duration of a round of the timer.
    pub increase_timer: Span,
    /// Bytes of a round of the byte counter.
    pub increase_bytes: u64,
    /// Rounds of fast recovery.
    pub recovery_rounds: u32,
    /// Step of the additive increase.
    pub additive: BitRate,
    /// Step of the hyper increase.
    pub hyper: BitRate,
    /// Minimum rate.
    pub least: BitRate,
}

impl Default for DcqcnParams {
    fn default() -> Self {
        let us = |us: u64| Span::from_fs(us * 1_000_000_000);
        DcqcnParams {
            g: Ratio::new(1, 256),               // source: figure 14
            notification_interval: us(50),       // source: section 5, N
            alpha_timer: us(55),                 // source: section 5, K
            increase_timer: us(55),              // source: figure 14
            increase_bytes: 10_000_000,          // source: figure 14, 10 MB
            recovery_rounds: 5,                  // source: section 5, F
            additive: BitRate(Some(40_000_000)), // source: section 5, 40 Mbit/s
            hyper: BitRate(Some(400_000_000)),   // assumed: ten times the additive step; the paper gives no number
            least: BitRate(Some(10_000_000)),    // assumed: so that no sender stops
        }
    }
}

impl DcqcnParams {
    /// Checks all values.
    pub fn check(&self) -> Result<(), ParamError> {
        let Ratio { top, bottom } = self.g;
        must("g", format!("{top}/{bottom}"), top <= bottom, || "at most 1".into())?;
        within("increase_bytes", self.increase_bytes, 1, 1 << 40)?;
        within("recovery_rounds", self.recovery_rounds, 1, 1 << 16)?;
        for (key, rate) in [("additive", self.additive), ("hyper", self.hyper), ("least", self.least)] {
            must(key, "none", rate.0.is_some(), || "a rate".into())?;
        }
        Ok(())
    }
}

/// Alpha = 1: alpha counts in units of 2^-32.
const ONE: u64 = 1 << 32;

/// The rate of a sender to one peer, from the first notification on.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// Current rate and its target, in bit/s.
    current: u64,
    target: u64,
    alpha: u64,
    /// Next decay of alpha, and end of the current round of the timer.
    decays_at: Time,
    rises_at: Time,
    /// Bytes since the last round of the counter.
    bytes: u64,
    /// Rounds of the timer and of the counter since the last notification.
    rounds: [u32; 2],
    /// Time from which the next packet may leave.
    pub free: Time,
}

fn bps(rate: BitRate) -> u64 {
    rate.0.unwrap_or(0)
}

impl Limit {
    /// Starts at line rate.
    pub fn new(line: u64) -> Self {
        let (decays_at, rises_at) = (Time::MAX, Time::MAX);
        let rounds = [0; 2];
        Limit { current: line, target: line, alpha: ONE, decays_at, rises_at, bytes: 0, rounds, free: Time::ZERO }
    }

    /// A notification has arrived.
    pub fn cut(&mut self, now: Time, line: u64, params: &DcqcnParams) {
        self.advance(now, line, params);
        self.target = self.current;
        let cut = u128::from(self.current) * u128::from(self.alpha) / u128::from(2 * ONE);
        self.current = (self.current - cut as u64).max(bps(params.least)).min(line);
        self.alpha = self.decayed(params) + params.g.times(ONE);
        self.decays_at = now + params.alpha_timer.time();
        self.rises_at = now + params.increase_timer.time();
        (self.bytes, self.rounds) = (0, [0; 2]);
    }

    fn decayed(&self, params: &DcqcnParams) -> u64 {
        self.alpha - params.g.times(self.alpha)
    }

    /// Advances the timers to `now`.
    fn advance(&mut self, now: Time, line: u64, params: &DcqcnParams) {
        while self.decays_at.min(self.rises_at) <= now {
            if self.decays_at <= self.rises_at {
                let decayed = self.decayed(params);
                let before = std::mem::replace(&mut self.alpha, decayed);
                // Alpha cannot fall below the least difference that its units can express.
                self.decays_at = match self.alpha == before {
                    true => Time::MAX,
                    false => self.decays_at + params.alpha_timer.time(),
                };
            } else {
                self.rises_at = self.rises_at + params.increase_timer.time();
                self.rise(0, line, params);
            }
        }
    }

    /// A round of the timer (0) or of the counter (1) ends.
    fn rise(&mut self, which: usize, line: u64, params: &DcqcnParams) {
        self.rounds[which] += 1;
        let [least, most] =
            if self.rounds[0] < self.rounds[1] { self.rounds } else { [self.rounds[1], self.rounds[0]] };
        let beyond = |rounds: u32| rounds.saturating_sub(params.recovery_rounds);
        if beyond(least) > 0 {
            self.target = self.target.saturating_add(bps(params.hyper).saturating_mul(beyond(least).into()));
        } else if beyond(most) > 0 {
            self.target = self.target.saturating_add(bps(params.additive));
        }
        self.target = self.target.min(line);
        // Rounds up, so that the rate reaches its target.
        self.current = self.current.midpoint(self.target) + (self.current ^ self.target) % 2;
        if self.current == line {
            self.rises_at = Time::MAX;
        }
    }

    /// A packet leaves; it takes `bits` on the line.
    pub fn sent(&mut self, now: Time, bits: u64, line: u64, params: &DcqcnParams) {
        self.advance(now, line, params);
        if self.current == line {
            self.free = now;
            return;
        }
        let fs = u128::from(bits) * 1_000_000_000_000_000 / u128::from(self.current);
        self.free = now.checked_add(Time::from_fs(u64::try_from(fs).unwrap_or(u64::MAX))).unwrap_or(Time::MAX);
        self.bytes += bits / 8;
        if self.bytes >= params.increase_bytes {
            self.bytes -= params.increase_bytes;
            self.rise(1, line, params);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 100_000_000_000;

    fn us(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }

    #[test]
    fn a_notification_cuts_the_rate_and_fast_recovery_halves_the_gap() {
        let params = DcqcnParams::default();
        let mut limit = Limit::new(LINE);
        limit.cut(us(100), LINE, &params);
        // Alpha is 1 at first, so the rate is halved.
        assert_eq!((limit.current, limit.target, limit.alpha), (LINE / 2, LINE, ONE));
        // The first round ends 55 us later and raises the rate to (50 + 100) / 2 Gbit/s. Just before, nothing has changed.
        limit.advance(Time::from_fs(us(155).fs() - 1), LINE, &params);
        assert_eq!(limit.current, LINE / 2);
        let mut gap = LINE / 2;
        for round in 1..=5 {
            limit.advance(us(100 + 55 * round), LINE, &params);
            gap /= 2;
            assert_eq!(limit.current, LINE - gap, "round {round}");
        }
        // Alpha decays by 1/256 in each round.
        let alpha = (0..5).fold(ONE, |alpha, _| alpha - alpha / 256);
        assert_eq!(limit.alpha, alpha);
        // The second cut makes the current rate the target, and then subtracts alpha / 2 of it.
        let before = limit.current;
        limit.cut(us(376), LINE, &params);
        assert_eq!(limit.target, before);
        let cut = (u128::from(before) * u128::from(alpha) / (2 << 32)) as u64;
        assert_eq!(limit.current, before - cut);
        assert_eq!(limit.alpha, alpha - alpha / 256 + ONE / 256);
    }

    /// Alpha decays in every round without a notification, also when the rate has reached that of the line.
    #[test]
    fn alpha_decays_at_line_rate_too() {
        let params = DcqcnParams::default();
        let mut limit = Limit::new(LINE);
        limit.cut(us(0), LINE, &params);
        limit.advance(us(10_000), LINE, &params);
        assert_eq!((limit.current, limit.rises_at), (LINE, Time::MAX));
        let rounds = 10_000 / 55;
        assert_eq!(limit.alpha, (0..rounds).fold(ONE, |alpha, _| alpha - alpha / 256));
        limit.advance(us(18_000_000_000), LINE, &params);
        assert_eq!((limit.alpha, limit.decays_at), (255, Time::MAX));
    }

    #[test]
    fn the_target_grows_after_fast_recovery() {
        let params = DcqcnParams::default();
        let mut limit = Limit::new(LINE);
        limit.cut(us(0), LINE, &params);
        limit.cut(us(0), LINE, &params);
        assert_eq!((limit.current, limit.target), (LINE / 4, LINE / 2));
        for round in 1..=7 {
            limit.advance(us(55 * round), LINE, &params);
        }
        assert_eq!(limit.target, LINE / 2 + 2 * 40_000_000, "rounds 6 and 7 are additive");
        // The byte counter passes fast recovery, too, with rounds of 10 MB each. The smaller number of rounds is then 6: one hyper step.
        for _ in 0..6 {
            limit.rise(1, LINE, &params);
        }
        assert_eq!(limit.target, LINE / 2 + 7 * 40_000_000 + 400_000_000, "five additive steps, and a hyper one");
    }

    #[test]
    fn packets_keep_the_rate() {
        let params = DcqcnParams::default();
        let mut limit = Limit::new(LINE);
        limit.sent(us(1), 8000, LINE, &params);
        assert_eq!(limit.free, us(1), "the line itself is the limit");
        limit.cut(us(1), LINE, &params);
        limit.sent(us(2), 8000, LINE, &params);
        // 8,000 bits at 50 Gbit/s.
        assert_eq!(limit.free - us(2), Time::from_ns(160));
        limit.bytes = params.increase_bytes - 1000;
        limit.sent(us(3), 8000, LINE, &params);
        assert_eq!((limit.bytes, limit.rounds, limit.current), (0, [0, 1], LINE / 4 * 3));
    }
}
