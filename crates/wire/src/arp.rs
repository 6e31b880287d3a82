//! ARP for IPv4 over Ethernet (RFC 826).

use crate::eth::Mac;
use crate::format::{FormatError, array, at_least, be16};
use std::net::Ipv4Addr;
use std::ops::Range;

/// Link type; 1 is Ethernet.
pub const HARDWARE_TYPE: Range<usize> = 0..2;
/// Network protocol, as an Ethernet type.
pub const PROTOCOL_TYPE: Range<usize> = 2..4;
/// Length of a link address.
pub const HARDWARE_LEN: usize = 4;
/// Length of a network address.
pub const PROTOCOL_LEN: usize = 5;
/// 1 is a request, 2 a reply.
pub const OPERATION: Range<usize> = 6..8;
/// Sender's MAC address.
pub const SENDER_MAC: Range<usize> = 8..14;
/// Sender's IPv4 address.
pub const SENDER_IP: Range<usize> = 14..18;
/// Target's MAC address.
pub const TARGET_MAC: Range<usize> = 18..24;
/// Target's IPv4 address.
pub const TARGET_IP: Range<usize> = 24..28;
/// Length of the packet for IPv4 over Ethernet, in bytes.
pub const HEADER_LEN: usize = 28;

/// Hardware type 1, protocol type IPv4, address lengths 6 and 4.
const ETHERNET_IPV4: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];

/// A checked view of an ARP packet for IPv4 over Ethernet.
#[derive(Clone, Copy, Debug)]
pub struct ArpView<T>(T);

impl<T: AsRef<[u8]>> ArpView<T> {
    /// Checks the length, the address types and the address lengths.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        let b = bytes.as_ref();
        at_least("ARP", b, HEADER_LEN)?;
        let refuse = |field, found, allowed| Err(FormatError::Field { format: "ARP", field, found, allowed });
        match (be16(b, HARDWARE_TYPE.start), be16(b, PROTOCOL_TYPE.start), b[HARDWARE_LEN], b[PROTOCOL_LEN]) {
            (1, 0x0800, 6, 4) => Ok(Self(bytes)),
            (1, 0x0800, 6, found) => refuse("protocol address length", u64::from(found), "4"),
            (1, 0x0800, found, _) => refuse("hardware address length", u64::from(found), "6"),
            (1, found, ..) => refuse("protocol type", u64::from(found), "2048 (IPv4)"),
            (found, ..) => refuse("hardware type", u64::from(found), "1 (Ethernet)"),
        }
    }

    /// 1 is a request, 2 a reply.
    pub fn operation(&self) -> u16 {
        be16(self.0.as_ref(), OPERATION.start)
    }

    /// Sender's MAC address.
    pub fn sender_mac(&self) -> Mac {
        Mac(array(self.0.as_ref(), SENDER_MAC.start))
    }

    /// Sender's IPv4 address.
    pub fn sender_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0.as_ref(), SENDER_IP.start))
    }

    /// Target's MAC address.
    pub fn target_mac(&self) -> Mac {
        Mac(array(self.0.as_ref(), TARGET_MAC.start))
    }

    /// Target's IPv4 address.
    pub fn target_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0.as_ref(), TARGET_IP.start))
    }
}

/// An ARP packet for IPv4 over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpHeader {
    /// 1 is a request, 2 a reply.
    pub operation: u16,
    /// Sender's MAC address.
    pub sender_mac: Mac,
    /// Sender's IPv4 address.
    pub sender_ip: Ipv4Addr,
    /// Target's MAC address.
    pub target_mac: Mac,
    /// Target's IPv4 address.
    pub target_ip: Ipv4Addr,
}

impl ArpHeader {
    /// Parses the packet at the start of `bytes`. Also returns the remaining bytes, which are padding.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = ArpView::new(bytes)?;
        let header = Self {
            operation: view.operation(),
            sender_mac: view.sender_mac(),
            sender_ip: view.sender_ip(),
            target_mac: view.target_mac(),
            target_ip: view.target_ip(),
        };
        Ok((header, &bytes[HEADER_LEN..]))
    }

    /// Writes the packet to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("ARP", bytes, HEADER_LEN)?;
        bytes[..ETHERNET_IPV4.len()].copy_from_slice(&ETHERNET_IPV4);
        bytes[OPERATION].copy_from_slice(&self.operation.to_be_bytes());
        bytes[SENDER_MAC].copy_from_slice(&self.sender_mac.0);
        bytes[SENDER_IP].copy_from_slice(&self.sender_ip.octets());
        bytes[TARGET_MAC].copy_from_slice(&self.target_mac.0);
        bytes[TARGET_IP].copy_from_slice(&self.target_ip.octets());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;

    #[test]
    fn known_bytes_both_ways() {
        let bytes = unhex("0001 0800 06 04 0002 020000000001 0a000001 020000000002 0a000002");
        let (header, rest) = ArpHeader::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!((header.operation, header.sender_ip), (2, Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(header.target_mac, Mac([2, 0, 0, 0, 0, 2]));
        let mut out = [0; HEADER_LEN];
        header.emit(&mut out).unwrap();
        assert_eq!(out.as_slice(), bytes);
    }

    #[test]
    fn other_link_types_are_refused() {
        let mut bytes = unhex("0001 0800 10 04 0002 020000000001 0a000001 020000000002 0a000002");
        assert_eq!(ArpView::new(&bytes).unwrap_err().to_string(), "ARP: hardware address length is 16, must be 6");
        bytes[1] = 6;
        assert_eq!(ArpView::new(&bytes).unwrap_err().to_string(), "ARP: hardware type is 6, must be 1 (Ethernet)");
    }
}
