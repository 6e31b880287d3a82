//! RoCE version 2: InfiniBand transport in UDP (InfiniBand Architecture Specification, volume 1, chapter 9 and annex A17).

use crate::eth;
use crate::format::{FormatError, at_least, be16};
use crate::{ipv4, udp};

/// UDP port of RoCE version 2.
pub const PORT: u16 = 4791;
/// Length of the base transport header, in bytes.
pub const BTH_LEN: usize = 12;
/// Length of the RDMA extended transport header, in bytes.
pub const RETH_LEN: usize = 16;
/// Length of the acknowledgment extended transport header, in bytes.
pub const AETH_LEN: usize = 4;
/// Length of the invariant CRC, in bytes.
pub const ICRC_LEN: usize = 4;

/// Operation codes of a reliable connection (table 38).
pub mod opcode {
    /// RDMA write, first packet of several; has a RETH.
    pub const WRITE_FIRST: u8 = 0x06;
    /// RDMA write, packet between first and last.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// RDMA write, last packet.
    pub const WRITE_LAST: u8 = 0x08;
    /// RDMA write in one packet; has a RETH.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// RDMA read request; has a RETH.
    pub const READ_REQUEST: u8 = 0x0c;
    /// RDMA read response, first packet of several; has an AETH.
    pub const READ_RESPONSE_FIRST: u8 = 0x0d;
    /// RDMA read response, packet between first and last.
    pub const READ_RESPONSE_MIDDLE: u8 = 0x0e;
    /// RDMA read response, last packet; has an AETH.
    pub const READ_RESPONSE_LAST: u8 = 0x0f;
    /// RDMA read response in one packet; has an AETH.
    pub const READ_RESPONSE_ONLY: u8 = 0x10;
    /// Acknowledgment; has an AETH.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Congestion notification (annex A17.9.3); has 16 reserved bytes.
    pub const CONGESTION: u8 = 0x81;
}

/// Values of the syndrome of an AETH (table 44): a positive acknowledgment without credits, and a missing packet.
pub mod syndrome {
    /// All packets up to the packet sequence number have arrived.
    pub const ACK: u8 = 0x1f;
    /// Packet sequence error: the packet with the sequence number is missing.
    pub const SEQUENCE_ERROR: u8 = 0x60;
}

/// Base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// Operation.
    pub opcode: u8,
    /// Bytes of padding after the payload, 0 to 3.
    pub pad: u8,
    /// Partition.
    pub partition: u16,
    /// Destination queue pair, 24 bits.
    pub queue_pair: u32,
    /// Requests an acknowledgment.
    pub ack_request: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        at_least("BTH", bytes, BTH_LEN)?;
        let version = bytes[1] & 0xf;
        if version != 0 {
            let found = u64::from(version);
            return Err(FormatError::Field { format: "BTH", field: "transport header version", found, allowed: "0" });
        }
        let header = Bth {
            opcode: bytes[0],
            pad: bytes[1] >> 4 & 3,
            partition: be16(bytes, 2),
            queue_pair: be24(bytes, 5),
            ack_request: bytes[8] >> 7 == 1,
            psn: be24(bytes, 9),
        };
        Ok((header, &bytes[BTH_LEN..]))
    }

    /// Writes the header to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("BTH", bytes, BTH_LEN)?;
        for (field, found, allowed, most) in [
            ("pad count", u32::from(self.pad), "0 to 3", 3),
            ("queue pair", self.queue_pair, "below 2^24", 0xff_ffff),
            ("packet sequence number", self.psn, "below 2^24", 0xff_ffff),
        ] {
            if found > most {
                return Err(FormatError::Field { format: "BTH", field, found: found.into(), allowed });
            }
        }
        bytes[0] = self.opcode;
        bytes[1] = self.pad << 4;
        bytes[2..4].copy_from_slice(&self.partition.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.queue_pair.to_be_bytes());
        bytes[8..12].copy_from_slice(&(u32::from(self.ack_request) << 31 | self.psn).to_be_bytes());
        Ok(BTH_LEN)
    }
}

fn be24(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

/// RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Address at the receiver.
    pub address: u64,
    /// Key of the memory.
    pub key: u32,
    /// Length of the whole message, in bytes.
    pub len: u32,
}

impl Reth {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        at_least("RETH", bytes, RETH_LEN)?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let address = u64::from(word(0)) << 32 | u64::from(word(4));
        Ok((Reth { address, key: word(8), len: word(12) }, &bytes[RETH_LEN..]))
    }

    /// Writes the header to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("RETH", bytes, RETH_LEN)?;
        bytes[..8].copy_from_slice(&self.address.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.key.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.len.to_be_bytes());
        Ok(RETH_LEN)
    }
}

/// Acknowledgment extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// Kind of acknowledgment.
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Parses the header at the start of `bytes`. Also returns the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        at_least("AETH", bytes, AETH_LEN)?;
        Ok((Aeth { syndrome: bytes[0], msn: be24(bytes, 1) }, &bytes[AETH_LEN..]))
    }

    /// Writes the header to the start of `bytes`. Returns its length.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        at_least("AETH", bytes, AETH_LEN)?;
        if self.msn > 0xff_ffff {
            let found = u64::from(self.msn);
            return Err(FormatError::Field {
                format: "AETH",
                field: "message sequence number",
                found,
                allowed: "below 2^24",
            });
        }
        bytes[..4].copy_from_slice(&(u32::from(self.syndrome) << 24 | self.msn).to_be_bytes());
        Ok(AETH_LEN)
    }
}

/// The CRC of Ethernet, bit-reversed polynomial 0x04c11db7, for eight bytes at a time: `TABLES[k][b]` is the effect of byte `b` with `k`
/// bytes behind it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

fn crc(mut crc: u32, bytes: &[u8]) -> u32 {
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let low = crc ^ u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        crc = (0..4).fold(0, |sum, i| sum ^ TABLES[7 - i][(low >> (8 * i) & 0xff) as usize]);
        crc = (4..8).fold(crc, |sum, i| sum ^ TABLES[7 - i][usize::from(chunk[i])]);
    }
    chunks.remainder().iter().fold(crc, |crc, &byte| crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

/// Invariant CRC of a packet that begins with an IPv4 header without options and ends with payload and padding. Fields that
/// routers change count as ones (annex A17.3.3).
fn invariant_crc(packet: &[u8]) -> u32 {
    // The CRC begins with an InfiniBand header of 8 bytes, which RoCE packets do not have. It counts as ones.
    let mut head = [0xff; 8 + ipv4::MIN_HEADER_LEN + udp::HEADER_LEN + BTH_LEN];
    let len = head.len() - 8;
    head[8..].copy_from_slice(&packet[..len]);
    head[8 + ipv4::DSCP_ECN] = 0xff;
    head[8 + ipv4::TTL] = 0xff;
    head[8 + ipv4::CHECKSUM.start..8 + ipv4::CHECKSUM.end].fill(0xff);
    let at_udp = 8 + ipv4::MIN_HEADER_LEN;
    head[at_udp + udp::CHECKSUM.start..at_udp + udp::CHECKSUM.end].fill(0xff);
    head[at_udp + udp::HEADER_LEN + 4] = 0xff; // Congestion bits of the BTH.
    !crc(crc(!0, &head), &packet[len..])
}

/// First byte of the base transport header in an Ethernet packet with an IPv4 header without options.
pub const BTH_AT: usize = eth::HEADER_LEN + ipv4::MIN_HEADER_LEN + udp::HEADER_LEN;

/// Writes the invariant CRC at the end of an Ethernet packet, whose last 4 bytes are for it.
pub fn emit_icrc(packet: &mut [u8]) -> Result<(), FormatError> {
    at_least("RoCE", packet, BTH_AT + BTH_LEN + ICRC_LEN)?;
    let end = packet.len() - ICRC_LEN;
    let crc = invariant_crc(&packet[eth::HEADER_LEN..end]);
    packet[end..].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// Returns true if the invariant CRC at the end of an Ethernet packet is valid.
pub fn icrc_is_valid(packet: &[u8]) -> bool {
    packet.len() >= BTH_AT + BTH_LEN + ICRC_LEN && {
        let end = packet.len() - ICRC_LEN;
        invariant_crc(&packet[eth::HEADER_LEN..end]).to_le_bytes() == packet[end..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_ethernet() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(!crc(!0, b"123456789"), 0xcbf4_3926);
        let bytes: Vec<u8> = (0..100).map(|i| (i * 37) as u8).collect();
        for split in 0..100 {
            assert_eq!(crc(crc(!0, &bytes[..split]), &bytes[split..]), crc(!0, &bytes));
        }
    }

    #[test]
    fn headers_both_ways() {
        let bth = Bth {
            opcode: opcode::WRITE_FIRST,
            pad: 2,
            partition: 0xffff,
            queue_pair: 0x01_0203,
            ack_request: true,
            psn: 0x04_0506,
        };
        let mut bytes = [0; BTH_LEN];
        bth.emit(&mut bytes).unwrap();
        assert_eq!(bytes, [0x06, 0x20, 0xff, 0xff, 0, 1, 2, 3, 0x80, 4, 5, 6]);
        assert_eq!(Bth::parse(&bytes), Ok((bth, &[][..])));
        let reth = Reth { address: 0x0102_0304_0506_0708, key: 9, len: 10 };
        let mut bytes = [0; RETH_LEN];
        reth.emit(&mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9, 0, 0, 0, 10]);
        assert_eq!(Reth::parse(&bytes), Ok((reth, &[][..])));
        let aeth = Aeth { syndrome: syndrome::ACK, msn: 7 };
        let mut bytes = [0; AETH_LEN];
        aeth.emit(&mut bytes).unwrap();
        assert_eq!(bytes, [0x1f, 0, 0, 7]);
        assert_eq!(Aeth::parse(&bytes), Ok((aeth, &[][..])));
        for len in 0..12 {
            assert!(Bth::parse(&[0; 11][..len.min(11)]).is_err());
        }
        assert!(Bth { psn: 1 << 24, ..bth }.emit(&mut [0; 12]).is_err());
    }

    /// A packet from scapy 2.6's RoCE layer, an independent implementation.
    #[test]
    fn the_invariant_crc_is_that_of_a_known_packet() {
        let hex = "02000a00000202000a00000108004502004c000040004011269d0a0000010a000002c00112b7003800000a30ffff0001020380000077\
                   0000000000000005000000090000000d48656c6c6f2c20776f726c6421000000b53ff0a5";
        let packet: Vec<u8> =
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
        assert!(icrc_is_valid(&packet));
        let mut own = packet.clone();
        own[86..].fill(0);
        assert!(!icrc_is_valid(&own));
        emit_icrc(&mut own).unwrap();
        assert_eq!(own, packet);
        // Routers may change these bytes, and no others.
        for at in eth::HEADER_LEN..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            let is_variant = [15, 22, 24, 25, 40, 41, 46].contains(&at);
            assert_eq!(icrc_is_valid(&changed), is_variant, "byte {at}");
        }
    }
}
