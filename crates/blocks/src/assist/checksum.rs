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
        for &byte in bytes {
            self.sum += if self.is_odd { u32::from(byte) } else { u32::from(byte) << 8 };
            self.sum = (self.sum & 0xffff) + (self.sum >> 16);
            self.is_odd = !self.is_odd;
        }
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
