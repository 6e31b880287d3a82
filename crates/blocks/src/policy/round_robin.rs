//! Round robin: each in turn.

/// Grants up to 64 requesters in turn: the next one that asks above the one granted last.
///
/// Fairness: who asks waits for at most as many other grants as there are other requesters.
/// Source: thesis, 3.3.1 and 4.2.3 (round robin for each resource); the tree of PsPIN, which may pass over the next in
/// turn, is [`super::RoundRobinTree`].
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundRobin {
    /// Who is looked at first.
    first: u32,
}

impl RoundRobin {
    /// The next in turn among the set bits of `waiting`.
    ///
    /// # Panics
    ///
    /// When nobody waits.
    #[inline]
    pub fn take(&mut self, waiting: u64) -> u32 {
        assert!(waiting != 0, "somebody asks");
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

    /// Each word is who asks in a cycle; the result is who is granted.
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
        fn nobody_waits_longer_than_a_round(asked in prop::collection::vec(any::<u64>(), 200), me in 0u32..64) {
            let mut policy = RoundRobin::default();
            let waits = asked.iter().position(|others| policy.take(others | 1 << me) == me);
            prop_assert!(waits.is_some_and(|grants| grants < 64), "waited {waits:?}");
        }
    }
}
