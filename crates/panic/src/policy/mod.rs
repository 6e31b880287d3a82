//! Policies: which packet a service takes next, said by a rank that is computed when the packet comes (4.3.2).
//!
//! The published policies are data ([`Level`]). A user's own is a type that implements [`Policy`], given to the scheduler by
//! [`crate::pifo::LogicalPifo::new`]; `tests/own_policy.rs` has one.

mod fair;
mod leaky_bucket;

pub use fair::FairShare;
pub use leaky_bucket::{Bucket, LeakyBucket};

use kernel::Cycle;

/// A packet that comes into a logical PIFO, as a policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The scheduler's cycle.
    pub now: Cycle,
    /// Traffic class; above the lowest level of a hierarchy, the branch from which the packet comes.
    pub class: usize,
    /// Flow.
    pub flow: u32,
    /// Length of the packet.
    pub bytes: u32,
    /// Priority at this service, lower is more urgent; above the lowest level of a hierarchy, the branch.
    pub priority: u32,
    /// Cycles that the packet may still wait.
    pub slack_cycles: u64,
}

/// Gives packets their ranks: the least goes first, the greatest is dropped first, equal ones go in order of arrival.
pub trait Policy {
    /// The rank of a packet that comes now.
    fn rank(&mut self, arrival: &Arrival) -> u64;

    /// A packet of this rank goes to a unit.
    fn served(&mut self, _rank: u64) {}

    /// The packet that came so and had this rank is dropped. It was the one with the greatest rank.
    fn dropped(&mut self, _arrival: &Arrival, _rank: u64) {}

    /// The first cycle in which a packet of this rank may go; heard at the outermost level only.
    fn eligible(&self, _rank: u64) -> Cycle {
        0
    }
}

/// The lowest priority value goes first. Source: 7.6, Figure 11a.
pub struct StrictPriority;

impl Policy for StrictPriority {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        u64::from(arrival.priority)
    }
}

/// The packet that can wait least goes first: what counts is when its slack will be used up, if it waits.
pub struct LeastSlack;

impl Policy for LeastSlack {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        arrival.now.saturating_add(arrival.slack_cycles)
    }
}

/// In order of arrival.
pub struct Fifo;

impl Policy for Fifo {
    fn rank(&mut self, _arrival: &Arrival) -> u64 {
        0
    }
}

/// Which policy, and its numbers: `{ kind = "strict-priority" }`, or `{ kind = "weighted-fair", weights = [2, 1] }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyParams {
    /// In order of arrival.
    Fifo,
    /// By the priority of the packet.
    StrictPriority,
    /// By what is left of the packet's slack.
    LeastSlack,
    /// Classes take turns, packet by packet.
    RoundRobin,
    /// Classes share bytes in proportion to their weights.
    WeightedFair {
        /// The weight of each class, 1 to 65536.
        weights: Vec<u32>,
    },
    /// Each class is held to a rate; at the outermost level only.
    LeakyBucket {
        /// The bucket of each class.
        buckets: Vec<Bucket>,
    },
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
    /// The classes whose packets come into this branch.
    pub classes: Vec<usize>,
    /// What decides between them.
    pub level: Level,
}

/// The most levels of a hierarchy.
/// assumed: no source bounds it; it keeps a file that nests without end from being followed.
const MOST_LEVELS: usize = 8;

impl PolicyParams {
    /// The policy at work between `n_classes`.
    pub fn start(&self, n_classes: usize) -> Box<dyn Policy> {
        match self {
            PolicyParams::Fifo => Box::new(Fifo),
            PolicyParams::StrictPriority => Box::new(StrictPriority),
            PolicyParams::LeastSlack => Box::new(LeastSlack),
            PolicyParams::RoundRobin => Box::new(FairShare::of_packets(n_classes)),
            PolicyParams::WeightedFair { weights } => Box::new(FairShare::of_bytes(weights)),
            PolicyParams::LeakyBucket { buckets } => Box::new(LeakyBucket::new(buckets)),
        }
    }

    fn check(&self, at: &str, n_classes: usize, is_outermost: bool) -> Result<(), String> {
        let sized = |name: &str, n: usize| match n == n_classes {
            true => Ok(()),
            false => {
                Err(format!("{at}policy.{name} has {n} entries, must have {n_classes}, one for each that it serves"))
            }
        };
        match self {
            PolicyParams::WeightedFair { weights } => {
                sized("weights", weights.len())?;
                weights.iter().enumerate().try_for_each(|(i, &weight)| {
                    blocks::checks::within(&format!("{at}policy.weights[{i}]"), weight, 1, 65536)
                })
            }
            PolicyParams::LeakyBucket { .. } if !is_outermost => {
                Err(format!("{at}policy.kind is leaky-bucket, which may stand at the outermost level only"))
            }
            PolicyParams::LeakyBucket { buckets } => {
                sized("buckets", buckets.len())?;
                buckets.iter().enumerate().try_for_each(|(i, bucket)| bucket.check(&format!("{at}policy.buckets[{i}]")))
            }
            _ => Ok(()),
        }
    }
}

impl Level {
    /// A level without branches.
    pub fn of(policy: PolicyParams) -> Level {
        Level { policy, branches: Vec::new() }
    }

    /// What is wrong with it for packets of `n_classes`.
    pub fn check(&self, n_classes: usize) -> Result<(), String> {
        self.check_below("", &(0..n_classes).collect::<Vec<_>>(), n_classes, 0)
    }

    fn check_below(&self, at: &str, classes: &[usize], n_classes: usize, depth: usize) -> Result<(), String> {
        if depth == MOST_LEVELS {
            return Err(format!("{at}branches lie deeper than {MOST_LEVELS} levels"));
        }
        if self.branches.is_empty() {
            // Policies count all classes, whichever of them come here.
            return self.policy.check(at, n_classes, depth == 0);
        }
        self.policy.check(at, self.branches.len(), depth == 0)?;
        let mut found: Vec<usize> = self.branches.iter().flat_map(|branch| &branch.classes).copied().collect();
        found.sort_unstable();
        if found != classes {
            return Err(format!("{at}branches serve classes {found:?}, must serve each of {classes:?} once"));
        }
        self.branches.iter().enumerate().try_for_each(|(i, branch)| {
            let mut classes = branch.classes.clone();
            classes.sort_unstable();
            branch.level.check_below(&format!("{at}branches[{i}].level."), &classes, n_classes, depth + 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Level as TOML, for three classes.
    fn check(level: &str, want: Expect) {
        let level: Level = toml::from_str(level).unwrap();
        want.assert_eq(&level.check(3).err().unwrap_or_else(|| "fine".to_owned()));
    }

    #[test]
    fn hierarchies_are_data() {
        check(r#"policy = { kind = "weighted-fair", weights = [2, 1, 1] }"#, expect!["fine"]);
        check(
            r#"
            policy = { kind = "strict-priority" }
            branches = [
                { classes = [1], level = { policy = { kind = "fifo" } } },
                { classes = [2, 0], level = { policy = { kind = "round-robin" } } },
            ]"#,
            expect!["fine"],
        );
    }

    #[test]
    fn what_cannot_work_is_told() {
        check(
            r#"policy = { kind = "weighted-fair", weights = [2, 1] }"#,
            expect!["policy.weights has 2 entries, must have 3, one for each that it serves"],
        );
        check(
            r#"policy = { kind = "weighted-fair", weights = [2, 0, 1] }"#,
            expect!["policy.weights[1] is 0, must be 1 to 65536"],
        );
        check(
            r#"
            policy = { kind = "strict-priority" }
            branches = [{ classes = [1, 1], level = { policy = { kind = "fifo" } } }]"#,
            expect!["branches serve classes [1, 1], must serve each of [0, 1, 2] once"],
        );
        check(
            r#"
            policy = { kind = "fifo" }
            branches = [{ classes = [0, 1, 2], level = { policy = { kind = "leaky-bucket", buckets = [] } } }]"#,
            expect!["branches[0].level.policy.kind is leaky-bucket, which may stand at the outermost level only"],
        );
    }
}
