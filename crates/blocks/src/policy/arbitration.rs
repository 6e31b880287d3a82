//! Arbitration: who goes first of those that ask.

use super::{FixedPriority, RoundRobin};
use crate::bus::{Access, Reference, Responder};
use kernel::Cycle;

/// What an arbiter knows of a reference before it is granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub is_write: bool,
}

impl From<&Reference> for Head {
    fn from(reference: &Reference) -> Head {
        let is_write = matches!(reference.access, Access::Write(_));
        Head { addr: reference.addr, bytes: reference.access.len(), is_write }
    }
}

impl Head {
    /// Whether this reference goes on where `before` ended, in the same direction.
    pub fn continues(&self, before: &Head) -> bool {
        self.is_write == before.is_write && before.addr.checked_add(u64::from(before.bytes)) == Some(self.addr)
    }
}

/// Those that ask at an edge.
pub struct Contest<'a> {
    /// The edge.
    pub now: Cycle,
    /// Who asks: bit i is requester i.
    pub waiting: u64,
    /// The requesters' ends, for policies that look at what is asked.
    pub requesters: &'a [Responder],
}

impl Contest<'_> {
    /// What `requester` asks for.
    pub fn head(&self, requester: u32) -> Option<Head> {
        self.requesters[requester as usize].references.peek().map(|reference| Head::from(&*reference))
    }
}

/// A policy that lets one of several requesters go at an edge.
///
/// It is told of every edge at which its arbiter ticks, by [`Arbitration::choose`] or, where nobody may go, by
/// [`Arbitration::wait`]. Its choice may depend on the edges at which requests came and were granted, and on nothing
/// else, so that an arbiter may sleep while nothing changes.
pub trait Arbitration {
    /// The one to go: a bit of `contest.waiting`, which has at least one. It does go, at this edge.
    fn choose(&mut self, contest: &Contest) -> u32;

    /// These wait at an edge at which none may go.
    fn wait(&mut self, _now: Cycle, _waiting: u64) {}
}

/// An arbitration policy, as a card's file names it: `"round-robin"`, or `{ fixed-priority = { ... } }`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArbitrationPolicy {
    /// In turn. Source: thesis, 3.3.1 (the base prioritisation of Spinach's arbiter).
    RoundRobin,
    /// By rank, with bursts kept together and nobody starved. Source: thesis, 2.1.2.
    FixedPriority {
        /// Requesters by rank, the first group first; those of one group take turns.
        groups: Vec<Vec<u32>>,
        /// Whether a requester that goes on where it ended, in the same direction, keeps its turn before higher ranks.
        keeps_bursts: bool,
        /// Who has waited for this many cycles goes before all others; 0 is never. Unit: cycles of the arbiter.
        timeout_cycles: u64,
    },
}

impl ArbitrationPolicy {
    /// The policy at work, among this many requesters.
    pub fn start(&self, requesters: u32) -> Arbitrator {
        match self {
            ArbitrationPolicy::RoundRobin => Arbitrator::RoundRobin(RoundRobin::default()),
            ArbitrationPolicy::FixedPriority { groups, keeps_bursts, timeout_cycles } => {
                Arbitrator::FixedPriority(FixedPriority::new(groups, requesters, *keeps_bursts, *timeout_cycles))
            }
        }
    }

    /// What is wrong with it for this many requesters.
    pub fn check(&self, requesters: u32) -> Result<(), String> {
        if !(1..=64).contains(&requesters) {
            return Err(format!("requesters is {requesters}, must be 1 to 64"));
        }
        let ArbitrationPolicy::FixedPriority { groups, .. } = self else { return Ok(()) };
        let mut times = vec![0; requesters as usize];
        for &requester in groups.iter().flatten() {
            let Some(times) = times.get_mut(requester as usize) else {
                return Err(format!(
                    "arbitration.fixed-priority.groups names requester {requester}, the last one is {}",
                    requesters - 1
                ));
            };
            *times += 1;
        }
        match times.iter().position(|&times| times != 1) {
            Some(who) => Err(format!(
                "arbitration.fixed-priority.groups names requester {who} {} times, must be once",
                times[who]
            )),
            None => Ok(()),
        }
    }
}

/// A policy at work.
pub enum Arbitrator {
    /// In turn.
    RoundRobin(RoundRobin),
    /// By rank.
    FixedPriority(FixedPriority),
    /// A user's own.
    Own(Box<dyn Arbitration>),
}

impl Arbitration for Arbitrator {
    #[inline]
    fn choose(&mut self, contest: &Contest) -> u32 {
        let winner = match self {
            Arbitrator::RoundRobin(policy) => policy.choose(contest),
            Arbitrator::FixedPriority(policy) => policy.choose(contest),
            Arbitrator::Own(policy) => policy.choose(contest),
        };
        assert!(winner < 64 && contest.waiting >> winner & 1 == 1, "an arbitration chooses one that asks");
        winner
    }

    #[inline]
    fn wait(&mut self, now: Cycle, waiting: u64) {
        match self {
            Arbitrator::RoundRobin(policy) => policy.wait(now, waiting),
            Arbitrator::FixedPriority(policy) => policy.wait(now, waiting),
            Arbitrator::Own(policy) => policy.wait(now, waiting),
        }
    }
}
