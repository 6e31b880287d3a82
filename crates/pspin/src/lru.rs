//! Tree pseudo-LRU.

/// A pseudo-LRU tree over `n` places, some of which are active.
///
/// Each node of a binary tree points to the half that was not used last. The bits from the root lead to the
/// candidate; a half without active places is skipped.
///
/// Source: Di Girolamo et al., ISCA 2021, III-B3: pseudo-LRU over active message queues; the tree is that of Handy,
///         *The Cache Memory Book*, 1998.
pub struct PseudoLru {
    /// Number of leaves, a power of two.
    n: usize,
    /// For each inner node (children of node i are 2i and 2i + 1): true if the candidate is in the upper half.
    upper: Vec<bool>,
    /// For each node, the number of active places below it.
    active: Vec<u32>,
}

impl PseudoLru {
    /// Creates a tree over `n` places, a power of two, none of which is active.
    pub fn new(n: usize) -> Self {
        assert!(n.is_power_of_two(), "a tree has a power of two of leaves");
        PseudoLru { n, upper: vec![false; n], active: vec![0; 2 * n] }
    }

    /// Activates or deactivates `place`.
    pub fn set_active(&mut self, place: usize, active: bool) {
        let leaf = self.n + place;
        if (self.active[leaf] != 0) == active {
            return;
        }
        let mut node = leaf;
        while node > 0 {
            self.active[node] = if active { self.active[node] + 1 } else { self.active[node] - 1 };
            node /= 2;
        }
    }

    /// Marks `place` as used.
    pub fn touch(&mut self, place: usize) {
        let mut node = self.n + place;
        while node > 1 {
            self.upper[node / 2] = node.is_multiple_of(2);
            node /= 2;
        }
    }

    /// The candidate: an active place that was not used recently.
    pub fn candidate(&self) -> Option<usize> {
        if self.active[1] == 0 {
            return None;
        }
        let mut node = 1;
        while node < self.n {
            let (lower, upper) = (2 * node, 2 * node + 1);
            let goes_up = self.active[upper] != 0 && (self.upper[node] || self.active[lower] == 0);
            node = if goes_up { upper } else { lower };
        }
        Some(node - self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Words: `+3` activates place 3 and uses it, `3` uses it, `-3` deactivates it; the result is the candidate after
    /// each.
    fn check(n: usize, script: &str, want: Expect) {
        let mut lru = PseudoLru::new(n);
        let mut text = String::new();
        for word in script.split_whitespace() {
            let place = word.trim_start_matches(['+', '-']).parse().expect("a place");
            if word.starts_with(['+', '-']) {
                lru.set_active(place, word.starts_with('+'));
            }
            if !word.starts_with('-') {
                lru.touch(place);
            }
            let shown = lru.candidate().map_or("none".to_owned(), |place| place.to_string());
            text += &format!("{word}:{shown} ");
        }
        want.assert_eq(text.trim_end());
    }

    #[test]
    fn the_candidate_is_the_least_recent_where_a_tree_can_tell() {
        check(4, "+0 +1 +2 +3 0 2 1 3", expect!["+0:0 +1:0 +2:0 +3:0 0:2 2:1 1:3 3:0"]);
    }

    #[test]
    fn places_that_take_no_part_are_passed_over() {
        check(8, "+5 +2 -2 5 -5", expect!["+5:5 +2:5 -2:5 5:5 -5:none"]);
    }

    proptest! {
        /// The candidate is active, and is not the place used last unless that is the only one.
        #[test]
        fn the_candidate_is_never_the_last_used(steps in prop::collection::vec((0usize..16, any::<bool>()), 1..100)) {
            let mut lru = PseudoLru::new(16);
            let mut members = std::collections::BTreeSet::new();
            for (place, joins) in steps {
                lru.set_active(place, joins);
                if joins { members.insert(place); } else { members.remove(&place); }
                lru.touch(place);
                match lru.candidate() {
                    None => prop_assert!(members.is_empty()),
                    Some(found) => prop_assert!(members.contains(&found) && (found != place || members.len() == 1)),
                }
            }
        }
    }
}
