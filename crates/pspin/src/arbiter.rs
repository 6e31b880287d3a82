//! Round-robin arbitration as in [`blocks::policy::RoundRobinTree`], for more requesters and with locked choices.

use crate::bit_set::BitSet;
use blocks::policy::RoundRobinTree;

/// The requesters among `n`, as a bit set.
pub fn requests(n: usize, requests: impl Fn(usize) -> bool) -> u64 {
    (0..n).filter(|&i| requests(i)).fold(0, |set, i| set | 1 << i)
}

/// A [`RoundRobinTree`] with lock: after a refusal it chooses among the requesters of that cycle until one is
/// granted.
///
/// Source: PsPIN RTL a49fec8, `rr_arb_tree.sv` with `FairArb = 1` and `LockIn = 1`.
#[derive(Debug, Default)]
pub struct LockingTree {
    tree: RoundRobinTree,
    /// Requesters of the first refused cycle, as a bit set.
    locked: u64,
}

impl LockingTree {
    /// Returns true if a requester was refused and none was granted since. New requesters do not change the choice
    /// then.
    pub fn is_locked(&self) -> bool {
        self.locked != 0
    }

    /// The requester that is granted if the resource is available in this cycle.
    pub fn choose(&self, requests: u64) -> Option<u32> {
        self.tree.choose(if self.locked != 0 { self.locked } else { requests })
    }

    /// Returns the granted requester if the resource is available.
    pub fn take(&mut self, requests: u64, is_to_be_had: bool) -> Option<u32> {
        let among = if self.locked != 0 { self.locked } else { requests };
        self.locked = if is_to_be_had { 0 } else { among };
        if is_to_be_had { self.tree.take(among) } else { None }
    }
}

/// Chooses members of a [`BitSet`] in round-robin order.
///
/// Source: PsPIN RTL a49fec8, `rr_arb_tree.sv` with `FairArb = 1`.
#[derive(Clone, Copy, Debug, Default)]
pub struct WideTree {
    pointer: usize,
}

impl WideTree {
    /// The winner among `requests`, if there are any.
    pub fn choose(&self, requests: &BitSet) -> Option<usize> {
        let words = requests.words();
        let any = |words: &[u64]| words.iter().any(|&word| word != 0);
        let (mut first, mut width) = (0, words.len().next_power_of_two());
        while width > 1 {
            width /= 2;
            let middle = (first + width).min(words.len());
            let end = (middle + width).min(words.len());
            let (lower, upper) = (any(&words[first..middle]), any(&words[middle..end]));
            if upper && (!lower || self.pointer & (64 * width) != 0) {
                first += width;
            }
        }
        let word = words[first];
        if word & word.wrapping_sub(1) == 0 {
            return (word != 0).then(|| 64 * first + word.trailing_zeros() as usize);
        }
        let (mut bit, mut width) = (0, 64);
        while width > 1 {
            width /= 2;
            let half = (1u64 << width) - 1;
            let (lower, upper) = (word >> bit & half != 0, word >> (bit + width) & half != 0);
            if upper && (!lower || self.pointer & width != 0) {
                bit += width;
            }
        }
        Some(64 * first + bit)
    }

    /// Records the grant to `winner`: the pointer moves to the next requester above it.
    pub fn grant(&mut self, requests: &BitSet) {
        let next = requests.next_from(self.pointer + 1).or_else(|| requests.next_from(0));
        self.pointer = next.unwrap_or(self.pointer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each word is the requesters of one cycle, with `!` if they are refused; the result is the granted requester.
    fn check(cycles: &str, want: Expect) {
        let mut arbiter = LockingTree::default();
        let request = |word: &str| word.bytes().filter(u8::is_ascii_digit).fold(0, |set, b| set | 1u64 << (b - b'0'));
        let grant = |word: &str| arbiter.take(request(word), !word.ends_with('!'));
        let granted = cycles.split(' ').map(grant).map(|winner| winner.map_or('-', |i| (b'0' + i as u8) as char));
        want.assert_eq(&granted.collect::<String>());
    }

    #[test]
    fn who_requests_after_a_refusal_waits_for_those_who_requested_then() {
        check("2 123 123 123", expect!["2231"]);
        check("2 2! 123 13 13", expect!["2-233"]);
        check("2! 12! 123 13 13", expect!["--233"]);
    }

    proptest! {
        /// Below 64 requesters, the result is that of the narrow tree.
        #[test]
        fn it_is_the_narrow_tree_made_wide(cycles in prop::collection::vec(any::<u64>(), 1..50)) {
            let (mut wide, mut narrow) = (WideTree::default(), RoundRobinTree::default());
            let mut set = BitSet::new(256);
            for sparse in cycles.windows(2).map(|pair| pair[0] & pair[1]) {
                (0..64).for_each(|i| set.set(i, sparse >> i & 1 != 0));
                let want = narrow.take(sparse).map(|winner| winner as usize);
                prop_assert_eq!(wide.choose(&set), want);
                wide.grant(&set);
            }
        }

        /// Persistent requesters are all served before any is served a third time.
        #[test]
        fn nobody_starves(members in prop::collection::btree_set(0usize..256, 1..40)) {
            let (mut tree, mut set) = (WideTree::default(), BitSet::new(256));
            members.iter().for_each(|&member| set.set(member, true));
            let mut granted = std::collections::BTreeSet::new();
            for _ in 0..=members.len() {
                granted.extend(tree.choose(&set));
                tree.grant(&set);
            }
            prop_assert_eq!(granted, members);
        }
    }
}
