//! Tree arbitration whose preference advances with each grant: the older arbiter of the PULP platform.

use super::RoundRobinTree;

/// Chooses one of up to 64 requesters with a rotating preference.
///
/// The choice walks the same tree as [`RoundRobinTree`], but the nodes follow the bits of a grant counter,
/// independent of which requester was granted.
///
/// Fairness: within as many grants as the tree has leaves, all nodes prefer each requester once.
/// Source: PsPIN RTL a49fec8, `DistributedArbitrationNetwork_Req_icache_intc.sv`, `ArbitrationTree_PE.sv`.
#[derive(Clone, Debug)]
pub struct RotatingTree {
    tree: RoundRobinTree,
    leaves: u32,
    grants: u32,
}

impl RotatingTree {
    /// A tree for `n` requesters, 1 to 64.
    ///
    /// # Panics
    ///
    /// If `n` is 0 or more than 64.
    pub fn new(n: u32) -> Self {
        assert!((1..=64).contains(&n), "a tree has 1 to 64 leaves");
        RotatingTree { tree: RoundRobinTree::default(), leaves: n.next_power_of_two(), grants: 0 }
    }

    /// The winner among the set bits of `requests`, if any. Does not change the preference; [`RotatingTree::grant`]
    /// does.
    #[inline]
    pub fn choose(&self, requests: u64) -> Option<u32> {
        self.tree.choose(requests)
    }

    /// Advances the preference after a grant.
    #[inline]
    pub fn grant(&mut self) {
        self.grants = (self.grants + 1) % self.leaves;
        self.tree.grant_alone(self.grants);
    }

    /// Continues as after `grants` grants.
    pub fn set_grants(&mut self, grants: u32) {
        self.grants = grants % self.leaves;
        self.tree.grant_alone(self.grants);
    }

    /// Chooses and grants a winner among `requests`.
    #[inline]
    pub fn take(&mut self, requests: u64) -> Option<u32> {
        let winner = self.choose(requests)?;
        self.grant();
        Some(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each word lists the requesters of one cycle; the result lists the grants.
    fn check(n: u32, cycles: &str, want: Expect) {
        let mut arbiter = RotatingTree::new(n);
        let ask = |word: &str| word.bytes().filter(u8::is_ascii_digit).fold(0, |set, b| set | 1u64 << (b - b'0'));
        let granted = cycles.split(' ').map(|word| arbiter.take(ask(word)).map_or('-', |i| (b'0' + i as u8) as char));
        want.assert_eq(&granted.collect::<String>());
    }

    #[test]
    fn the_preference_advances_whoever_was_granted() {
        check(4, "0123 0123 0123 0123 0123", expect!["01230"]);
        check(4, "2 2 . 02 02 02", expect!["22-220"]);
        check(3, "012 012 012 012 012", expect!["01220"]);
    }

    proptest! {
        #[test]
        fn a_persistent_requester_is_served(requests in prop::collection::vec(any::<u64>(), 200), me in 0u32..64) {
            let mut arbiter = RotatingTree::new(64);
            let waits = requests.iter().position(|others| arbiter.take(others | 1 << me) == Some(me));
            prop_assert!(waits.is_some_and(|grants| grants < 64), "waited {waits:?}");
        }
    }
}
