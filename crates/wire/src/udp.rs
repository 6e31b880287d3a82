//! UDP (RFC 768).

use crate::checksum::PseudoHeader;
use crate::format::{FormatError, at_least, be16};
use crate::ipv4::protocol;
use std::ops::Range;

/// Sender's port.
pub const SRC_PORT: Range<usize> = 0..2;
/// Receiver's port.
pub const DST_PORT: Range<usize> = 2..4;
/// Length of header and payload, in bytes.
pub const LEN: Range<usize> = 4..6;
/// Checksum over pseudo header, header and payload; 0 means none (IPv4 only).
pub const CHECKSUM: Range<usize> = 6..8;
/// Length of the header, in bytes.
pub const HEADER_LEN: usize = 8;

/// A checked view of a UDP header.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<T>(T);

impl<T: AsRef<[u8]>> UdpView<T> {
    /// Checks the buffer's length and the length field. The payload may be truncated.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        let b = bytes.as_ref();
        at_least("UDP", b, HEADER_LEN)?;
        let found = u64::from(be16(b, LEN.start));
        if found < HEADER_LEN as u64 {
            return Err(FormatError::Field { format: "UDP", field: "length", found, allowed: "at least 8" });
        }
        Ok(Self(bytes))
    }

    /// Sender's port.
    pub fn src_port(&self) -> u16 {
        be16(self.0.as_ref(), SRC_PORT.start)
    }

    /// Receiver's port.
    pub fn dst_port(&self) -> u16 {
        be16(self.0.as_ref(), DST_PORT.start)
    }

    /// Length of header and payload, in bytes.
    pub fn len(&self) -> u16 {
        be16(self.0.as_ref(), LEN.start)
    }

    /// Returns true if there is no payload.
    pub fn is_empty(&self) -> bool {
        self.len() == HEADER_LEN as u16
    }

    /// The checksum; 0 means none.
    pub fn checksum(&self) -> u16 {
        be16(self.0.as_ref(), CHECKSUM.start)
    }

    /// Returns true if the checksum is valid or absent. A truncated datagram is not valid.
    pub fn checksum_is_valid(&self, pseudo: PseudoHeader) -> bool {
        let whole = self.0.as_ref().get(..usize::from(self.len()));
        self.checksum() == 0 || whole.is_some_and(|datagram| pseudo.checksum(protocol::UDP, datagram) == 0)
    }

    /// The payload, as far as the buffer holds it.
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        &bytes[HEADER_LEN..bytes.len().min(usize::from(self.len()))]
    }
}

/// A UDP header without its checksum, which `emit` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// Sender's port.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
    /// Length of the payload, in bytes, 0 to 65,527.
    pub payload_len: u16,
}

impl UdpHeader {
    /// Parses the header at the start of `bytes`. Also returns the payload, as far as the buffer holds it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = UdpView::new(bytes)?;
        let payload_len = view.len() - HEADER_LEN as u16;
        let end = bytes.len().min(usize::from(view.len()));
        let header = Self { src_port: view.src_port(), dst_port: view.dst_port(), payload_len };
        Ok((header, &bytes[HEADER_LEN..end]))
    }

    /// Writes the header, with its checksum, before the payload that `datagram` already holds. Returns the header's
    /// length.
    pub fn emit(&self, datagram: &mut [u8], pseudo: PseudoHeader) -> Result<usize, FormatError> {
        let Some(len) = self.payload_len.checked_add(HEADER_LEN as u16) else {
            let found = u64::from(self.payload_len);
            return Err(FormatError::Field { format: "UDP", field: "payload length", found, allowed: "0 to 65,527" });
        };
        at_least("UDP", datagram, usize::from(len))?;
        let datagram = &mut datagram[..usize::from(len)];
        datagram[SRC_PORT].copy_from_slice(&self.src_port.to_be_bytes());
        datagram[DST_PORT].copy_from_slice(&self.dst_port.to_be_bytes());
        datagram[LEN].copy_from_slice(&len.to_be_bytes());
        datagram[CHECKSUM].fill(0);
        // RFC 768: a checksum of 0 is sent as all ones, because 0 means that there is none.
        let checksum = match pseudo.checksum(protocol::UDP, datagram) {
            0 => 0xffff,
            sum => sum,
        };
        datagram[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;

    const PSEUDO: PseudoHeader = PseudoHeader::V4 {
        src: std::net::Ipv4Addr::new(152, 1, 51, 27),
        dst: std::net::Ipv4Addr::new(152, 14, 94, 75),
    };

    #[test]
    fn known_bytes_both_ways() {
        // A published example: 152.1.51.27 to 152.14.94.75, ports 41103 and 9876, payload "bb", checksum 14de.
        let bytes = unhex("a08f 2694 000a 14de 6262");
        let (header, payload) = UdpHeader::parse(&bytes).unwrap();
        assert_eq!((header, payload), (UdpHeader { src_port: 41103, dst_port: 9876, payload_len: 2 }, &b"bb"[..]));
        assert!(UdpView::new(&bytes).unwrap().checksum_is_valid(PSEUDO));
        let mut out = unhex("ffff ffff ffff ffff 6262");
        header.emit(&mut out, PSEUDO).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_sum_of_zero_is_sent_as_all_ones() {
        let header = UdpHeader { src_port: 0, dst_port: 0, payload_len: 2 };
        let mut datagram = [0; 10];
        header.emit(&mut datagram, PSEUDO).unwrap();
        let sum = be16(&datagram, CHECKSUM.start);
        datagram[8..].copy_from_slice(&sum.to_be_bytes());
        header.emit(&mut datagram, PSEUDO).unwrap();
        assert_eq!(be16(&datagram, CHECKSUM.start), 0xffff);
    }
}
