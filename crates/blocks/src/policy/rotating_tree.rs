//! Arbitration as a binary tree whose preference moves on with each grant, the older arbiter of the PULP platform.

use super::RoundRobinTree;

/// Chooses one of up to 64 requesters; who is preferred rotates.
///
/// The choice runs down the same tree as that of [`RoundRobinTree`], but its nodes follow the bits of a count of grants, whoever
/// was granted.
///
/// Fairness: who keeps asking is preferred by all nodes once in as many grants as the tree has leaves.
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
    /// When there are more.
    pub fn new(n: u32) -> Self {
        assert!((1..=64).contains(&n), "a tree has 1 to 64 leaves");
        RotatingTree { tree: RoundRobinTree::default(), leaves: n.next_power_of_two(), grants: 0 }
    }

    /// The winner among the set bits of `requests`, if any. The preference stays: [`RotatingTree::grant`] moves it.
    #[inline]
    pub fn choose(&self, requests: u64) -> Option<u32> {
        self.tree.choose(requests)
    }

    /// A winner was granted.
    #[inline]
    pub fn grant(&mut self) {
        self.grants = (self.grants + 1) % self.leaves;
        self.tree.grant_alone(self.grants);
    }

    /// The winner among `requests`, granted at once.
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

    /// Each word is the requesters of one cycle; the result is who is granted.
    fn check(n: u32, cycles: &str, want: Expect) {
        let mut arbiter = RotatingTree::new(n);
        let ask = |word: &str| word.bytes().filter(u8::is_ascii_digit).fold(0, |set, b| set | 1u64 << (b - b'0'));
        let granted = cycles.split(' ').map(|word| arbiter.take(ask(word)).map_or('-', |i| (b'0' + i as u8) as char));
        want.assert_eq(&granted.collect::<String>());
    }

    #[test]
    fn the_preference_moves_on_whoever_was_granted() {
        check(4, "0123 0123 0123 0123 0123", expect!["01230"]);
        check(4, "2 2 . 02 02 02", expect!["22-220"]);
        check(3, "012 012 012 012 012", expect!["01220"]);
    }

    proptest! {
        #[test]
        fn who_keeps_asking_is_served(asked in prop::collection::vec(any::<u64>(), 200), me in 0u32..64) {
            let mut arbiter = RotatingTree::new(64);
            let waits = asked.iter().position(|others| arbiter.take(others | 1 << me) == Some(me));
            prop_assert!(waits.is_some_and(|grants| grants < 64), "waited {waits:?}");
        }
    }
}
