//! Rate limits per class.

use super::{Arrival, ClassService, Number, Policy};
use kernel::Cycle;

/// The rate limit of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Rate in bytes per 1000 cycles of the scheduler.
    pub bytes_per_1000_cycles: u32,
    /// Bytes that may leave at once after a pause, ahead of the rate.
    pub burst_bytes: u32,
}

/// No limit: faster than any interconnect.
const OPEN: Bucket = Bucket { bytes_per_1000_cycles: 1 << 30, burst_bytes: 0 };

impl Number for Bucket {
    const LIKE: Option<&'static str> = None;
    const IS_OUTERMOST: bool = true;

    fn of(service: &ClassService) -> Bucket {
        service.rate.unwrap_or(OPEN)
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        let (rate, most) = (self.bytes_per_1000_cycles, OPEN.bytes_per_1000_cycles);
        match (1..=most).contains(&rate) {
            true => Ok(()),
            false => Err((".bytes_per_1000_cycles", format!("is {rate}, must be 1 to {most}"))),
        }
    }
}

/// A packet's rank is the first cycle in which its bucket permits it; it does not leave earlier.
///
/// In time t a class sends at most `burst_bytes`, one packet and t times its rate. Source: the generic cell rate algorithm
/// (ITU-T I.371, virtual scheduling).
pub struct LeakyBucket {
    buckets: Vec<Bucket>,
    /// When each class's bucket will be empty, in cycles times bytes per 1000 cycles.
    empty_at: Vec<u128>,
}

impl LeakyBucket {
    /// One empty bucket for each class.
    pub fn new(buckets: &[Bucket]) -> LeakyBucket {
        LeakyBucket { buckets: buckets.to_vec(), empty_at: vec![0; buckets.len()] }
    }
}

impl Policy for LeakyBucket {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        let Bucket { bytes_per_1000_cycles, burst_bytes } = self.buckets[arrival.class];
        let rate = u128::from(bytes_per_1000_cycles);
        let empty_at = &mut self.empty_at[arrival.class];
        let allowed = empty_at.saturating_sub(1000 * u128::from(burst_bytes)).div_ceil(rate);
        let goes = Cycle::try_from(allowed).unwrap_or(Cycle::MAX).max(arrival.now);
        *empty_at = (*empty_at).max(u128::from(arrival.now) * rate) + 1000 * u128::from(arrival.bytes);
        goes
    }

    fn dropped(&mut self, arrival: &Arrival, _rank: u64) {
        let empty_at = &mut self.empty_at[arrival.class];
        *empty_at = empty_at.saturating_sub(1000 * u128::from(arrival.bytes));
    }

    fn eligible(&self, rank: u64) -> Cycle {
        rank
    }
}
