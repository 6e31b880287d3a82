//! Hosts that follow the LogGOPS model run a [`Schedule`]: on the model's own network ([`Run`]), or as programs on the nodes of a packet
//! network ([`Rank`]). A [`Run`] processes the events of all hosts in one order, and one host can change times of another; ranks interact
//! only through messages.
//!
//! Parameters: `L` latency, `o` overhead of a processor for a message, `g` gap between messages of a network card, `G` gap per
//! byte, `O` overhead per byte, `S` the largest message that is sent at once (eager); a larger one waits for its receive
//! (rendezvous). s is the size of a message in bytes, t the time at which its processor and card are free.
//!
//! **2010** is the model of LogGOPSim:
//!
//! - A send takes its processor for o + (s-1) O and its card for g + (s-1) G. The message arrives at t + o + L.
//! - A receive takes no time. It takes the first message that fits, or waits for one.
//! - A message that arrives takes the processor with the same number as the sender's processor for o + max((s-1) O, (s-1) G). It
//!   takes the card for g + (s-1) G. Both hold whether or not a receive waits for the message.
//! - The send of a message above S ends when the message meets its receive. The sender's processor and card are busy
//!   until then.
//! - Operations that become free begin when their own processor is free, even if this is before the time at which they
//!   become free.
//!
//! **atlahs** is the model of ATLAHS' copy of LogGOPSim, which charges G on the way:
//!
//! - A message arrives at the end of the send's overhead, plus L and (s-1) G, in whole nanoseconds.
//! - A message is received when it has met its receive, on the receive's processor: the card takes g, then the processor
//!   o + (s-1) O.
//! - Operations begin at the end of the operations that they require. An operation whose last dependency is an `irequires` may
//!   begin at once; a receive then counts as posted at time 0. An empty message counts as a message of one byte.
//!
//! Events are processed in the order of time, and events of one time in the order of their creation, as in both
//! programs.

mod atlahs;
mod critical;
mod events;
mod gather;
mod hosts;
mod matching;
mod network;
mod params;
mod rank;
mod record;
mod stuck;
mod words;

pub use critical::{Step, StepKind};
pub use gather::{Paths, RankResult, gather};
pub use hosts::Run;
pub use params::{Model, Params};
pub use rank::{Rank, TooLarge};
pub use record::{Outcome, Record, Timing};
pub use stuck::{Stuck, Wait};

use crate::goal::Schedule;

/// A schedule that cannot be run to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// A time is beyond the range of the simulator.
    #[error("the schedule takes more than five hours: {at} ends after the last time that spinet can hold")]
    TooLong {
        /// The operation.
        at: String,
    },
    /// Too many ranks, processors and cards.
    #[error("{ranks} ranks with {cpus} cpus and {nics} nics each are too many, must be at most {most} in all")]
    TooMany {
        /// Number of ranks.
        ranks: u32,
        /// Processors of each.
        cpus: usize,
        /// Network cards of each.
        nics: usize,
        /// Maximum of all together.
        most: usize,
    },
    /// A message without bytes.
    #[error(
        "{at} of rank {rank} is empty, and the model 2010 charges one gap per byte less for it: G and O must be at most o and g"
    )]
    Empty {
        /// The operation.
        at: String,
        /// Its rank.
        rank: u32,
    },
    /// Receives or messages are left.
    #[error("{0}")]
    Stuck(Stuck),
}

/// Runs a schedule.
pub fn run(schedule: &Schedule, params: &Params, model: Model, with_record: bool) -> Result<Outcome, RunError> {
    let mut run = Run::new(schedule, *params, model, with_record)?;
    while !run.advance(u64::MAX)? {}
    run.finish()
}
