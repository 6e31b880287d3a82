//! Arbitration: who goes first of those that ask.

use super::{RoundRobin, RoundRobinTree};
use kernel::{Cycle, members};

/// Which policy, and its numbers: `{ kind = "round-robin" }`, or `{ kind = "fixed-priority", groups = [[1], [0, 2]], ... }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// The first group in which somebody asks wins; within a group requesters take turns.
    FixedPriority(FixedPriority),
    /// All requesters take turns, word by word. Source: thesis, 3.3.1 (the base prioritisation of Spinach's arbiter).
    RoundRobin,
    /// All requesters take turns as in PsPIN's interconnects, whose tree may pass over the next in turn.
    RoundRobinTree,
}

/// Fixed priority with burst detection and a timeout against starvation. Source: thesis, 2.1.2; how a burst
/// is told and what the timeout counts is not published.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedPriority {
    /// Positions of requesters, highest priority first. Those that no group names stand together in one more, the last.
    pub groups: Vec<Vec<usize>>,
    /// Whether a burst that has begun is not interrupted.
    pub keeps_bursts: bool,
    /// A requester that has waited for so many cycles goes first.
    pub timeout_cycles: u64,
}

/// Those that ask at an edge; bit i of a set is requester i.
pub struct Contest<'a> {
    /// The edge.
    pub now: Cycle,
    /// Who asks.
    pub waiting: u64,
    /// Who of them would go on with the burst, or the open row, under way; what holds it bounds its length.
    pub continues: u64,
    /// Since when each that asks does so, by position.
    pub since: &'a [Cycle],
}

/// A policy that lets one of several requesters go at an edge.
///
/// It is asked only when somebody may go, and who it chooses does go. It may keep state, but must not depend on how
/// often it is asked.
pub trait Arbitration {
    /// The one to go, of `contest.waiting`, in which there is at least one.
    fn choose(&mut self, contest: &Contest) -> u32;
}

/// A policy at work.
pub enum Arbitrator {
    /// All take turns.
    RoundRobin(RoundRobin),
    /// All take turns, nearly.
    RoundRobinTree(RoundRobinTree),
    /// By rank.
    FixedPriority(Ranks),
    /// A user's own.
    Own(Box<dyn Arbitration>),
}

/// [`FixedPriority`] at work.
pub struct Ranks {
    params: FixedPriority,
    /// The members of each group and whose turn it is there.
    groups: Vec<(u64, RoundRobin)>,
}

impl Policy {
    /// What is wrong with the policy for `n_requesters`.
    pub fn check(&self, n_requesters: usize) -> Result<(), String> {
        if !(1..=64).contains(&n_requesters) {
            return Err(format!("requesters is {n_requesters}, must be 1 to 64"));
        }
        let Policy::FixedPriority(FixedPriority { groups, timeout_cycles, .. }) = self else { return Ok(()) };
        let mut named: Vec<usize> = groups.iter().flatten().copied().collect();
        named.sort_unstable();
        let is_twice = named.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || named.last().is_some_and(|&last| last >= n_requesters) {
            return Err(format!(
                "policy.groups names requesters {named:?}; each of 0 to {} may stand in one group",
                n_requesters - 1
            ));
        }
        if *timeout_cycles == 0 {
            return Err("policy.timeout_cycles is 0, must be at least 1".to_owned());
        }
        Ok(())
    }

    /// The policy at work; nobody was served yet.
    pub fn start(&self) -> Arbitrator {
        match self {
            Policy::RoundRobin => Arbitrator::RoundRobin(RoundRobin::default()),
            Policy::RoundRobinTree => Arbitrator::RoundRobinTree(RoundRobinTree::default()),
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
        assert!(winner < 64 && contest.waiting >> winner & 1 == 1, "an arbitration chooses one that asks");
        winner
    }
}

impl Arbitration for Ranks {
    fn choose(&mut self, contest: &Contest) -> u32 {
        let goes_on = contest.waiting & contest.continues;
        if self.params.keeps_bursts && goes_on != 0 {
            return goes_on.trailing_zeros();
        }
        let oldest = members(contest.waiting).min_by_key(|&who| contest.since[who as usize]).expect("somebody asks");
        if contest.now - contest.since[oldest as usize] >= self.params.timeout_cycles {
            return oldest;
        }
        let group = self.groups.iter_mut().find(|(group, _)| group & contest.waiting != 0);
        let (group, turn) = group.expect("every requester stands in a group");
        turn.take(*group & contest.waiting)
    }
}

/// Since when each requester asks.
pub struct Waits {
    waiting: u64,
    since: Vec<Cycle>,
}

impl Waits {
    /// Nobody of so many asks.
    pub fn new(requesters: usize) -> Waits {
        Waits { waiting: 0, since: vec![0; requesters] }
    }

    /// These ask at `now`; to be said at every tick.
    #[inline]
    pub fn note(&mut self, now: Cycle, waiting: u64) {
        for new in members(waiting & !self.waiting) {
            self.since[new as usize] = now;
        }
        self.waiting = waiting;
    }

    /// It went: if it asks again, it asks anew. The result is how long it has asked.
    #[inline]
    pub fn went(&mut self, now: Cycle, requester: u32) -> u64 {
        self.waiting &= !(1 << requester);
        now - self.since[requester as usize]
    }

    /// Since when each that asks does so.
    #[inline]
    pub fn since(&self) -> &[Cycle] {
        &self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// A word is who asks in a cycle, the one that would go on with a burst behind a `+`; the result is who is granted.
    fn check(keeps_bursts: bool, timeout_cycles: u64, cycles: &str, want: Expect) {
        // 2 and 3 are the rest, and so the last group.
        let groups = vec![vec![0], vec![1]];
        let policy = Policy::FixedPriority(FixedPriority { groups, keeps_bursts, timeout_cycles });
        assert_eq!(policy.check(4), Ok(()));
        let (mut arbitrator, mut waits) = (policy.start(), Waits::new(4));
        let ask = |word: &str| word.bytes().fold(0, |set, b| set | 1u64 << (b - b'0'));
        let granted = (0..).zip(cycles.split(' ')).map(|(now, word)| {
            let (others, burst) = word.split_once('+').unwrap_or((word, ""));
            let (waiting, continues) = (ask(others) | ask(burst), ask(burst));
            waits.note(now, waiting);
            let winner = arbitrator.choose(&Contest { now, waiting, continues, since: waits.since() });
            waits.went(now, winner);
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
    fn who_has_waited_for_the_timeout_goes_next() {
        check(true, 4, "02 02 02 02 02 02 02 02 02 02 02", expect!["00002000020"]);
        check(true, 5, "02 02 02 02 02 02 02 02 02 02 02", expect!["00000200000"]);
    }

    #[test]
    fn of_those_that_have_waited_too_long_the_oldest_goes() {
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
            expect!["policy.groups names requesters [0, 3]; each of 0 to 2 may stand in one group"],
        );
        refused(
            2,
            &[&[0, 1], &[1]],
            1,
            expect!["policy.groups names requesters [0, 1, 1]; each of 0 to 1 may stand in one group"],
        );
        refused(1, &[&[0]], 0, expect!["policy.timeout_cycles is 0, must be at least 1"]);
        refused(65, &[], 1, expect!["requesters is 65, must be 1 to 64"]);
    }
}
