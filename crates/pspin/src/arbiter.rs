//! Fair round robin, as most arbiters of the NIC use it.

/// Grants the next one that asks above the one granted last, and starts over at the lowest.
///
/// Source:  PsPIN RTL a49fec8, `rr_arb_tree.sv` with `FairArb = 1`.
/// Differs: the tree is steered by single bits of its pointer, so that with a number of inputs that is no power of two,
///          or when the input in turn stops asking, it may take another than the next in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    /// The first to be looked at.
    first: usize,
}

impl RoundRobin {
    /// Which of `n` is next; `asks` tells who wants to be.
    pub fn choose(&self, n: usize, asks: impl Fn(usize) -> bool) -> Option<usize> {
        (self.first..n).chain(0..self.first.min(n)).find(|&position| asks(position))
    }

    /// Which of the members of `set` is next.
    pub fn choose_from(&self, set: &BitSet) -> Option<usize> {
        set.next_from(self.first).or_else(|| set.next_from(0))
    }

    /// Remembers that this one was granted.
    pub fn granted(&mut self, position: usize) {
        self.first = position + 1;
    }
}

/// A set of small numbers that finds its next member a word at a time.
#[derive(Clone, Debug)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set, for numbers below `n`.
    pub fn new(n: usize) -> Self {
        BitSet { words: vec![0; n.div_ceil(64)] }
    }

    /// Makes `position` a member or not.
    pub fn set(&mut self, position: usize, member: bool) {
        let (word, bit) = (&mut self.words[position / 64], 1 << (position % 64));
        *word = if member { *word | bit } else { *word & !bit };
    }

    /// The lowest member that is not below `start`.
    pub fn next_from(&self, start: usize) -> Option<usize> {
        let first = start / 64;
        let masked = self.words.get(first)? & (u64::MAX << (start % 64));
        if masked != 0 {
            return Some(first * 64 + masked.trailing_zeros() as usize);
        }
        let rest = self.words[first + 1..].iter().position(|&word| word != 0)? + first + 1;
        Some(rest * 64 + self.words[rest].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both ways to choose take the first that asks at or after the one in turn.
        #[test]
        fn both_ways_grant_the_same(asks in prop::collection::vec(any::<bool>(), 1..200), last in 0usize..200) {
            let n = asks.len();
            let mut arbiter = RoundRobin::default();
            arbiter.granted(last % n);
            let mut set = BitSet::new(n);
            (0..n).for_each(|position| set.set(position, asks[position]));
            let want = (1..=n).map(|step| (last % n + step) % n).find(|&position| asks[position]);
            prop_assert_eq!(arbiter.choose(n, |position| asks[position]), want);
            prop_assert_eq!(arbiter.choose_from(&set), want);
        }
    }
}
