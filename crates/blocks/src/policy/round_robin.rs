//! Round-robin arbitration.

/// Grants up to 64 requesters in turn: the next waiting requester above the last granted one.
///
/// Fairness: a requester waits for at most one grant to each other requester.
/// Source:   thesis, 3.3.1 and 4.2.3 (round robin for each resource). [`super::RoundRobinTree`] is PsPIN's tree,
///           which may pass over the next in turn.
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundRobin {
    /// Requester with the highest preference.
    first: u32,
}

impl RoundRobin {
    /// Grants the next in turn among the set bits of `waiting`.
    ///
    /// # Panics
    ///
    /// If `waiting` is 0.
    #[inline]
    pub fn take(&mut self, waiting: u64) -> u32 {
        assert!(waiting != 0, "a requester waits");
        let above = waiting & u64::MAX << self.first;
        let winner = if above != 0 { above } else { waiting }.trailing_zeros();
        self.first = (winner + 1) & 63;
        winner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each word lists the requesters of one cycle; the result lists the grants.
    fn check(cycles: &str, want: Expect) {
        let mut policy = RoundRobin::default();
        let ask = |word: &str| word.bytes().fold(0, |set, b| set | 1u64 << (b - b'0'));
        let granted = cycles.split(' ').map(|word| char::from(b'0' + policy.take(ask(word)) as u8));
        want.assert_eq(&granted.collect::<String>());
    }

    #[test]
    fn requesters_take_turns() {
        check("0123 0123 0123 0123 0123", expect!["01230"]);
        check("02 02 02 02", expect!["0202"]);
        check("013 03 01 0 0 12", expect!["030001"]);
    }

    proptest! {
        #[test]
        fn nobody_waits_longer_than_a_round(requests in prop::collection::vec(any::<u64>(), 200), me in 0u32..64) {
            let mut policy = RoundRobin::default();
            let waits = requests.iter().position(|others| policy.take(others | 1 << me) == me);
            prop_assert!(waits.is_some_and(|grants| grants < 64), "waited {waits:?}");
        }
    }
}
