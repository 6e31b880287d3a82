//! Policies: which packet a service takes next, said by a rank that is computed when the packet comes (4.3.2).
//!
//! The published policies are data ([`Level`]): each is its file here, and its row in `published.rs`. A user's own is a type that
//! implements [`Policy`], given to the scheduler by [`crate::pifo::LogicalPifo::new`]; `tests/it/own_policy.rs` has one.

mod check;
mod fair;
mod leaky_bucket;
mod numbers;
mod of_packets;
mod published;

pub use check::LevelError;
pub use fair::FairShare;
pub use leaky_bucket::{Bucket, LeakyBucket};
pub use numbers::{Asked, Number, Numbers};
pub use of_packets::{Fifo, LeastSlack, StrictPriority};
pub use published::PolicyParams;

use kernel::Cycle;

/// A packet that comes into a logical PIFO, as a policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The scheduler's cycle.
    pub now: Cycle,
    /// Traffic class; within a branch of a hierarchy its position among the branch's, and above the lowest level the branch.
    pub class: usize,
    /// Flow.
    pub flow: u32,
    /// Length of the packet.
    pub bytes: u32,
    /// Priority at this service, lower is more urgent; above the lowest level of a hierarchy, the branch.
    pub priority: u32,
    /// Cycles that the packet may still wait.
    pub slack_cycles: u64,
    /// What the chain tells the service of the packet, such as a field of it; 0 if nothing.
    pub metadata: u64,
}

/// Gives packets their ranks: the least goes first, the greatest is dropped first, equal ones go in order of arrival.
pub trait Policy {
    /// The rank of a packet that comes now.
    fn rank(&mut self, arrival: &Arrival) -> u64;

    /// A packet of this rank goes to a unit.
    fn served(&mut self, _rank: u64) {}

    /// What the packet that was ranked last has been charged; it is kept with the packet, for [`Policy::refund`].
    fn charged(&self) -> u64 {
        0
    }

    /// The packet that came so and had this rank is dropped. It was the one with the greatest rank, or where a bank of the packet
    /// buffer is full, that of those in this bank.
    fn dropped(&mut self, _arrival: &Arrival, _rank: u64) {}

    /// A packet that came so and was charged so much is dropped; heard behind [`Policy::dropped`].
    fn refund(&mut self, _arrival: &Arrival, _charged: u64) {}

    /// The first cycle in which a packet of this rank may go; heard at the outermost level only.
    fn eligible(&self, _rank: u64) -> Cycle {
        0
    }
}

/// A policy between classes, or a policy between branches that each have a level of their own. Source: 4.3.2 (hierarchies of
/// PIFO blocks).
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The policy of this level.
    pub policy: PolicyParams,
    /// What it decides between; with none, between the classes themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
}

/// A branch of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The classes whose packets come into this branch; weights below count them in this order.
    pub classes: Vec<usize>,
    /// What decides between them.
    pub level: Level,
}

impl Level {
    /// A level without branches.
    pub fn of(policy: PolicyParams) -> Level {
        Level { policy, branches: Vec::new() }
    }
}
