//! Replacement: what has to go from a set of a cache.

use kernel::RandomStream;

/// A replacement policy, as a card's file names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The way whose last use is longest ago.
    Lru,
    /// The ways of a set in turn.
    RoundRobin,
    /// Any way, drawn from the stream of the component.
    Random,
}

/// A replacement policy at work on `sets` sets of up to 255 ways.
pub struct Replacer {
    policy: Replacement,
    ways: usize,
    /// LRU: the ways of each set, the one used last first. Round robin: the next way to go, one for each set.
    order: Vec<u8>,
    draws: RandomStream,
}

impl Replacer {
    /// The policy at work; `draws` is the random stream of the component.
    pub fn new(policy: Replacement, sets: usize, ways: usize, draws: RandomStream) -> Replacer {
        assert!((1..=255).contains(&ways), "a set has 1 to 255 ways");
        let order = match policy {
            Replacement::Lru => (0..sets).flat_map(|_| (0..ways as u8).rev()).collect(),
            Replacement::RoundRobin => vec![0; sets],
            Replacement::Random => Vec::new(),
        };
        Replacer { policy, ways, order, draws }
    }

    /// A way was used.
    #[inline]
    pub fn used(&mut self, set: usize, way: usize) {
        if self.policy == Replacement::Lru {
            let set = &mut self.order[set * self.ways..][..self.ways];
            let place = set.iter().position(|&other| usize::from(other) == way).expect("the set has this way");
            set[..=place].rotate_right(1);
        }
    }

    /// The way that has to go. Asking counts as going: ask once for each line that is brought in.
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

    /// One set of four ways; `u2` uses way 2, `v` asks for the way to go and uses it.
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
    fn the_way_used_longest_ago_goes() {
        check(Replacement::Lru, "v v v v v", expect!["01230"]);
        check(Replacement::Lru, "v v v v u0 v u2 v", expect!["012313"]);
    }

    #[test]
    fn ways_go_in_turn_whatever_is_used() {
        check(Replacement::RoundRobin, "v u0 v v v v", expect!["01230"]);
    }

    #[test]
    fn any_way_goes_and_the_seed_says_which() {
        check(Replacement::Random, "v v v v v v v v", expect!["10000032"]);
    }
}
