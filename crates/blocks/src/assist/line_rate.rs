//! Timing of a line.

use crate::checks;
use kernel::Time;

/// A line with a given bit rate.
#[derive(Clone, Copy)]
pub(super) struct LineRate {
    bps: u64,
}

impl LineRate {
    pub fn new(bps: u64) -> LineRate {
        LineRate { bps }
    }

    /// Checks a bit rate.
    pub fn check(bps: u64) -> Result<(), String> {
        checks::within("link_bps", bps, 1_000, 1_000_000_000_000)
    }

    /// The time that this many bytes take, rounded up to a femtosecond.
    pub fn time(&self, bytes: u64) -> Time {
        let fs = u128::from(bytes) * 8 * 1_000_000_000_000_000;
        Time::from_fs(u64::try_from(fs.div_ceil(u128::from(self.bps))).expect("a time below 2^64 fs"))
    }

    /// Whole bytes that pass in this time.
    pub fn bytes(&self, time: Time) -> u64 {
        let bits = u128::from(time.fs()) * u128::from(self.bps) / 1_000_000_000_000_000;
        u64::try_from(bits / 8).expect("a count below 2^64")
    }
}
