//! TCP (RFC 9293).

use crate::checksum::PseudoHeader;
use crate::format::{FormatError, HeaderOptions, at_least, be16, be32};
use crate::ipv4::protocol;
use std::ops::Range;

/// Sender's port.
pub const SRC_PORT: Range<usize> = 0..2;
/// Receiver's port.
pub const DST_PORT: Range<usize> = 2..4;
/// Sequence number of the first payload byte.
pub const SEQ: Range<usize> = 4..8;
/// Acknowledgement: the next sequence number that the sender expects.
pub const ACK: Range<usize> = 8..12;
/// Header length in 32-bit words (4 bits) and reserved bits (4 bits).
pub const DATA_OFFSET: usize = 12;
/// Control bits, see [`flag`].
pub const FLAGS: usize = 13;
/// Receive window of the sender, in bytes.
pub const WINDOW: Range<usize> = 14..16;
/// Checksum over pseudo header, header and payload.
pub const CHECKSUM: Range<usize> = 16..18;
/// End of urgent data.
pub const URGENT: Range<usize> = 18..20;
/// Length of the header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 20;

/// Control bits (RFC 9293, 3.1).
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u8 = 0x20;
    /// Congestion echo.
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u8 = 0x80;
}

/// A checked view of a TCP header, options included.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<T>(T);

impl<T: AsRef<[u8]>> TcpView<T> {
    /// Checks the length and the header length.
    pub fn new(bytes: T) -> Result<Self, FormatError> {
        let b = bytes.as_ref();
        at_least("TCP", b, MIN_HEADER_LEN)?;
        let len = usize::from(b[DATA_OFFSET] >> 4) * 4;
        if len < MIN_HEADER_LEN {
            let (field, allowed) = ("header length", "20 to 60 bytes");
            return Err(FormatError::Field { format: "TCP", field, found: len as u64, allowed });
        }
        at_least("TCP", b, len)?;
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

    /// Sequence number of the first payload byte.
    pub fn seq(&self) -> u32 {
        be32(self.0.as_ref(), SEQ.start)
    }

    /// Acknowledgement: the next sequence number that the sender expects.
    pub fn ack(&self) -> u32 {
        be32(self.0.as_ref(), ACK.start)
    }

    /// Length of the header with options, in bytes.
    pub fn header_len(&self) -> usize {
        usize::from(self.0.as_ref()[DATA_OFFSET] >> 4) * 4
    }

    /// Control bits, see [`flag`].
    pub fn flags(&self) -> u8 {
        self.0.as_ref()[FLAGS]
    }

    /// Receive window of the sender, in bytes.
    pub fn window(&self) -> u16 {
        be16(self.0.as_ref(), WINDOW.start)
    }

    /// End of urgent data.
    pub fn urgent(&self) -> u16 {
        be16(self.0.as_ref(), URGENT.start)
    }

    /// Options, padding included.
    pub fn options(&self) -> &[u8] {
        &self.0.as_ref()[MIN_HEADER_LEN..self.header_len()]
    }

    /// Returns true if the checksum over all bytes of the view is valid.
    pub fn checksum_is_valid(&self, pseudo: PseudoHeader) -> bool {
        pseudo.checksum(protocol::TCP, self.0.as_ref()) == 0
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[self.header_len()..]
    }
}

/// A TCP header without its length and checksum, which `emit` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sender's port.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte.
    pub seq: u32,
    /// Acknowledgement: the next sequence number that the sender expects.
    pub ack: u32,
    /// Control bits, see [`flag`].
    pub flags: u8,
    /// Receive window of the sender, in bytes.
    pub window: u16,
    /// End of urgent data.
    pub urgent: u16,
    /// Options.
    pub options: HeaderOptions,
}

impl TcpHeader {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let view = TcpView::new(bytes)?;
        let header = Self {
            src_port: view.src_port(),
            dst_port: view.dst_port(),
            seq: view.seq(),
            ack: view.ack(),
            flags: view.flags(),
            window: view.window(),
            urgent: view.urgent(),
            options: HeaderOptions::new(view.options())?,
        };
        Ok((header, &bytes[view.header_len()..]))
    }

    /// Length of the header with options, in bytes.
    pub fn header_len(&self) -> usize {
        MIN_HEADER_LEN + self.options.as_bytes().len()
    }

    /// Writes the header, with its checksum, before the payload that `segment` already holds. Returns the header's
    /// length.
    pub fn emit(&self, segment: &mut [u8], pseudo: PseudoHeader) -> Result<usize, FormatError> {
        let len = self.header_len();
        at_least("TCP", segment, len)?;
        segment[SRC_PORT].copy_from_slice(&self.src_port.to_be_bytes());
        segment[DST_PORT].copy_from_slice(&self.dst_port.to_be_bytes());
        segment[SEQ].copy_from_slice(&self.seq.to_be_bytes());
        segment[ACK].copy_from_slice(&self.ack.to_be_bytes());
        segment[DATA_OFFSET] = ((len / 4) as u8) << 4;
        segment[FLAGS] = self.flags;
        segment[WINDOW].copy_from_slice(&self.window.to_be_bytes());
        segment[CHECKSUM].fill(0);
        segment[URGENT].copy_from_slice(&self.urgent.to_be_bytes());
        segment[MIN_HEADER_LEN..len].copy_from_slice(self.options.as_bytes());
        let checksum = pseudo.checksum(protocol::TCP, segment);
        segment[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;
    use proptest::prelude::*;

    const PSEUDO: PseudoHeader =
        PseudoHeader::V4 { src: std::net::Ipv4Addr::new(10, 0, 0, 1), dst: std::net::Ipv4Addr::new(10, 0, 0, 2) };

    #[test]
    fn known_bytes_both_ways() {
        // SYN with a maximum segment size of 1460. The sum by hand: pseudo header 1421, segment 9844 without
        // checksum, together ac65, complement 539a.
        let bytes = unhex("3039 0050 00000001 00000000 60 02 ffff 539a 0000 020405b4");
        let (header, payload) = TcpHeader::parse(&bytes).unwrap();
        assert_eq!((header.src_port, header.dst_port, header.seq, header.flags), (12345, 80, 1, flag::SYN));
        assert_eq!((header.options.as_bytes(), payload.len()), (&[2, 4, 5, 0xb4][..], 0));
        assert!(TcpView::new(&bytes).unwrap().checksum_is_valid(PSEUDO));
        let mut out = [0xff; 24];
        header.emit(&mut out, PSEUDO).unwrap();
        assert_eq!(crate::format::hex(&out), crate::format::hex(&bytes));
    }

    #[test]
    fn a_header_length_below_five_words_is_refused() {
        let mut bytes = [0; 20];
        bytes[DATA_OFFSET] = 0x40;
        let error = TcpView::new(bytes).unwrap_err().to_string();
        assert_eq!(error, "TCP: header length is 16, must be 20 to 60 bytes");
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(
            src_port: u16, dst_port: u16, seq: u32, ack: u32, flags: u8, window: u16, urgent: u16,
            words in 0usize..=10, byte: u8, payload: Vec<u8>,
        ) {
            let options = HeaderOptions::new(&vec![byte; words * 4]).unwrap();
            let header = TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent, options };
            let mut bytes = vec![0; header.header_len()];
            bytes.extend(&payload);
            header.emit(&mut bytes, PSEUDO).unwrap();
            prop_assert!(TcpView::new(&bytes).unwrap().checksum_is_valid(PSEUDO));
            prop_assert_eq!(TcpHeader::parse(&bytes).unwrap(), (header, payload.as_slice()));
        }
    }
}
