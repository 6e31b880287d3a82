//! IPv4 (RFC 791).

use crate::checksum::Sum;
use crate::format::{FormatError, HeaderOptions, array, at_least, be16};
use std::net::Ipv4Addr;
use std::ops::Range;

/// Version (4 bits) and header length in 32-bit words (4 bits).
pub const VERSION_IHL: usize = 0;
/// Differentiated services (6 bits) and congestion notification (2 bits), RFC 2474 and RFC 3168.
pub const DSCP_ECN: usize = 1;
/// Length of header and payload, in bytes.
pub const TOTAL_LEN: Range<usize> = 2..4;
/// Identification of the fragments of one datagram.
pub const IDENTIFICATION: Range<usize> = 4..6;
/// Flags (3 bits) and fragment offset in units of 8 bytes (13 bits).
pub const FLAGS_FRAGMENT: Range<usize> = 6..8;
/// Time to live.
pub const TTL: usize = 8;
/// Protocol of the payload.
pub const PROTOCOL: usize = 9;
/// Checksum of the header.
pub const CHECKSUM: Range<usize> = 10..12;
/// Sender.
pub const SRC: Range<usize> = 12..16;
/// Receiver.
pub const DST: Range<usize> = 16..20;
/// Length of the header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 20;

/// Values of the protocol field (IANA, Protocol Numbers). IPv6's next-header field has the same values.
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
}

/// A checked view of an IPv4 header, options included.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<T>(T);

impl<T: AsRef<[u8]>> Ipv4View<T> {
    /// Checks the version, the header length and the total length. The payload may be truncated, the header may not.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        let b = bytes.as_ref();
        at_least("IPv4", b, MIN_HEADER_LEN)?;
        let refuse = |field, found, allowed| Err(FormatError::Field { format: "IPv4", field, found, allowed });
        let header_len = usize::from(b[VERSION_IHL] & 15) * 4;
        if b[VERSION_IHL] >> 4 != 4 {
            return refuse("version", u64::from(b[VERSION_IHL] >> 4), "4");
        }
        if header_len < MIN_HEADER_LEN {
            return refuse("header length", header_len as u64, "20 to 60 bytes");
        }
        if usize::from(be16(b, TOTAL_LEN.start)) < header_len {
            return refuse("total length", u64::from(be16(b, TOTAL_LEN.start)), "at least the header length");
        }
        at_least("IPv4", b, header_len)?;
        Ok(Self(bytes))
    }

    /// Length of the header with options, in bytes.
    pub fn header_len(&self) -> usize {
        usize::from(self.0.as_ref()[VERSION_IHL] & 15) * 4
    }

    /// Length of header and payload, in bytes.
    pub fn total_len(&self) -> u16 {
        be16(self.0.as_ref(), TOTAL_LEN.start)
    }

    /// Differentiated services and congestion notification.
    pub fn dscp_ecn(&self) -> u8 {
        self.0.as_ref()[DSCP_ECN]
    }

    /// Identification of the fragments of one datagram.
    pub fn identification(&self) -> u16 {
        be16(self.0.as_ref(), IDENTIFICATION.start)
    }

    /// Returns true if fragmentation is forbidden.
    pub fn dont_fragment(&self) -> bool {
        be16(self.0.as_ref(), FLAGS_FRAGMENT.start) & 0x4000 != 0
    }

    /// Returns true if more fragments follow.
    pub fn more_fragments(&self) -> bool {
        be16(self.0.as_ref(), FLAGS_FRAGMENT.start) & 0x2000 != 0
    }

    /// Position of this fragment in the datagram, in units of 8 bytes.
    pub fn fragment_offset(&self) -> u16 {
        be16(self.0.as_ref(), FLAGS_FRAGMENT.start) & 0x1fff
    }

    /// Time to live.
    pub fn ttl(&self) -> u8 {
        self.0.as_ref()[TTL]
    }

    /// Protocol of the payload.
    pub fn protocol(&self) -> u8 {
        self.0.as_ref()[PROTOCOL]
    }

    /// Sender.
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0.as_ref(), SRC.start))
    }

    /// Receiver.
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0.as_ref(), DST.start))
    }

    /// Options, padding included.
    pub fn options(&self) -> &[u8] {
        &self.0.as_ref()[MIN_HEADER_LEN..self.header_len()]
    }

    /// Returns true if the header's checksum is valid.
    pub fn checksum_is_valid(&self) -> bool {
        Sum::default().with(&self.0.as_ref()[..self.header_len()]).finish() == 0
    }

    /// The payload, as far as the buffer holds it, without link-layer padding.
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        &bytes[self.header_len()..bytes.len().min(usize::from(self.total_len()))]
    }
}

/// An IPv4 header without its lengths and checksum, which `emit` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Differentiated services (6 bits) and congestion notification (2 bits).
    pub dscp_ecn: u8,
    /// Identification of the fragments of one datagram.
    pub identification: u16,
    /// Forbids fragmentation.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Position of this fragment in the datagram, in units of 8 bytes, 0 to 8191.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Sender.
    pub src: Ipv4Addr,
    /// Receiver.
    pub dst: Ipv4Addr,
    /// Options.
    pub options: HeaderOptions,
    /// Length of the payload, in bytes.
    pub payload_len: u16,
}

impl Ipv4Header {
    /// Parses the header at the start of `bytes`. Also returns the payload, as far as the buffer holds it.
    ///
    /// Does not verify the checksum: see [`Ipv4View::checksum_is_valid`].
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = Ipv4View::new(bytes)?;
        let header = Self {
            dscp_ecn: view.dscp_ecn(),
            identification: view.identification(),
            dont_fragment: view.dont_fragment(),
            more_fragments: view.more_fragments(),
            fragment_offset: view.fragment_offset(),
            ttl: view.ttl(),
            protocol: view.protocol(),
            src: view.src(),
            dst: view.dst(),
            options: HeaderOptions::new(view.options())?,
            payload_len: view.total_len() - view.header_len() as u16,
        };
        let end = bytes.len().min(usize::from(view.total_len()));
        Ok((header, &bytes[view.header_len()..end]))
    }

    /// Length of the header with options, in bytes.
    pub fn header_len(&self) -> usize {
        MIN_HEADER_LEN + self.options.as_bytes().len()
    }

    /// Writes the header, with its checksum, to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        let len = self.header_len();
        at_least("IPv4", bytes, len)?;
        let refuse = |field, found, allowed| FormatError::Field { format: "IPv4", field, found, allowed };
        if self.fragment_offset > 0x1fff {
            return Err(refuse("fragment offset", u64::from(self.fragment_offset), "0 to 8191"));
        }
        let total_len = u16::try_from(len + usize::from(self.payload_len)).map_err(|_| {
            refuse("payload length", u64::from(self.payload_len), "at most 65,535 minus the header length")
        })?;
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13 | self.fragment_offset;
        let header = &mut bytes[..len];
        header[VERSION_IHL] = 0x40 | (len / 4) as u8;
        header[DSCP_ECN] = self.dscp_ecn;
        header[TOTAL_LEN].copy_from_slice(&total_len.to_be_bytes());
        header[IDENTIFICATION].copy_from_slice(&self.identification.to_be_bytes());
        header[FLAGS_FRAGMENT].copy_from_slice(&flags.to_be_bytes());
        header[TTL] = self.ttl;
        header[PROTOCOL] = self.protocol;
        header[CHECKSUM].fill(0);
        header[SRC].copy_from_slice(&self.src.octets());
        header[DST].copy_from_slice(&self.dst.octets());
        header[MIN_HEADER_LEN..].copy_from_slice(self.options.as_bytes());
        let checksum = Sum::default().with(header).finish();
        header[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;
    use proptest::prelude::*;

    #[test]
    fn known_bytes_both_ways() {
        // A published example: the checksum of this header is b861.
        let bytes = unhex("45000073 00004000 4011b861 c0a80001 c0a800c7");
        let (header, _) = Ipv4Header::parse(&bytes).unwrap();
        assert_eq!((header.src, header.dst), (Ipv4Addr::new(192, 168, 0, 1), Ipv4Addr::new(192, 168, 0, 199)));
        assert_eq!((header.payload_len, header.ttl, header.protocol), (0x73 - 20, 64, protocol::UDP));
        assert!(header.dont_fragment && Ipv4View::new(&bytes).unwrap().checksum_is_valid());
        let mut out = [0xff; MIN_HEADER_LEN];
        header.emit(&mut out).unwrap();
        assert_eq!(out.as_slice(), bytes);
    }

    #[test]
    fn invalid_headers_are_refused() {
        let good = unhex("45000014 00004000 4011b861 c0a80001 c0a800c7");
        let check = |at: usize, value: u8, want: &str| {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(Ipv4View::new(&bytes).unwrap_err().to_string(), want);
        };
        check(0, 0x65, "IPv4: version is 6, must be 4");
        check(0, 0x44, "IPv4: header length is 16, must be 20 to 60 bytes");
        check(3, 19, "IPv4: total length is 19, must be at least the header length");
        check(0, 0x46, "IPv4: total length is 20, must be at least the header length");
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(
            dscp_ecn: u8, identification: u16, dont_fragment: bool, more_fragments: bool,
            fragment_offset in 0u16..0x2000, ttl: u8, protocol: u8, src: u32, dst: u32, words in 0usize..=10,
            payload_len in 0u16..60_000, byte: u8,
        ) {
            let options = HeaderOptions::new(&vec![byte; words * 4]).unwrap();
            let header = Ipv4Header {
                dscp_ecn, identification, dont_fragment, more_fragments, fragment_offset, ttl, protocol,
                src: src.into(), dst: dst.into(), options, payload_len,
            };
            let mut bytes = [0; 60];
            let len = header.emit(&mut bytes).unwrap();
            prop_assert!(Ipv4View::new(&bytes[..len]).unwrap().checksum_is_valid());
            prop_assert_eq!(Ipv4Header::parse(&bytes[..len]).unwrap().0, header);
        }
    }
}
