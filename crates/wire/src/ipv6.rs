//! IPv6 (RFC 8200) and its extension headers.

use crate::format::{FormatError, array, at_least, be16, be32};
use std::net::Ipv6Addr;
use std::ops::Range;

/// Version (4 bits), traffic class (8 bits), flow label (20 bits).
pub const VERSION_CLASS_FLOW: Range<usize> = 0..4;
/// Length after the fixed header, including extension headers, in bytes.
pub const PAYLOAD_LEN: Range<usize> = 4..6;
/// Protocol of the next header.
pub const NEXT_HEADER: usize = 6;
/// Remaining hops.
pub const HOP_LIMIT: usize = 7;
/// Sender.
pub const SRC: Range<usize> = 8..24;
/// Receiver.
pub const DST: Range<usize> = 24..40;
/// Length of the fixed header, in bytes.
pub const HEADER_LEN: usize = 40;

/// Next-header values of extension headers (IANA, IPv6 Extension Header Types).
pub mod extension {
    /// Hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// Routing.
    pub const ROUTING: u8 = 43;
    /// Fragment.
    pub const FRAGMENT: u8 = 44;
    /// Authentication (RFC 4302).
    pub const AUTHENTICATION: u8 = 51;
    /// Destination options.
    pub const DESTINATION: u8 = 60;
    /// Mobility (RFC 6275).
    pub const MOBILITY: u8 = 135;
    /// Host identity (RFC 7401).
    pub const HOST_IDENTITY: u8 = 139;
    /// Shim6 (RFC 5533).
    pub const SHIM6: u8 = 140;
}

/// A checked view of an IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<T>(T);

impl<T: AsRef<[u8]>> Ipv6View<T> {
    /// Checks the length and the version. The payload may be truncated.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        let b = bytes.as_ref();
        at_least("IPv6", b, HEADER_LEN)?;
        let version = b[0] >> 4;
        if version != 6 {
            let found = u64::from(version);
            return Err(FormatError::Field { format: "IPv6", field: "version", found, allowed: "6" });
        }
        Ok(Self(bytes))
    }

    /// Traffic class.
    pub fn traffic_class(&self) -> u8 {
        (be16(self.0.as_ref(), 0) >> 4) as u8
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        be32(self.0.as_ref(), 0) & 0xf_ffff
    }

    /// Length after the fixed header, in bytes.
    pub fn payload_len(&self) -> u16 {
        be16(self.0.as_ref(), PAYLOAD_LEN.start)
    }

    /// Protocol of the next header.
    pub fn next_header(&self) -> u8 {
        self.0.as_ref()[NEXT_HEADER]
    }

    /// Remaining hops.
    pub fn hop_limit(&self) -> u8 {
        self.0.as_ref()[HOP_LIMIT]
    }

    /// Sender.
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.0.as_ref(), SRC.start))
    }

    /// Receiver.
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.0.as_ref(), DST.start))
    }

    /// The bytes after the header, as far as the buffer holds them, without link-layer padding.
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        &bytes[HEADER_LEN..bytes.len().min(HEADER_LEN + usize::from(self.payload_len()))]
    }
}

/// The upper-layer protocol after the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Protocol after the extension headers.
    pub protocol: u8,
    /// Its offset from the end of the fixed header, in bytes.
    pub offset: usize,
    /// True for a fragment other than the first. Its bytes do not start with a header.
    pub is_later_fragment: bool,
}

/// Skips the extension headers in `payload`. The first one has the type `next_header`.
///
/// Returns `None` if a header is truncated. Stops at an encrypted payload (ESP).
pub fn upper_layer(mut next_header: u8, payload: &[u8]) -> Option<Upper> {
    use extension::*;
    let mut offset = 0;
    loop {
        // Each iteration advances by at least 8 bytes, so the loop ends with the payload.
        let len_word = || payload.get(offset + 1).copied().map(usize::from);
        let len = match next_header {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6 => (len_word()? + 1) * 8,
            AUTHENTICATION => (len_word()? + 2) * 4, // RFC 4302, 2.2: the number of words minus 2.
            FRAGMENT => 8,
            protocol => return Some(Upper { protocol, offset, is_later_fragment: false }),
        };
        let header = payload.get(offset..offset + len)?;
        let is_fragment = next_header == FRAGMENT;
        next_header = header[0];
        offset += len;
        if is_fragment && be16(header, 2) >> 3 != 0 {
            return Some(Upper { protocol: next_header, offset, is_later_fragment: true });
        }
    }
}

/// An IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Length after the header, in bytes.
    pub payload_len: u16,
    /// Protocol of the next header.
    pub next_header: u8,
    /// Remaining hops.
    pub hop_limit: u8,
    /// Sender.
    pub src: Ipv6Addr,
    /// Receiver.
    pub dst: Ipv6Addr,
}

impl Ipv6Header {
    /// Parses the header at the start of `bytes`. Also returns the rest, as far as the buffer holds it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = Ipv6View::new(bytes)?;
        let header = Self {
            traffic_class: view.traffic_class(),
            flow_label: view.flow_label(),
            payload_len: view.payload_len(),
            next_header: view.next_header(),
            hop_limit: view.hop_limit(),
            src: view.src(),
            dst: view.dst(),
        };
        let end = bytes.len().min(HEADER_LEN + usize::from(view.payload_len()));
        Ok((header, &bytes[HEADER_LEN..end]))
    }

    /// Writes the header to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("IPv6", bytes, HEADER_LEN)?;
        if self.flow_label > 0xf_ffff {
            let found = u64::from(self.flow_label);
            return Err(FormatError::Field { format: "IPv6", field: "flow label", found, allowed: "0 to 1048575" });
        }
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        bytes[VERSION_CLASS_FLOW].copy_from_slice(&first.to_be_bytes());
        bytes[PAYLOAD_LEN].copy_from_slice(&self.payload_len.to_be_bytes());
        bytes[NEXT_HEADER] = self.next_header;
        bytes[HOP_LIMIT] = self.hop_limit;
        bytes[SRC].copy_from_slice(&self.src.octets());
        bytes[DST].copy_from_slice(&self.dst.octets());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;
    use expect_test::{Expect, expect};

    #[test]
    fn known_bytes_both_ways() {
        let bytes = unhex(
            "6ab12345 0008 11 40
             20010db8000000000000000000000001 20010db8000000000000000000000002",
        );
        let (header, _) = Ipv6Header::parse(&bytes).unwrap();
        assert_eq!((header.traffic_class, header.flow_label), (0xab, 0x12345));
        assert_eq!((header.payload_len, header.next_header, header.hop_limit), (8, 17, 64));
        assert_eq!(header.dst, "2001:db8::2".parse::<Ipv6Addr>().unwrap());
        let mut out = [0; HEADER_LEN];
        header.emit(&mut out).unwrap();
        assert_eq!(out.as_slice(), bytes);
    }

    fn check(next_header: u8, payload: &str, want: Expect) {
        let text = match upper_layer(next_header, &unhex(payload)) {
            Some(u) => format!("{} at {}, later fragment: {}", u.protocol, u.offset, u.is_later_fragment),
            None => "cut".into(),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn extension_headers_are_skipped() {
        check(17, "", expect!["17 at 0, later fragment: false"]);
        check(0, "3c00000000000000 1101000000000000 0000000000000000", expect!["17 at 24, later fragment: false"]);
        check(51, "0604000000000000 0000000000000000 0000000000000000", expect!["6 at 24, later fragment: false"]);
        check(44, "1100000000000000", expect!["17 at 8, later fragment: false"]);
        check(44, "1100000800000000", expect!["17 at 8, later fragment: true"]);
        check(0, "11ff000000000000", expect!["cut"]);
        check(43, "11", expect!["cut"]);
    }
}
