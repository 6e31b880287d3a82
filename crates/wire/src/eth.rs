//! Ethernet II (IEEE 802.3, 3.2.6) without preamble and frame check sequence.

use crate::format::{FormatError, array, at_least, be16};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Receiver's address.
pub const DST: Range<usize> = 0..6;
/// Sender's address.
pub const SRC: Range<usize> = 6..12;
/// Type of the payload, or of a VLAN tag.
pub const ETHER_TYPE: Range<usize> = 12..14;
/// Length of the header, in bytes.
pub const HEADER_LEN: usize = 14;
/// Shortest packet: a 64-byte frame without its 4-byte FCS (IEEE 802.3, 4A.4.2, minFrameSize).
pub const MIN_PACKET_LEN: usize = 60;
/// Longest payload that is not jumbo (IEEE 802.3, 3.2.7, maxBasicDataSize).
pub const MAX_BASIC_PAYLOAD: usize = 1500;
/// Longest packet that this crate handles, because lengths have 16 bits. Captures with segmentation offload have such
/// packets.
pub const MAX_PACKET_LEN: usize = 65_535;
/// Frame check sequence, in bytes.
pub const FCS_LEN: u64 = 4;
/// Byte times per frame on the line in addition to packet and FCS: 8 of preamble with start delimiter, 12 of interframe
/// gap (IEEE 802.3, 3.1.1 and 4A.4.2).
pub const GAP_LEN: u64 = 8 + 12;
/// Bytes of a frame on the line in addition to its packet: FCS, preamble and gap.
pub const LINE_LEN: u64 = FCS_LEN + GAP_LEN;

/// Values of the type field (IANA, IEEE 802 Numbers).
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// VLAN tag of a customer (IEEE 802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// VLAN tag of a service provider (IEEE 802.1Q, formerly 802.1ad).
    pub const QINQ: u16 = 0x88a8;
    /// The older, unofficial outer tag.
    pub const QINQ_OLD: u16 = 0x9100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
}

/// Bit times of a packet on the line, with padding to the minimum, FCS, preamble and gap.
pub fn line_bits(packet_len: usize) -> u64 {
    (packet_len.max(MIN_PACKET_LEN) as u64 + LINE_LEN) * 8
}

/// A MAC address, written `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// True for the address of a group of stations, such as broadcast.
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Error: the text is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a MAC address; write six pairs of hexadecimal digits, for example 02:00:00:00:00:01")]
pub struct NotAMac(String);

impl FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let mut mac = [0; 6];
        let mut groups = text.split(':');
        for byte in &mut mac {
            *byte = groups.next().and_then(two_hex_digits).ok_or_else(|| NotAMac(text.into()))?;
        }
        if groups.next().is_some() { Err(NotAMac(text.into())) } else { Ok(Self(mac)) }
    }
}

fn two_hex_digits(group: &str) -> Option<u8> {
    let digits = group.len() == 2 && group.bytes().all(|b| b.is_ascii_hexdigit());
    digits.then(|| u8::from_str_radix(group, 16).ok()).flatten()
}

impl TryFrom<String> for Mac {
    type Error = NotAMac;
    fn try_from(text: String) -> Result<Self, NotAMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// A checked view of an Ethernet header.
#[derive(Clone, Copy, Debug)]
pub struct EthView<T>(T);

impl<T: AsRef<[u8]>> EthView<T> {
    /// Checks that `bytes` is long enough.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        at_least("Ethernet", bytes.as_ref(), HEADER_LEN)?;
        Ok(Self(bytes))
    }

    /// Receiver's address.
    pub fn dst(&self) -> Mac {
        Mac(array(self.0.as_ref(), DST.start))
    }

    /// Sender's address.
    pub fn src(&self) -> Mac {
        Mac(array(self.0.as_ref(), SRC.start))
    }

    /// Type of the payload; a value below 1536 is a length (IEEE 802.3, 3.2.6).
    pub fn ether_type(&self) -> u16 {
        be16(self.0.as_ref(), ETHER_TYPE.start)
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..]
    }
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthHeader {
    /// Receiver's address.
    pub dst: Mac,
    /// Sender's address.
    pub src: Mac,
    /// Type of the payload.
    pub ether_type: u16,
}

impl EthHeader {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = EthView::new(bytes)?;
        Ok((Self { dst: view.dst(), src: view.src(), ether_type: view.ether_type() }, &bytes[HEADER_LEN..]))
    }

    /// Writes the header to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("Ethernet", bytes, HEADER_LEN)?;
        bytes[DST].copy_from_slice(&self.dst.0);
        bytes[SRC].copy_from_slice(&self.src.0);
        bytes[ETHER_TYPE].copy_from_slice(&self.ether_type.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;

    #[test]
    fn known_bytes_both_ways() {
        let bytes = unhex("ffffffffffff 020000000001 0806");
        let (header, rest) = EthHeader::parse(&bytes).unwrap();
        let want = EthHeader { dst: Mac([0xff; 6]), src: Mac([2, 0, 0, 0, 0, 1]), ether_type: ether_type::ARP };
        assert_eq!((header, rest.len()), (want, 0));
        let mut out = [0; HEADER_LEN];
        header.emit(&mut out).unwrap();
        assert_eq!(out.as_slice(), bytes);
        assert_eq!(EthHeader::parse(&bytes[..13]).unwrap_err().to_string(), "Ethernet: 13 bytes, must be at least 14");
    }

    #[test]
    fn malformed_mac_addresses_are_refused() {
        assert_eq!("02:00:00:00:00:0a".parse(), Ok(Mac([2, 0, 0, 0, 0, 10])));
        for text in ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "02:00:00:00:00:+1", "2:0:0:0:0:1"] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_shortest_frame_takes_672_bit_times() {
        // IEEE 802.3: 64 bytes of frame, 8 of preamble, 12 of gap.
        assert_eq!((line_bits(60), line_bits(20), line_bits(1514)), (672, 672, 1538 * 8));
    }
}
