//! Whose reference a memory serves next.

use kernel::Cycle;

/// Which policy, and its numbers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// The first group in which somebody asks wins; within a group requesters take turns.
    FixedPriority(FixedPriority),
    /// All requesters take turns, word by word.
    RoundRobin,
}

/// Fixed priority with burst detection and a timeout against starvation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedPriority {
    /// Positions of requesters, highest priority first.
    pub groups: Vec<Vec<usize>>,
    /// Whether a burst that has begun is not interrupted.
    pub keeps_bursts: bool,
    /// A requester that has waited for so many cycles goes first.
    pub timeout_cycles: u64,
}

/// A requester, as the arbiter sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking {
    /// Since which cycle it has something to do; `None` while it has not.
    pub since: Option<Cycle>,
    /// Its next word would go on with the burst under way.
    pub continues_burst: bool,
}

/// A policy at work.
#[derive(Clone, Debug)]
pub struct Arbitration {
    policy: Policy,
    /// Who was served last, in each group; one group for round robin.
    last: Vec<usize>,
}

impl Policy {
    /// What is wrong with the policy for `n_requesters`.
    pub fn check(&self, n_requesters: usize) -> Result<(), String> {
        let Policy::FixedPriority(FixedPriority { groups, timeout_cycles, .. }) = self else { return Ok(()) };
        let mut named: Vec<usize> = groups.iter().flatten().copied().collect();
        named.sort_unstable();
        if named != (0..n_requesters).collect::<Vec<_>>() {
            return Err(format!(
                "policy.groups names requesters {named:?}; each of 0 to {} must stand in one group",
                n_requesters.saturating_sub(1)
            ));
        }
        if *timeout_cycles == 0 {
            return Err("policy.timeout_cycles is 0, must be at least 1".to_owned());
        }
        Ok(())
    }
}

impl Arbitration {
    /// Nobody was served yet.
    pub fn new(policy: Policy, n_requesters: usize) -> Arbitration {
        let n_groups = match &policy {
            Policy::FixedPriority(FixedPriority { groups, .. }) => groups.len(),
            Policy::RoundRobin => 1,
        };
        Arbitration { policy, last: vec![n_requesters.saturating_sub(1); n_groups] }
    }

    /// Whom to serve at `now`, if anybody asks.
    pub fn choose(&mut self, now: Cycle, asking: &[Asking]) -> Option<usize> {
        match &self.policy {
            Policy::RoundRobin => in_turn(0..asking.len(), &mut self.last[0], asking),
            Policy::FixedPriority(FixedPriority { groups, keeps_bursts, timeout_cycles }) => {
                if *keeps_bursts && let Some(goes_on) = asking.iter().position(|one| one.continues_burst) {
                    return Some(goes_on);
                }
                let has_waited = |one: &Asking| one.since.is_some_and(|since| now - since >= *timeout_cycles);
                let starving = (0..asking.len()).filter(|&i| has_waited(&asking[i])).min_by_key(|&i| asking[i].since);
                starving.or_else(|| {
                    let mut groups = groups.iter().zip(&mut self.last);
                    groups.find_map(|(group, last)| in_turn(group.iter().copied(), last, asking))
                })
            }
        }
    }
}

/// The first after `last` that asks, in a circle.
fn in_turn(members: impl Iterator<Item = usize> + Clone, last: &mut usize, asking: &[Asking]) -> Option<usize> {
    let mut those_who_ask = members.filter(|&i| asking[i].since.is_some());
    let first = those_who_ask.clone().next()?;
    let next = those_who_ask.find(|&i| i > *last).unwrap_or(first);
    *last = next;
    Some(next)
}
