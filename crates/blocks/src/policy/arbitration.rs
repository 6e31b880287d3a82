//! Arbitration: chooses one of several requesters.

use super::{RoundRobin, RoundRobinTree};
use crate::checks;
use kernel::{Cycle, members};

/// An arbitration policy and its parameters: `{ kind = "round-robin" }`, or `{ kind = "fixed-priority", groups =
/// [[1], [0, 2]], ... }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// The first group with a waiting requester wins; requesters within a group take turns.
    FixedPriority(FixedPriority),
    /// All requesters take turns, one reference each. Source: thesis, 3.3.1 (the base prioritisation of Spinach's
    /// arbiter).
    RoundRobin {},
    /// All requesters take turns as in PsPIN's interconnects; the tree may pass over the next in turn.
    RoundRobinTree {},
}

/// Fixed priority with burst detection and a timeout against starvation. Source: thesis, 2.1.2, which does not say
/// how bursts are detected or what the timeout counts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedPriority {
    /// Requester indices, highest priority first. Requesters that no group names form an additional last group.
    pub groups: Vec<Vec<usize>>,
    /// If true, a burst is not interrupted.
    pub keeps_bursts: bool,
    /// Cycles of waiting after which a requester goes first.
    pub timeout_cycles: u64,
}

/// The requests at one clock edge; bit i of a set is requester i.
pub struct Contest<'a> {
    /// Cycle of the edge.
    pub now: Cycle,
    /// The waiting requesters.
    pub waiting: u64,
    /// Waiting requesters that would continue the current burst or open row; the component that tracks the burst
    /// limits its length.
    pub continues: u64,
    /// For each waiting requester, the cycle in which it started waiting.
    pub since: &'a [Cycle],
}

/// Grants one of several requesters at each edge.
///
/// `choose` is called only if at least one requester waits, and its choice is final. A policy may keep state, but its
/// result must not depend on how often it is called.
pub trait Arbitration {
    /// Returns the requester to grant, one of `contest.waiting`.
    fn choose(&mut self, contest: &Contest) -> u32;
}

/// The state of a running policy.
pub enum Arbitrator {
    /// All requesters take turns.
    RoundRobin(RoundRobin),
    /// All requesters take turns in a tree.
    RoundRobinTree(RoundRobinTree),
    /// By priority group.
    FixedPriority(Ranks),
    /// A user-defined policy.
    Own(Box<dyn Arbitration>),
}

/// The state of [`FixedPriority`].
pub struct Ranks {
    params: FixedPriority,
    /// The members of each group and its round-robin state.
    groups: Vec<(u64, RoundRobin)>,
}

impl Policy {
    /// Checks the policy for `n_requesters` requesters.
    pub fn check(&self, n_requesters: usize) -> Result<(), String> {
        checks::within("requesters", n_requesters, 1, 64)?;
        let Policy::FixedPriority(FixedPriority { groups, timeout_cycles, .. }) = self else { return Ok(()) };
        let mut named: Vec<usize> = groups.iter().flatten().copied().collect();
        named.sort_unstable();
        let is_twice = named.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || named.last().is_some_and(|&last| last >= n_requesters) {
            return Err(format!(
                "policy.groups names requesters {named:?}; each of 0 to {} may be in one group only",
                n_requesters - 1
            ));
        }
        if *timeout_cycles == 0 {
            return Err("policy.timeout_cycles is 0, must be at least 1".to_owned());
        }
        Ok(())
    }

    /// The policy in its initial state.
    pub fn start(&self) -> Arbitrator {
        match self {
            Policy::RoundRobin {} => Arbitrator::RoundRobin(RoundRobin::default()),
            Policy::RoundRobinTree {} => Arbitrator::RoundRobinTree(RoundRobinTree::default()),
            Policy::FixedPriority(params) => {
                let mask = |group: &Vec<usize>| group.iter().fold(0, |mask, &requester| mask | 1u64 << requester);
                let named: Vec<u64> = params.groups.iter().map(mask).collect();
                let rest = !named.iter().fold(0, |all, group| all | group);
                let groups = named.into_iter().chain([rest]).map(|group| (group, RoundRobin::default())).collect();
                Arbitrator::FixedPriority(Ranks { params: params.clone(), groups })
            }
        }
    }
}

impl Arbitration for Arbitrator {
    #[inline]
    fn choose(&mut self, contest: &Contest) -> u32 {
        let winner = match self {
            Arbitrator::RoundRobin(policy) => policy.take(contest.waiting),
            Arbitrator::RoundRobinTree(policy) => policy.take(contest.waiting).expect("somebody asks"),
            Arbitrator::FixedPriority(policy) => policy.choose(contest),
            Arbitrator::Own(policy) => policy.choose(contest),
        };
        assert!(winner < 64 && contest.waiting >> winner & 1 == 1, "an arbiter grants a waiting requester");
        winner
    }
}

impl Arbitration for Ranks {
    fn choose(&mut self, contest: &Contest) -> u32 {
        let continuing = contest.waiting & contest.continues;
        if self.params.keeps_bursts && continuing != 0 {
            return continuing.trailing_zeros();
        }
        let oldest = members(contest.waiting).min_by_key(|&who| contest.since[who as usize]).expect("somebody asks");
        if contest.now - contest.since[oldest as usize] >= self.params.timeout_cycles {
            return oldest;
        }
        let group = self.groups.iter_mut().find(|(group, _)| group & contest.waiting != 0);
        let (group, turn) = group.expect("every requester is in a group");
        turn.take(*group & contest.waiting)
    }
}

/// Tracks since when each requester waits.
pub struct WaitTimes {
    waiting: u64,
    since: Vec<Cycle>,
}

impl WaitTimes {
    /// Initially none of the requesters waits.
    pub fn new(requesters: usize) -> WaitTimes {
        WaitTimes { waiting: 0, since: vec![0; requesters] }
    }

    /// Sets which requesters wait at `now`; call it at every tick.
    #[inline]
    pub fn update(&mut self, now: Cycle, waiting: u64) {
        for new in members(waiting & !self.waiting) {
            self.since[new as usize] = now;
        }
        self.waiting = waiting;
    }

    /// Records a grant and returns the cycles waited. A further request of this requester starts a new wait.
    #[inline]
    pub fn granted(&mut self, now: Cycle, requester: u32) -> u64 {
        self.waiting &= !(1 << requester);
        now - self.since[requester as usize]
    }

    /// For each waiting requester, the cycle in which it started waiting.
    #[inline]
    pub fn since(&self) -> &[Cycle] {
        &self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Each word lists the requesters waiting in one cycle, with the one that would continue a burst after `+`. The
    /// result lists the grants.
    fn check(keeps_bursts: bool, timeout_cycles: u64, cycles: &str, want: Expect) {
        // 2 and 3 are in no group, so they form the last one.
        let groups = vec![vec![0], vec![1]];
        let policy = Policy::FixedPriority(FixedPriority { groups, keeps_bursts, timeout_cycles });
        assert_eq!(policy.check(4), Ok(()));
        let (mut arbitrator, mut waits) = (policy.start(), WaitTimes::new(4));
        let ask = |word: &str| word.bytes().fold(0, |set, b| set | 1u64 << (b - b'0'));
        let granted = (0..).zip(cycles.split(' ')).map(|(now, word)| {
            let (others, burst) = word.split_once('+').unwrap_or((word, ""));
            let (waiting, continues) = (ask(others) | ask(burst), ask(burst));
            waits.update(now, waiting);
            let winner = arbitrator.choose(&Contest { now, waiting, continues, since: waits.since() });
            waits.granted(now, winner);
            char::from(b'0' + winner as u8)
        });
        want.assert_eq(&granted.collect::<String>());
    }

    #[test]
    fn the_first_group_wins_and_its_members_take_turns() {
        check(true, 99, "0123 123 23 23 23 3 23", expect!["0123232"]);
    }

    #[test]
    fn a_burst_is_kept_if_the_policy_says_so() {
        check(true, 99, "3 01+3 01+3 01 1", expect!["33301"]);
        check(false, 99, "3 01+3 01+3 01 1", expect!["30001"]);
    }

    #[test]
    fn a_requester_that_has_waited_for_the_timeout_goes_next() {
        check(true, 4, "02 02 02 02 02 02 02 02 02 02 02", expect!["00002000020"]);
        check(true, 5, "02 02 02 02 02 02 02 02 02 02 02", expect!["00000200000"]);
    }

    #[test]
    fn the_oldest_of_several_timed_out_requesters_goes_first() {
        check(true, 3, "02 023 0123 0123 0123 013 01", expect!["0002310"]);
    }

    fn refused(requesters: usize, groups: &[&[usize]], timeout_cycles: u64, want: Expect) {
        let groups = groups.iter().map(|group| group.to_vec()).collect();
        let policy = Policy::FixedPriority(FixedPriority { groups, keeps_bursts: true, timeout_cycles });
        want.assert_eq(&policy.check(requesters).expect_err("it is wrong"));
    }

    #[test]
    fn wrong_policies_are_refused() {
        refused(
            3,
            &[&[0], &[3]],
            1,
            expect!["policy.groups names requesters [0, 3]; each of 0 to 2 may be in one group only"],
        );
        refused(
            2,
            &[&[0, 1], &[1]],
            1,
            expect!["policy.groups names requesters [0, 1, 1]; each of 0 to 1 may be in one group only"],
        );
        refused(1, &[&[0]], 0, expect!["policy.timeout_cycles is 0, must be at least 1"]);
        refused(65, &[], 1, expect!["requesters is 65, must be 1 to 64"]);
    }
}
