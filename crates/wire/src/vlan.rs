//! VLAN tag (IEEE 802.1Q, 9.6). In a packet it follows the MAC addresses: a type field, then tag control information.
//! This file counts it from the tag control information to the next type field.

use crate::format::{FormatError, at_least, be16};
use std::ops::Range;

/// Priority (3 bits), drop eligible (1 bit), VLAN identifier (12 bits).
pub const TCI: Range<usize> = 0..2;
/// Type of the payload.
pub const ETHER_TYPE: Range<usize> = 2..4;
/// Length of the tag, as counted here, in bytes.
pub const HEADER_LEN: usize = 4;

/// A checked view of a tag.
#[derive(Clone, Copy, Debug)]
pub struct VlanView<T>(T);

impl<T: AsRef<[u8]>> VlanView<T> {
    /// Checks that `bytes` is long enough.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        at_least("VLAN", bytes.as_ref(), HEADER_LEN)?;
        Ok(Self(bytes))
    }

    /// Priority code point, 0 to 7.
    pub fn priority(&self) -> u8 {
        self.0.as_ref()[0] >> 5
    }

    /// Returns true if the packet may be dropped first.
    pub fn drop_eligible(&self) -> bool {
        self.0.as_ref()[0] & 0x10 != 0
    }

    /// VLAN identifier, 0 to 4095.
    pub fn id(&self) -> u16 {
        be16(self.0.as_ref(), TCI.start) & 0xfff
    }

    /// Type of the payload.
    pub fn ether_type(&self) -> u16 {
        be16(self.0.as_ref(), ETHER_TYPE.start)
    }
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanHeader {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// The packet may be dropped first.
    pub drop_eligible: bool,
    /// VLAN identifier, 0 to 4095.
    pub id: u16,
    /// Type of the payload.
    pub ether_type: u16,
}

impl VlanHeader {
    /// Parses the tag at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = VlanView::new(bytes)?;
        let header = Self {
            priority: view.priority(),
            drop_eligible: view.drop_eligible(),
            id: view.id(),
            ether_type: view.ether_type(),
        };
        Ok((header, &bytes[HEADER_LEN..]))
    }

    /// Writes the tag to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("VLAN", bytes, HEADER_LEN)?;
        let refuse = |field, found, allowed| Err(FormatError::Field { format: "VLAN", field, found, allowed });
        if self.priority > 7 {
            return refuse("priority", u64::from(self.priority), "0 to 7");
        }
        if self.id > 0xfff {
            return refuse("identifier", u64::from(self.id), "0 to 4095");
        }
        let tci = u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.id;
        bytes[TCI].copy_from_slice(&tci.to_be_bytes());
        bytes[ETHER_TYPE].copy_from_slice(&self.ether_type.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes_both_ways() {
        let bytes = [0xb0, 0x64, 0x08, 0x00];
        let (header, _) = VlanHeader::parse(&bytes).unwrap();
        assert_eq!(header, VlanHeader { priority: 5, drop_eligible: true, id: 100, ether_type: 0x0800 });
        let mut out = [0; HEADER_LEN];
        header.emit(&mut out).unwrap();
        assert_eq!(out, bytes);
        let error = VlanHeader { id: 4096, ..header }.emit(&mut out).unwrap_err();
        assert_eq!(error.to_string(), "VLAN: identifier is 4096, must be 0 to 4095");
    }
}
