//! The network between the hosts of the model.

use super::params::{Model, Params};
use kernel::Time;

/// Each message takes the latency and, in the model atlahs, the gap per byte. Messages do not delay each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    latency: Time,
    /// In nanoseconds for each byte but the first.
    per_byte: f64,
}

impl Ways {
    /// The network with these parameters.
    pub fn new(params: &Params, model: Model) -> Ways {
        let per_byte = match model {
            Model::Loggopsim2010 => 0.0,
            Model::Atlahs => params.G.fs() as f64 / 1e6,
        };
        Ways { latency: params.L, per_byte }
    }

    /// The arrival of a message that leaves at time `at`; `None` if it is beyond the range of the simulator.
    pub fn arrival(&self, bytes: u64, at: u64) -> Option<u64> {
        let way = whole_ns(bytes, self.per_byte)?.fs().checked_add(self.latency.fs())?;
        at.checked_add(way)
    }
}

/// The gap of all bytes but the first, in whole nanoseconds. It is computed as ATLAHS does, in floating point, so the
/// result is the same to the nanosecond.
pub(super) fn whole_ns(bytes: u64, per_byte: f64) -> Option<Time> {
    let ns = (bytes.saturating_sub(1) as f64 * per_byte) as u64;
    ns.checked_mul(1_000_000).map(Time::from_fs)
}
