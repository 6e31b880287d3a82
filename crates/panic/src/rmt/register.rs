//! State that persists between packets, in arrays as in a stage's memory.

use super::params::RegisterParams;
use kernel::Cycle;

/// An array of words or of token buckets.
#[derive(Clone, Debug)]
pub(super) enum Register {
    Words { words: Vec<u64>, last_seen: Vec<Option<Cycle>> },
    Meter { rate: u128, burst: u128, buckets: Vec<Bucket> },
}

/// A token bucket, in thousandths of a byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: u128,
    at: Cycle,
}

/// Thousandths of a byte in a byte.
const PARTS: u128 = 1000;

impl Register {
    pub(super) fn new(params: &RegisterParams) -> Register {
        match *params {
            RegisterParams::Words { size, .. } => {
                Register::Words { words: vec![0; size as usize], last_seen: vec![None; size as usize] }
            }
            RegisterParams::Meter { size, bytes_per_1000_cycles, burst_bytes, .. } => {
                let burst = u128::from(burst_bytes) * PARTS;
                let full = Bucket { tokens: burst, at: 0 };
                Register::Meter { rate: bytes_per_1000_cycles.into(), burst, buckets: vec![full; size as usize] }
            }
        }
    }

    /// The word at `index` modulo the size.
    pub(super) fn word(&mut self, index: u64) -> &mut u64 {
        let Register::Words { words, .. } = self else { unreachable!("actions on words name words") };
        let len = words.len() as u64;
        &mut words[(index % len) as usize]
    }

    /// All words.
    pub(super) fn words(&self) -> &[u64] {
        let Register::Words { words, .. } = self else { unreachable!("actions on words name words") };
        words
    }

    /// Cycles since the last call for this index; `u64::MAX` for the first call.
    pub(super) fn last_seen(&mut self, index: u64, now: Cycle) -> u64 {
        let Register::Words { last_seen, .. } = self else { unreachable!("actions on words name words") };
        let len = last_seen.len() as u64;
        let before = last_seen[(index % len) as usize].replace(now);
        before.map_or(u64::MAX, |before| now.saturating_sub(before))
    }

    /// Takes `bytes` from a bucket if it holds them.
    pub(super) fn take(&mut self, index: u64, now: Cycle, bytes: u64) -> bool {
        let Register::Meter { rate, burst, buckets } = self else { unreachable!("actions on meters name meters") };
        let len = buckets.len() as u64;
        let bucket = &mut buckets[(index % len) as usize];
        let flown_in = *rate * u128::from(now.saturating_sub(bucket.at));
        bucket.tokens = (bucket.tokens + flown_in).min(*burst);
        bucket.at = bucket.at.max(now);
        let needed = u128::from(bytes) * PARTS;
        let has_them = bucket.tokens >= needed;
        if has_them {
            bucket.tokens -= needed;
        }
        has_them
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_passes_its_rate_and_its_burst() {
        let params =
            RegisterParams::Meter { name: "m".into(), size: 2, bytes_per_1000_cycles: 64_000, burst_bytes: 128 };
        let mut meter = Register::new(&params);
        // 64 bytes a cycle; two packets at once after a pause.
        let passed = [0, 0, 0, 1, 1, 2, 10, 10, 10].map(|now| meter.take(4, now, 64));
        assert_eq!(passed, [true, true, false, true, false, true, true, true, false]);
        assert!(meter.take(1, 10, 128) && !meter.take(3, 10, 1));
    }
}
