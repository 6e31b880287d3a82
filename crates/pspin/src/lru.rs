//! Which of many was not used for longest, nearly: a tree of bits.

/// A pseudo-LRU tree over `n` places, of which some take part.
///
/// Each node of a binary tree points to the half that was not used last; following the bits from the root gives the
/// candidate, where a half without any place that takes part is passed over.
///
/// Source: Di Girolamo et al., ISCA 2021, III-B3: pseudo-LRU over active message queues, after Handy, *The Cache Memory
///         Book*, 1998, whose tree this is.
pub struct PseudoLru {
    /// Number of leaves, a power of two.
    n: usize,
    /// For each inner node, from 1 on with children 2i and 2i + 1: the upper half is the candidate's.
    upper: Vec<bool>,
    /// For each node, how many below it take part.
    active: Vec<u32>,
}

impl PseudoLru {
    /// A tree over `n` places, a power of two, none of which takes part.
    pub fn new(n: usize) -> Self {
        assert!(n.is_power_of_two(), "a tree has a power of two of leaves");
        PseudoLru { n, upper: vec![false; n], active: vec![0; 2 * n] }
    }

    /// Lets `place` take part or not.
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

    /// `place` was used.
    pub fn touch(&mut self, place: usize) {
        let mut node = self.n + place;
        while node > 1 {
            self.upper[node / 2] = node.is_multiple_of(2);
            node /= 2;
        }
    }

    /// The place that takes part and was, nearly, not used for longest.
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

    /// Words: `+3` lets 3 take part and uses it, `3` uses it, `-3` lets it no longer; the candidate after each.
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
        /// The candidate takes part, and is not the one used last unless it is alone.
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
