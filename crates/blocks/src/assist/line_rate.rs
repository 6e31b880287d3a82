//! Timing of a line.

use crate::checks;
use kernel::Time;
use std::num::NonZeroU64;

/// A line with a given bit rate.
#[derive(Clone, Copy)]
pub(super) struct LineRate {
    bps: u64,
    /// Femtoseconds of a byte, if that is a whole number.
    byte_fs: Option<NonZeroU64>,
}

/// Femtoseconds of eight bits at one bit per second.
const BYTE_FS: u64 = 8 * 1_000_000_000_000_000;

impl LineRate {
    pub fn new(bps: u64) -> LineRate {
        let byte_fs = BYTE_FS.is_multiple_of(bps).then(|| NonZeroU64::new(BYTE_FS / bps)).flatten();
        LineRate { bps, byte_fs }
    }

    /// Checks a bit rate.
    pub fn check(bps: u64) -> Result<(), String> {
        checks::within("link_bps", bps, 1_000, 1_000_000_000_000)
    }

    /// The time that this many bytes take, rounded up to a femtosecond.
    pub fn time(&self, bytes: u64) -> Time {
        if let Some(fs) = self.byte_fs.and_then(|byte_fs| bytes.checked_mul(byte_fs.get())) {
            return Time::from_fs(fs);
        }
        let fs = u128::from(bytes) * u128::from(BYTE_FS);
        Time::from_fs(u64::try_from(fs.div_ceil(u128::from(self.bps))).expect("a time below 2^64 fs"))
    }

    /// Whole bytes that pass in this time.
    pub fn bytes(&self, time: Time) -> u64 {
        if let Some(byte_fs) = self.byte_fs {
            return time.fs() / byte_fs;
        }
        let bytes = u128::from(time.fs()) * u128::from(self.bps) / u128::from(BYTE_FS);
        u64::try_from(bytes).expect("a count below 2^64")
    }
}
