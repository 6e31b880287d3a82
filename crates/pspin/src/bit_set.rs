//! A set of small numbers.

/// A set of small numbers: a bit for each.
#[derive(Debug)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// Creates an empty set for numbers below `n`.
    pub fn new(n: usize) -> Self {
        BitSet { words: vec![0; n.div_ceil(64)] }
    }

    /// Adds or removes `position`.
    pub fn set(&mut self, position: usize, member: bool) {
        let (word, bit) = (&mut self.words[position / 64], 1 << (position % 64));
        *word = if member { *word | bit } else { *word & !bit };
    }

    /// Copies a set for the same range.
    pub fn copy_from(&mut self, other: &BitSet) {
        self.words.copy_from_slice(&other.words);
    }

    /// The lowest member at or above `start`.
    pub fn next_from(&self, start: usize) -> Option<usize> {
        let first = start / 64;
        let masked = self.words.get(first)? & (u64::MAX << (start % 64));
        if masked != 0 {
            return Some(first * 64 + masked.trailing_zeros() as usize);
        }
        let rest = self.words[first + 1..].iter().position(|&word| word != 0)? + first + 1;
        Some(rest * 64 + self.words[rest].trailing_zeros() as usize)
    }

    /// The words, lowest numbers first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}
