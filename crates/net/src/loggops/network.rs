//! Networks between hosts.

use super::params::{Model, Params};
use kernel::Time;

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, by which [`Network::arrival`] names it.
    pub number: u32,
    /// The rank that sends it, and the number of the card that does.
    pub from: (u32, u8),
    /// The rank that it goes to, and the number of the card that takes it.
    pub to: (u32, u8),
    /// Its size.
    pub bytes: u64,
}

/// A network as hosts see it: they give it messages, and learn of arrivals.
pub trait Network {
    /// Starts a message at a time. Returns its arrival if the network knows it at once; else [`Network::arrival`] tells it.
    fn start(&mut self, message: Message, at: Time) -> Option<Time>;

    /// Runs the network until a message arrives, at `until` at the latest, and returns the message's number and its arrival.
    /// `None` if no message arrives until then.
    fn arrival(&mut self, until: Time) -> Option<(u32, Time)>;

    /// True if the network cannot go back in time: then operations begin at the time at which they become free or later,
    /// in the model 2010 too.
    fn is_causal(&self) -> bool {
        true
    }
}

/// The network of the model: each message takes its latency, and in the model atlahs its gap per byte, whatever else is on
/// the way.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    latency: Time,
    /// In nanoseconds for each byte but the first.
    per_byte: f64,
}

impl Plain {
    /// The network with these parameters.
    pub fn new(params: &Params, model: Model) -> Plain {
        let per_byte = match model {
            Model::Loggopsim2010 => 0.0,
            Model::Atlahs => params.G.fs() as f64 / 1e6,
        };
        Plain { latency: params.L, per_byte }
    }
}

impl Network for Plain {
    fn start(&mut self, message: Message, at: Time) -> Option<Time> {
        let way = whole_ns(message.bytes, self.per_byte).and_then(|way| way.checked_add(self.latency));
        Some(way.and_then(|way| at.checked_add(way)).unwrap_or(Time::MAX))
    }

    fn arrival(&mut self, _until: Time) -> Option<(u32, Time)> {
        None
    }

    fn is_causal(&self) -> bool {
        false
    }
}

/// The gap of all bytes but the first, in whole nanoseconds. It is computed as ATLAHS does, in floating point, so the
/// result is the same to the nanosecond.
pub(super) fn whole_ns(bytes: u64, per_byte: f64) -> Option<Time> {
    let ns = (bytes.saturating_sub(1) as f64 * per_byte) as u64;
    ns.checked_mul(1_000_000).map(Time::from_fs)
}
