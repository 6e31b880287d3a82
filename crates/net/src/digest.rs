//! Running hashes of the frames that cross a network. They serve to compare runs and do not protect against attackers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Odd constant of the multiplication: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Adds a word to a running hash.
#[inline]
pub fn fold(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x51_7cc1_b727_220a) * u128::from(FACTOR | 1);
    (product as u64).rotate_left(23) ^ (product >> 64) as u64 ^ hash.wrapping_mul(FACTOR)
}

/// A hash table whose keys are numbers of the simulator itself. Its hash is cheap, and does not protect against chosen keys.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<Numbers>>;

/// A set of such keys.
pub type NumberSet<K> = HashSet<K, BuildHasherDefault<Numbers>>;

/// The hash of [`NumberMap`] and [`NumberSet`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers(u64);

impl Hasher for Numbers {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = fold(self.0, fold_bytes(bytes));
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = fold(self.0, word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0, word);
    }

    fn write_isize(&mut self, word: isize) {
        self.0 = fold(self.0, word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Hash of bytes and their number.
pub fn fold_bytes(bytes: &[u8]) -> u64 {
    let mut hash = fold(0, bytes.len() as u64);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut whole = [0; 8];
        whole.copy_from_slice(word);
        hash = fold(hash, u64::from_le_bytes(whole));
    }
    let rest = words.remainder();
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    fold(hash, u64::from_le_bytes(tail))
}

/// A well mixed number: each bit of the input changes about half of the bits (finaliser of SplitMix64).
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_byte_position_and_the_length_count() {
        let mut seen = BTreeSet::new();
        for len in 0..40 {
            assert!(seen.insert(fold_bytes(&vec![0; len])), "{len} zeros");
            for at in 0..len {
                let mut bytes = vec![0; len];
                bytes[at] = 1;
                assert!(seen.insert(fold_bytes(&bytes)), "{len} bytes with a 1 at {at}");
            }
        }
    }

    #[test]
    fn the_order_of_words_counts() {
        assert_ne!(fold(fold(0, 1), 2), fold(fold(0, 2), 1));
        assert_ne!(fold(fold(0, 0), 0), fold(0, 0));
    }
}
