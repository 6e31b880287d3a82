//! Offloads of sent frames: the work that the driver leaves to the card.

use crate::tengig::map;
use wire::checksum::Sum;
use wire::eth;

/// A frame as posted to the card.
pub(super) struct Outgoing {
    /// The frame without the parts that the card inserts.
    pub bytes: Vec<u8>,
    /// Flags of its descriptors.
    pub flags: u32,
    /// Offset of the checksum that the card inserts.
    pub sum_at: u16,
    /// The VLAN tag that the card inserts.
    pub vlan: u16,
}

const IP: usize = eth::HEADER_LEN;
const UDP: usize = IP + 20;
const UDP_SUM: usize = UDP + 6;
const TAG_BYTES: usize = 4;

/// Removes the VLAN tag and, with `leaves_sum`, the checksum of a UDP datagram whose headers are in the first `header_bytes`.
pub(super) fn prepare(frame: &[u8], header_bytes: usize, leaves_sum: bool) -> Outgoing {
    let mut outgoing = Outgoing { bytes: frame.to_vec(), flags: 0, sum_at: 0, vlan: 0 };
    let bytes = &mut outgoing.bytes;
    if bytes[12..14] == [0x81, 0x00] && bytes.len() - TAG_BYTES > header_bytes {
        outgoing.flags |= map::FLAG_VLAN;
        outgoing.vlan = u16::from_be_bytes([bytes[14], bytes[15]]);
        bytes.drain(12..12 + TAG_BYTES);
    }
    if leaves_sum && header_bytes.is_multiple_of(2) && header_bytes >= UDP + 8 && has_udp_sum(bytes) {
        outgoing.flags |= map::FLAG_SUM;
        outgoing.sum_at = UDP_SUM as u16;
        seed(bytes);
    }
    outgoing
}

/// Returns true for a whole UDP datagram over IPv4 without options, with a correct checksum.
fn has_udp_sum(bytes: &[u8]) -> bool {
    let is_fragment = bytes[20] & 0x3f != 0 || bytes[21] != 0;
    if bytes[12..15] != [0x08, 0x00, 0x45] || is_fragment || bytes[23] != 17 {
        return false;
    }
    let end = IP + usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let has_sum = bytes[UDP_SUM..UDP_SUM + 2] != [0, 0];
    end == bytes.len()
        && usize::from(u16::from_be_bytes([bytes[UDP + 4], bytes[UDP + 5]])) == end - UDP
        && Sum::default().with(&bytes[IP..UDP]).finish() == 0
        && has_sum
        && pseudo(bytes).with(&bytes[UDP..]).finish() == 0
}

/// Sum of the pseudo header.
fn pseudo(bytes: &[u8]) -> Sum {
    Sum::default().with(&bytes[26..34]).with(&[0, 17]).with(&bytes[UDP + 4..UDP + 6])
}

/// Seeds the checksum field so that the sum of the whole frame equals the sum of datagram and pseudo header. The seed is the
/// pseudo header's sum minus the Ethernet header's sum; the sum of an IPv4 header is 0.
fn seed(bytes: &mut [u8]) {
    let ethernet = Sum::default().with(&bytes[..IP]).finish();
    let field = !pseudo(bytes).with(&ethernet.to_be_bytes()).finish();
    bytes[UDP_SUM..UDP_SUM + 2].copy_from_slice(&field.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocks::feeders::{Datagrams, Station};
    use wire::eth::Mac;

    fn datagram(size: u32) -> Vec<u8> {
        let station = |last| Station { mac: Mac([2, 0, 0, 0, 0, last]), ip: [10, 0, 0, last].into(), port: 9 };
        let row = Datagrams { count: None, datagram_bytes: vec![size], from: station(1), to: station(2) };
        row.frame(7).expect("the source must not end")
    }

    #[test]
    fn the_complement_of_the_seeded_sum_is_the_checksum() {
        for size in [18, 19, 1472] {
            let frame = datagram(size);
            let left = prepare(&frame, 42, true);
            assert_eq!((left.flags, left.sum_at), (map::FLAG_SUM, 40));
            let sum = Sum::default().with(&left.bytes).finish();
            assert_eq!(sum.to_be_bytes(), frame[40..42], "{size} bytes");
        }
    }

    #[test]
    fn other_frames_stay_unchanged() {
        let mut wrong = datagram(18);
        wrong[41] ^= 1;
        for (frame, header_bytes, leaves_sum) in
            [(wrong, 42, true), (datagram(18), 41, true), (datagram(18), 40, true), (datagram(18), 42, false)]
        {
            let left = prepare(&frame, header_bytes, leaves_sum);
            assert_eq!((left.flags, left.bytes), (0, frame));
        }
    }

    #[test]
    fn the_card_inserts_tags() {
        let mut frame = datagram(40);
        frame.splice(12..12, [0x81, 0x00, 0x20, 0x07]);
        let left = prepare(&frame, 42, true);
        assert_eq!((left.flags, left.vlan), (map::FLAG_VLAN | map::FLAG_SUM, 0x2007));
        assert_eq!(left.bytes.len() + 4, frame.len());
    }
}
