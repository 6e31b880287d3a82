//! ICMP for IPv4 (RFC 792).

use crate::checksum::Sum;
use crate::format::{FormatError, at_least, be16, be32};
use std::ops::Range;

/// Message type.
pub const TYPE: usize = 0;
/// Code within the type.
pub const CODE: usize = 1;
/// Checksum over the whole message.
pub const CHECKSUM: Range<usize> = 2..4;
/// Depends on the type. Echo messages have an identifier and a sequence number.
pub const REST: Range<usize> = 4..8;
/// Identifier of an echo.
pub const IDENTIFIER: Range<usize> = 4..6;
/// Sequence number of an echo.
pub const SEQ: Range<usize> = 6..8;
/// Length of the header, in bytes.
pub const HEADER_LEN: usize = 8;
/// Type of an echo reply.
pub const ECHO_REPLY: u8 = 0;
/// Type of an echo request.
pub const ECHO_REQUEST: u8 = 8;

/// A checked view of an ICMP header.
#[derive(Clone, Copy, Debug)]
pub struct IcmpView<T>(T);

impl<T: AsRef<[u8]>> IcmpView<T> {
    /// Checks the length.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        at_least("ICMP", bytes.as_ref(), HEADER_LEN)?;
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
        be16(self.0.as_ref(), IDENTIFIER.start)
    }

    /// Sequence number of an echo.
    pub fn seq(&self) -> u16 {
        be16(self.0.as_ref(), SEQ.start)
    }

    /// Returns true if the checksum over all bytes of the view is valid.
    pub fn checksum_is_valid(&self) -> bool {
        Sum::default().with(self.0.as_ref()).finish() == 0
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..]
    }
}

/// An ICMP header without its checksum, which `emit` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpHeader {
    /// Message type.
    pub icmp_type: u8,
    /// Code within the type.
    pub code: u8,
    /// The four bytes that depend on the type.
    pub rest: u32,
}

impl IcmpHeader {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = IcmpView::new(bytes)?;
        let header = Self { icmp_type: view.icmp_type(), code: view.code(), rest: view.rest() };
        Ok((header, &bytes[HEADER_LEN..]))
    }

    /// Writes the header, with its checksum, before the payload that `message` already holds. Returns the header's
    /// length.
    pub fn emit(&self, message: &mut [u8]) -> Result<usize, FormatError> {
        at_least("ICMP", message, HEADER_LEN)?;
        message[TYPE] = self.icmp_type;
        message[CODE] = self.code;
        message[CHECKSUM].fill(0);
        message[REST].copy_from_slice(&self.rest.to_be_bytes());
        let checksum = Sum::default().with(message).finish();
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
        // An echo request with payload "ab"; the words 0800 1234 0001 6162 sum to 7b97, complement 8468.
        let bytes = unhex("08 00 8468 1234 0001 6162");
        let (header, payload) = IcmpHeader::parse(&bytes).unwrap();
        assert_eq!(header, IcmpHeader { icmp_type: ECHO_REQUEST, code: 0, rest: 0x1234_0001 });
        assert_eq!(payload, b"ab");
        assert!(IcmpView::new(&bytes).unwrap().checksum_is_valid());
        let mut out = unhex("ffff ffff ffff ffff 6162");
        header.emit(&mut out).unwrap();
        assert_eq!(out, bytes);
    }
}
