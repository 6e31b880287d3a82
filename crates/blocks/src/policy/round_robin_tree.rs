//! Round-robin arbitration by a binary tree, the arbiter of the PULP platform.

/// Chooses one of up to 64 requesters in turn.
///
/// The choice walks down a binary tree whose nodes follow the bits of a pointer. A requester may therefore be passed
/// over by one that is not next in turn. After a grant the pointer moves to the next requester above it, so none
/// starves.
///
/// Source: PsPIN RTL a49fec8, `rr_arb_tree.sv` with `FairArb = 1`.
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundRobinTree {
    pointer: u8,
}

impl RoundRobinTree {
    /// The winner among the set bits of `requests`, if any. Does not move the pointer; [`RoundRobinTree::grant`] does.
    #[inline]
    pub fn choose(&self, requests: u64) -> Option<u32> {
        if requests & requests.wrapping_sub(1) == 0 {
            return (requests != 0).then(|| requests.trailing_zeros());
        }
        // Start at the root. The upper half wins if it alone has requests, or if both halves do and the pointer's bit
        // selects it. Upper levels without requests are skipped.
        let (mut first, mut width) = (0, (64 - requests.leading_zeros()).next_power_of_two());
        while width > 1 {
            width /= 2;
            let half = (1u64 << width) - 1;
            let lower = requests >> first & half != 0;
            let upper = requests >> (first + width) & half != 0;
            if upper && (!lower || u32::from(self.pointer) & width != 0) {
                first += width;
            }
        }
        Some(first)
    }

    /// Records a grant among `requests`: the pointer moves to the next requester above it.
    #[inline]
    pub fn grant(&mut self, requests: u64) {
        let above = requests & !(u64::MAX >> (63 - u32::from(self.pointer)));
        let from = if above != 0 { above } else { requests };
        self.pointer = from.trailing_zeros() as u8 & 63;
    }

    /// Records a grant to the only requester.
    #[inline]
    pub fn grant_alone(&mut self, port: u32) {
        self.pointer = port as u8 & 63;
    }

    /// Chooses and grants a winner among `requests`.
    #[inline]
    pub fn take(&mut self, requests: u64) -> Option<u32> {
        let winner = self.choose(requests)?;
        self.grant(requests);
        Some(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each word lists the requesters of one cycle; the result lists the grants.
    fn check(cycles: &str, want: Expect) {
        let mut arbiter = RoundRobinTree::default();
        let granted: String = cycles
            .split(' ')
            .map(|cycle| {
                let requests = cycle.bytes().filter(|b| b.is_ascii_digit()).fold(0, |set, b| set | 1u64 << (b - b'0'));
                arbiter.take(requests).map_or('-', |winner| (b'0' + winner as u8) as char)
            })
            .collect();
        want.assert_eq(&granted);
    }

    #[test]
    fn requesters_take_turns() {
        check("0123 0123 0123 0123 0123", expect!["01230"]);
        check("02 02 02 02", expect!["0202"]);
        check("5 5 . 5", expect!["55-5"]);
    }

    #[test]
    fn the_tree_may_pass_over_the_next_in_turn() {
        // The pointer is at 1, which has no request: its sibling 0 wins before 2.
        check("01 02 02", expect!["002"]);
    }

    proptest! {
        #[test]
        fn a_persistent_requester_is_served(requests in prop::collection::vec(any::<u64>(), 200), me in 0u32..64) {
            let mut arbiter = RoundRobinTree::default();
            let waits = requests.iter().position(|others| arbiter.take(others | 1 << me) == Some(me));
            prop_assert!(waits.is_some_and(|cycles| cycles < 128), "waited {waits:?}");
        }
    }
}
