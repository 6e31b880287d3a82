//! Cache replacement policies.

use kernel::RandomStream;

/// A cache replacement policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// Evicts the least recently used way.
    Lru,
    /// Evicts the ways of a set in turn.
    RoundRobin,
    /// Evicts a random way.
    Random,
}

/// The state of a replacement policy for `sets` sets of up to 255 ways.
pub struct Replacer {
    policy: Replacement,
    ways: usize,
    /// LRU: the ways of each set, most recently used first. Round robin: the next way to evict in each set.
    order: Vec<u8>,
    draws: RandomStream,
}

impl Replacer {
    /// The policy in its initial state; `draws` is the random stream of the component.
    pub fn new(policy: Replacement, sets: usize, ways: usize, draws: RandomStream) -> Replacer {
        assert!((1..=255).contains(&ways), "a set has 1 to 255 ways");
        let order = match policy {
            Replacement::Lru => (0..sets).flat_map(|_| (0..ways as u8).rev()).collect(),
            Replacement::RoundRobin => vec![0; sets],
            Replacement::Random => Vec::new(),
        };
        Replacer { policy, ways, order, draws }
    }

    /// Records a use of `way`.
    #[inline]
    pub fn used(&mut self, set: usize, way: usize) {
        if self.policy == Replacement::Lru {
            let set = &mut self.order[set * self.ways..][..self.ways];
            let place = set.iter().position(|&other| usize::from(other) == way).expect("the set has this way");
            set[..=place].rotate_right(1);
        }
    }

    /// Chooses the way to evict and advances the policy: call it once for each line that is fetched.
    pub fn victim(&mut self, set: usize) -> usize {
        match self.policy {
            Replacement::Lru => usize::from(self.order[(set + 1) * self.ways - 1]),
            Replacement::Random => self.draws.below(self.ways as u64) as usize,
            Replacement::RoundRobin => {
                let way = usize::from(self.order[set]);
                self.order[set] = ((way + 1) % self.ways) as u8;
                way
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// One set of four ways; `u2` uses way 2, `v` evicts a way and uses it.
    fn check(policy: Replacement, steps: &str, want: Expect) {
        let mut replacer = Replacer::new(policy, 1, 4, RandomStream::new(1, "cache"));
        let mut gone = String::new();
        for step in steps.split(' ') {
            match step.strip_prefix('u') {
                Some(way) => replacer.used(0, way.parse().expect("a way")),
                None => {
                    let way = replacer.victim(0);
                    replacer.used(0, way);
                    gone += &way.to_string();
                }
            }
        }
        want.assert_eq(&gone);
    }

    #[test]
    fn the_least_recently_used_way_is_evicted() {
        check(Replacement::Lru, "v v v v v", expect!["01230"]);
        check(Replacement::Lru, "v v v v u0 v u2 v", expect!["012313"]);
    }

    #[test]
    fn ways_are_evicted_in_turn_whatever_is_used() {
        check(Replacement::RoundRobin, "v u0 v v v v", expect!["01230"]);
    }

    #[test]
    fn a_way_drawn_with_the_seed_is_evicted() {
        check(Replacement::Random, "v v v v v v v v", expect!["10000032"]);
    }
}
