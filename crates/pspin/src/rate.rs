//! Limits of rates.

use kernel::Cycle;
use std::num::NonZeroU64;

/// A rate that may not be exceeded. After n bytes the next ones wait for the time that n bytes take at this rate.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    bps: u128,
    /// The earliest time at which bytes may be sent, in units of 1/`bps` cycles. In this unit no time is rounded.
    from: u128,
}

impl RateLimit {
    /// A limit of `bps` bit/s. The first bytes may be sent in any cycle.
    pub fn new(bps: NonZeroU64) -> Self {
        RateLimit { bps: bps.get().into(), from: 0 }
    }

    /// First cycle in which bytes may be sent.
    pub fn allows_at(&self) -> Cycle {
        self.from.div_ceil(self.bps) as Cycle
    }

    /// Sends bytes in cycle `now` of a clock with this frequency.
    pub fn spend(&mut self, now: Cycle, bytes: u32, clock_hz: u64) {
        let now = u128::from(now) * self.bps;
        self.from = self.from.max(now) + u128::from(bytes) * 8 * u128::from(clock_hz);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles in which parts of 100 bytes are sent, if they are ready in the cycles `ready`.
    fn goes(bps: u64, clock_hz: u64, ready: &[Cycle]) -> Vec<Cycle> {
        let mut limit = RateLimit::new(NonZeroU64::new(bps).expect("a rate"));
        let mut go = |&ready: &Cycle| {
            let now = limit.allows_at().max(ready);
            limit.spend(now, 100, clock_hz);
            now
        };
        ready.iter().map(&mut go).collect()
    }

    #[test]
    fn parts_go_at_the_rate_and_a_pause_earns_nothing() {
        // 8 Gbit/s are a byte in a cycle of 1 GHz.
        assert_eq!(goes(8_000_000_000, 1_000_000_000, &[5, 5, 5, 1000, 1000]), [5, 105, 205, 1000, 1100]);
    }

    #[test]
    fn each_wait_is_rounded_up_to_whole_cycles() {
        // 3 bytes per cycle: 33 1/3 cycles for each part.
        assert_eq!(goes(24_000_000_000, 1_000_000_000, &[0; 7]), [0, 34, 68, 102, 136, 170, 204]);
    }
}
