//! TCP acknowledgements from a host that receives data and sends none.

use super::datagrams::Station;
use super::traffic::TrafficError;
use wire::eth::{self, EthHeader, MIN_PACKET_LEN, ether_type};
use wire::format::{FormatError, HeaderOptions};
use wire::ipv4::{self, Ipv4Header, protocol};
use wire::tcp::{self, TcpHeader};

/// One acknowledgement for every `every` frames: the delayed acknowledgements of RFC 9293, 3.8.6.3, which requires
/// one for at least every second full segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgements {
    /// Frames for each acknowledgement.
    pub every: u32,
    /// The host.
    pub from: Station,
    /// The station that is acknowledged.
    pub to: Station,
}

impl Acknowledgements {
    pub(super) fn check(&self) -> Result<(), TrafficError> {
        if self.every == 0 { Err(TrafficError::NoFrames) } else { Ok(()) }
    }

    /// Acknowledgements due after `received` frames.
    pub fn due(&self, received: u64) -> u64 {
        received / u64::from(self.every)
    }

    /// Acknowledgement number `id`. Its acknowledgement field counts frames, because the acknowledged data may be
    /// anything.
    pub fn frame(&self, id: u64) -> Vec<u8> {
        let mut bytes = vec![0; MIN_PACKET_LEN];
        self.write(id, &mut bytes).expect("a frame has room for these headers");
        bytes
    }

    /// Returns true if `bytes` are TCP over IPv4.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        bytes.len() == MIN_PACKET_LEN
            && bytes[eth::ETHER_TYPE] == ether_type::IPV4.to_be_bytes()
            && bytes[eth::HEADER_LEN + ipv4::PROTOCOL] == protocol::TCP
    }

    /// The acknowledgement number in `bytes`, extended from 32 bits to the value closest to `next`.
    pub(super) fn read_id(&self, bytes: &[u8], next: u64) -> Option<u64> {
        let at = eth::HEADER_LEN + ipv4::MIN_HEADER_LEN;
        let field = Acknowledgements::is_one(bytes).then(|| &bytes[at + tcp::ACK.start..at + tcp::ACK.end])?;
        let ahead = crate::bus::word(field).wrapping_sub(next as u32) as i32;
        next.checked_add_signed(ahead.into())
    }

    fn write(&self, id: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
        let ip = Ipv4Header {
            dscp_ecn: 0,
            identification: id as u16,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::TCP,
            src: self.from.ip,
            dst: self.to.ip,
            options: HeaderOptions::NONE,
            payload_len: tcp::MIN_HEADER_LEN as u16,
        };
        let tcp = TcpHeader {
            src_port: self.from.port,
            dst_port: self.to.port,
            seq: 0,
            ack: id as u32,
            flags: tcp::flag::ACK,
            window: u16::MAX,
            urgent: 0,
            options: HeaderOptions::NONE,
        };
        EthHeader { dst: self.to.mac, src: self.from.mac, ether_type: ether_type::IPV4 }.emit(bytes)?;
        ip.emit(&mut bytes[eth::HEADER_LEN..])?;
        let segment = eth::HEADER_LEN + ipv4::MIN_HEADER_LEN;
        tcp.emit(&mut bytes[segment..segment + tcp::MIN_HEADER_LEN], (&ip).into())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::eth::Mac;

    #[test]
    fn numbers_are_found_again_beyond_32_bits() {
        let station = |last| Station { mac: Mac([2, 0, 0, 0, 0, last]), ip: [10, 0, 0, last].into(), port: 9 };
        let row = Acknowledgements { every: 2, from: station(1), to: station(2) };
        for (id, next) in [(0, 0), (5, 2), (2, 5), ((1 << 32) + 1, (1 << 32) - 3), ((1 << 32) - 2, 1 << 32)] {
            assert_eq!(row.read_id(&row.frame(id), next), Some(id));
        }
        assert_eq!(row.read_id(&row.frame(u64::MAX), 0), None);
        assert_eq!((row.due(3), row.due(4)), (1, 2));
        let bytes = row.frame(7);
        let (_, rest) = Ipv4Header::parse(&bytes[14..]).expect("IPv4");
        assert_eq!(TcpHeader::parse(rest).map(|(header, _)| header.ack), Ok(7));
    }
}
