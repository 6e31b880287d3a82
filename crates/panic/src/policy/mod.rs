//! Scheduling policies: a policy computes a rank when a packet arrives, and the least rank is served first (4.3.2).
//!
//! The published policies are data ([`PolicyTree`]): each has a file here and a row in `published.rs`. A user's own policy is a type
//! that implements [`Policy`], passed to the scheduler by [`crate::pifo::LogicalPifo::new`]; see `tests/it/own_policy.rs`.

mod check;
mod fair;
mod leaky_bucket;
mod numbers;
mod of_packets;
mod published;

pub use check::PolicyTreeError;
pub use fair::FairShare;
pub use leaky_bucket::{Bucket, LeakyBucket};
pub use numbers::{ClassService, Number, Numbers};
pub use of_packets::{Fifo, LeastSlack, StrictPriority};
pub use published::PolicyParams;

use kernel::Cycle;

/// A packet that arrives at a logical PIFO, as a policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Cycle of the scheduler.
    pub now: Cycle,
    /// Traffic class. In a branch, the class's index among the branch's classes; above the innermost level, the branch index.
    pub class: usize,
    /// Flow.
    pub flow: u32,
    /// Length of the packet.
    pub bytes: u32,
    /// Priority at this service, lower is more urgent. Above the innermost level, the branch index.
    pub priority: u32,
    /// Cycles that the packet may still wait.
    pub slack_cycles: u64,
    /// The chain's argument for the service, for example a field of the packet; 0 if there is none.
    pub metadata: u64,
}

/// Ranks packets: the least rank is served first, the greatest is dropped first, equal ranks are served in order of arrival.
pub trait Policy {
    /// The rank of a packet that arrives now.
    fn rank(&mut self, arrival: &Arrival) -> u64;

    /// A packet of this rank leaves for a unit.
    fn served(&mut self, _rank: u64) {}

    /// The charge of the packet ranked last; it is stored with the packet for [`Policy::refund`].
    fn charged(&self) -> u64 {
        0
    }

    /// The packet with this arrival and rank is dropped. It had the greatest rank in the PIFO, or, if a bank of the packet
    /// buffer is full, the greatest rank of the packets in that bank.
    fn dropped(&mut self, _arrival: &Arrival, _rank: u64) {}

    /// A packet with this arrival and charge is dropped; called after [`Policy::dropped`].
    fn refund(&mut self, _arrival: &Arrival, _charged: u64) {}

    /// The first cycle in which a packet of this rank may leave; called at the outermost level only.
    fn eligible(&self, _rank: u64) -> Cycle {
        0
    }
}

/// A policy between classes, or between branches that each have a tree of their own. Source: 4.3.2 (hierarchies of PIFO
/// blocks).
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTree {
    /// The policy at the root.
    pub policy: PolicyParams,
    /// The branches it decides between; if empty, it decides between classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
}

/// A branch of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Classes of this branch; weights inside it are in this order.
    pub classes: Vec<usize>,
    /// The tree that decides between those classes.
    pub level: PolicyTree,
}

impl PolicyTree {
    /// A tree without branches.
    pub fn of(policy: PolicyParams) -> PolicyTree {
        PolicyTree { policy, branches: Vec::new() }
    }
}
