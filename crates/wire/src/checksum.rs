//! The Internet checksum (RFC 1071) and the pseudo headers of IPv4 (RFC 9293, 3.1) and IPv6 (RFC 8200, 8.1).

use crate::ipv4::Ipv4Header;
use crate::ipv6::Ipv6Header;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Running one's complement sum of 16-bit words. All parts except the last must have an even length.
///
/// The words are added as little-endian ones, several at once. Swapping the two bytes of the sum gives that of the big-endian words
/// (RFC 1071, 2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds `bytes` as big-endian words. An odd last byte is the high half of a word.
    pub fn with(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        self.0 += words.iter().map(|&word| u64::from(u32::from_le_bytes(word))).sum::<u64>();
        let mut tail = [0; 4];
        tail[..rest.len()].copy_from_slice(rest);
        self.0 += u64::from(u32::from_le_bytes(tail));
        self
    }

    /// The checksum: the complement of the sum, folded to 16 bits. It is 0 for data that contains a valid checksum.
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16).swap_bytes()
    }
}

/// The part of the checksums of UDP, TCP and ICMPv6 that is outside the segment: addresses, protocol and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PseudoHeader {
    /// Between IPv4 hosts.
    V4 {
        /// Sender.
        src: Ipv4Addr,
        /// Receiver.
        dst: Ipv4Addr,
    },
    /// Between IPv6 hosts.
    V6 {
        /// Sender.
        src: Ipv6Addr,
        /// Receiver. With a routing header, the last receiver.
        dst: Ipv6Addr,
    },
}

impl PseudoHeader {
    /// Checksum of `segment`. To compute it, the checksum field must hold 0. To verify it, the result must be 0.
    pub fn checksum(self, protocol: u8, segment: &[u8]) -> u16 {
        let len = (segment.len() as u32).to_be_bytes();
        let sum = match self {
            Self::V4 { src, dst } => Sum::default().with(&src.octets()).with(&dst.octets()),
            Self::V6 { src, dst } => Sum::default().with(&src.octets()).with(&dst.octets()),
        };
        sum.with(&len).with(&[0, protocol]).with(segment).finish()
    }
}

impl From<&Ipv4Header> for PseudoHeader {
    fn from(header: &Ipv4Header) -> Self {
        Self::V4 { src: header.src, dst: header.dst }
    }
}

impl From<&Ipv6Header> for PseudoHeader {
    fn from(header: &Ipv6Header) -> Self {
        Self::V6 { src: header.src, dst: header.dst }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_gives_its_sum() {
        // RFC 1071, 3: the words 0001 f203 f4f5 f6f7 sum to ddf2 with end-around carry.
        assert_eq!(Sum::default().with(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]).finish(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_padded_with_zero() {
        assert_eq!(Sum::default().with(&[1, 2, 3]).finish(), Sum::default().with(&[1, 2, 3, 0]).finish());
    }
}
