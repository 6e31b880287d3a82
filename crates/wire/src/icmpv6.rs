//! ICMP for IPv6 (RFC 4443): the header of [`crate::icmp`], with a checksum that covers a pseudo header.

use crate::checksum::PseudoHeader;
use crate::format::{FormatError, at_least, be16, be32};
use crate::ipv4::protocol;
use std::ops::Range;

/// Message type.
pub const TYPE: usize = 0;
/// Code within the type.
pub const CODE: usize = 1;
/// Checksum over pseudo header and message.
pub const CHECKSUM: Range<usize> = 2..4;
/// Depends on the type. Echo messages have an identifier and a sequence number.
pub const REST: Range<usize> = 4..8;
/// Identifier of an echo.
pub const IDENTIFIER: Range<usize> = 4..6;
/// Sequence number of an echo.
pub const SEQ: Range<usize> = 6..8;
/// Length of the header, in bytes: the 4 bytes of RFC 4443 and the 4 bytes that start every message body.
pub const HEADER_LEN: usize = 8;
/// Type of an echo request.
pub const ECHO_REQUEST: u8 = 128;
/// Type of an echo reply.
pub const ECHO_REPLY: u8 = 129;

/// A checked view of an ICMPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6View<T>(T);

impl<T: AsRef<[u8]>> Icmpv6View<T> {
    /// Checks the length.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        at_least("ICMPv6", bytes.as_ref(), HEADER_LEN)?;
        Ok(Self(bytes))
    }

    /// Message type.
    pub fn icmp_type(&self) -> u8 {
        self.0.as_ref()[TYPE]
    }

    /// Code within the type.
    pub fn code(&self) -> u8 {
        self.0.as_ref()[CODE]
    }

    /// The four bytes that depend on the type.
    pub fn rest(&self) -> u32 {
        be32(self.0.as_ref(), REST.start)
    }

    /// Identifier of an echo.
    pub fn identifier(&self) -> u16 {
        be16(self.0.as_ref(), REST.start)
    }

    /// Sequence number of an echo.
    pub fn seq(&self) -> u16 {
        be16(self.0.as_ref(), REST.start + 2)
    }

    /// Returns true if the checksum over all bytes of the view is valid.
    pub fn checksum_is_valid(&self, pseudo: PseudoHeader) -> bool {
        pseudo.checksum(protocol::ICMPV6, self.0.as_ref()) == 0
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..]
    }
}

/// An ICMPv6 header without its checksum, which `emit` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv6Header {
    /// Message type.
    pub icmp_type: u8,
    /// Code within the type.
    pub code: u8,
    /// The four bytes that depend on the type.
    pub rest: u32,
}

impl Icmpv6Header {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = Icmpv6View::new(bytes)?;
        let header = Self { icmp_type: view.icmp_type(), code: view.code(), rest: view.rest() };
        Ok((header, &bytes[HEADER_LEN..]))
    }

    /// Writes the header, with its checksum, before the payload that `message` already holds. Returns the header's
    /// length.
    pub fn emit(&self, message: &mut [u8], pseudo: PseudoHeader) -> Result<usize, FormatError> {
        at_least("ICMPv6", message, HEADER_LEN)?;
        message[TYPE] = self.icmp_type;
        message[CODE] = self.code;
        message[CHECKSUM].fill(0);
        message[REST].copy_from_slice(&self.rest.to_be_bytes());
        let checksum = pseudo.checksum(protocol::ICMPV6, message);
        message[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;

    #[test]
    fn known_bytes_both_ways() {
        // Echo request from ::1 to ::1. Pseudo header 1 + 1 + 8 + 3a = 44; message 8000 1234 0001 = 9235;
        // together 9279, complement 6d86.
        let loopback = std::net::Ipv6Addr::LOCALHOST;
        let pseudo = PseudoHeader::V6 { src: loopback, dst: loopback };
        let bytes = unhex("80 00 6d86 1234 0001");
        let (header, _) = Icmpv6Header::parse(&bytes).unwrap();
        assert_eq!(header, Icmpv6Header { icmp_type: ECHO_REQUEST, code: 0, rest: 0x1234_0001 });
        assert!(Icmpv6View::new(&bytes).unwrap().checksum_is_valid(pseudo));
        let mut out = [0xff; HEADER_LEN];
        header.emit(&mut out, pseudo).unwrap();
        assert_eq!(out.as_slice(), bytes);
    }
}
