//! The checksum unit.

/// Running 16-bit ones' complement sum (RFC 1071) over bytes added in portions of any length; words are big-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OnesComplement {
    sum: u32,
    is_odd: bool,
}

impl OnesComplement {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(usize::from(self.is_odd).min(bytes.len()));
        let odd = first.iter().map(|&byte| u64::from(byte));
        let mut sum = u64::from(self.sum) + odd.sum::<u64>();
        // Most portions are a word of eight bytes.
        let (fours, rest) = rest.as_chunks::<8>();
        for four in fours {
            let four = u64::from_be_bytes(*four);
            let pairs = (four & 0x0000_ffff_0000_ffff) + (four >> 16 & 0x0000_ffff_0000_ffff);
            sum += (pairs & 0xffff_ffff) + (pairs >> 32);
        }
        let (words, last) = rest.as_chunks::<2>();
        for &word in words {
            sum += u64::from(u16::from_be_bytes(word));
        }
        sum += last.iter().map(|&byte| u64::from(byte) << 8).sum::<u64>();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        self.sum = sum as u32;
        self.is_odd ^= bytes.len() % 2 == 1;
    }

    /// The sum, not complemented; an odd last byte counts as the high half of a word.
    pub fn sum(&self) -> u16 {
        self.sum as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_does_not_depend_on_portions() {
        // The example of RFC 1071, section 3: the sum is 0xddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        for cut in 0..=bytes.len() {
            let mut sum = OnesComplement::default();
            sum.add(&bytes[..cut]);
            sum.add(&bytes[cut..]);
            assert_eq!(sum.sum(), 0xddf2, "cut at {cut}");
        }
    }
}
