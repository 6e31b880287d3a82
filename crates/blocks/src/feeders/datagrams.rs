//! UDP datagrams whose content follows from their frame number.

use super::traffic::TrafficError;
use std::net::Ipv4Addr;
use wire::eth::{self, EthHeader, Mac, ether_type};
use wire::ipv4::{self, Ipv4Header, protocol};
use wire::udp::{self, UdpHeader};

/// Header bytes before a datagram's content: Ethernet, IPv4 without options, UDP.
const HEADERS: usize = eth::HEADER_LEN + ipv4::MIN_HEADER_LEN + udp::HEADER_LEN;
/// Bytes of the content that hold the frame number.
const ID_BYTES: usize = 8;

/// A sender or receiver of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    /// Ethernet address.
    pub mac: Mac,
    /// IPv4 address.
    pub ip: Ipv4Addr,
    /// UDP port.
    pub port: u16,
}

/// A sequence of UDP datagrams over IPv4; each contains its number and bytes derived from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagrams {
    /// Number of datagrams; `None` for no end.
    pub count: Option<u64>,
    /// Content bytes, without UDP header, of successive datagrams; the list repeats.
    pub datagram_bytes: Vec<u32>,
    /// The sender.
    pub from: Station,
    /// The receiver.
    pub to: Station,
}

impl Datagrams {
    /// Checks the sizes; a frame may have `most` bytes without check sequence.
    pub(super) fn check(&self, most: usize) -> Result<(), TrafficError> {
        let (least, most) = (eth::MIN_PACKET_LEN, most.min(usize::from(u16::MAX)));
        let sizes = || self.datagram_bytes.iter().map(|&bytes| HEADERS + bytes as usize);
        match sizes().find(|bytes| !(least..=most).contains(bytes)) {
            _ if self.datagram_bytes.is_empty() => Err(TrafficError::NoSizes),
            Some(bytes) => Err(TrafficError::Datagram { bytes, least, most }),
            None => Ok(()),
        }
    }

    /// Frame number `id`, or `None` beyond the last.
    pub fn frame(&self, id: u64) -> Option<Vec<u8>> {
        if self.count.is_some_and(|count| id >= count) {
            return None;
        }
        let size = self.datagram_bytes[(id % self.datagram_bytes.len() as u64) as usize] as usize;
        let mut bytes = vec![0; HEADERS + size];
        fill(id, &mut bytes[HEADERS..]);
        self.write_headers(id, &mut bytes).expect("sizes that passed the check have headers");
        Some(bytes)
    }

    /// The frame number in the payload, or `None` if the frame is too short.
    pub(super) fn read_id(&self, bytes: &[u8]) -> Option<u64> {
        let id = bytes.get(HEADERS..HEADERS + ID_BYTES)?;
        Some(u64::from_be_bytes(id.try_into().expect("a slice of eight bytes")))
    }

    fn write_headers(&self, id: u64, bytes: &mut [u8]) -> Result<(), wire::format::FormatError> {
        let payload_len = (bytes.len() - HEADERS) as u16;
        let ip = Ipv4Header {
            dscp_ecn: 0,
            identification: id as u16,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::UDP,
            src: self.from.ip,
            dst: self.to.ip,
            options: wire::format::HeaderOptions::NONE,
            payload_len: payload_len + udp::HEADER_LEN as u16,
        };
        let udp = UdpHeader { src_port: self.from.port, dst_port: self.to.port, payload_len };
        EthHeader { dst: self.to.mac, src: self.from.mac, ether_type: ether_type::IPV4 }.emit(bytes)?;
        ip.emit(&mut bytes[eth::HEADER_LEN..])?;
        udp.emit(&mut bytes[eth::HEADER_LEN + ipv4::MIN_HEADER_LEN..], (&ip).into())?;
        Ok(())
    }
}

/// Writes the number, then pseudo-random bytes that differ between numbers (a Weyl sequence, mixed by multiplication).
fn fill(id: u64, content: &mut [u8]) {
    let (number, rest) = content.split_at_mut(ID_BYTES);
    number.copy_from_slice(&id.to_be_bytes());
    let mut state = id;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (state ^ state >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93).to_le_bytes()
    };
    let (words, last) = rest.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = next());
    last.copy_from_slice(&next()[..last.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn datagrams(sizes: &[u32]) -> Datagrams {
        let station = |last| Station { mac: Mac([2, 0, 0, 0, 0, last]), ip: [10, 0, 0, last].into(), port: 9 };
        Datagrams { count: Some(5), datagram_bytes: sizes.to_vec(), from: station(1), to: station(2) }
    }

    #[test]
    fn frames_are_valid_datagrams_with_their_number() {
        let row = datagrams(&[18, 1472]);
        let bytes = row.frame(4).expect("there are five");
        assert_eq!((bytes.len(), row.frame(3).map(|bytes| bytes.len()), row.frame(5)), (60, Some(1514), None));
        let (ip, rest) = Ipv4Header::parse(&bytes[14..]).expect("IPv4");
        assert!(ipv4::Ipv4View::new(&bytes[14..]).expect("IPv4").checksum_is_valid());
        assert!(udp::UdpView::new(rest).expect("UDP").checksum_is_valid((&ip).into()));
        assert_eq!(row.read_id(&bytes), Some(4));
        assert_ne!(row.frame(3).map(|b| b[50..60].to_vec()), row.frame(1).map(|b| b[50..60].to_vec()));
    }

    #[test]
    fn invalid_sizes_are_refused() {
        let error = |sizes: &[u32]| datagrams(sizes).check(1514).expect_err("it is wrong").to_string();
        expect!["the size of datagrams is 59, must be 60 to 1514 bytes, without check sequence"]
            .assert_eq(&error(&[18, 17]));
        expect!["the size of datagrams is 1515, must be 60 to 1514 bytes, without check sequence"]
            .assert_eq(&error(&[1473]));
        expect!["datagrams have no size, must have at least one"].assert_eq(&error(&[]));
    }
}
