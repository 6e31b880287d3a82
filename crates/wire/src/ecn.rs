//! Explicit congestion notification in IPv4 and IPv6 headers (RFC 3168, 5).

use crate::layers::{Layer, Layers};
use crate::{checksum::Sum, ipv4, ipv6};

/// The two bits that carry it: 00 not capable, 01 and 10 capable, 11 congestion experienced.
const ECN_BITS: u8 = 0b11;

/// Where the two bits of a packet are: the byte, and how far they are shifted up in it.
fn place(packet: &[u8]) -> Option<(usize, u32)> {
    let layers = Layers::parse(packet);
    let v4 = layers.offset(Layer::Ipv4).map(|at| (at + ipv4::DSCP_ECN, 0));
    // IPv6's traffic class lies across two bytes; its lowest bits are the high half of the second.
    v4.or_else(|| layers.offset(Layer::Ipv6).map(|at| (at + ipv6::VERSION_CLASS_FLOW.start + 1, 4)))
}

/// Whether a packet may be marked, or is: its sender understands marks.
pub fn is_capable(packet: &[u8]) -> bool {
    place(packet).is_some_and(|(at, shift)| packet[at] >> shift & ECN_BITS != 0)
}

/// Marks a capable packet as having met congestion, and makes its IPv4 checksum fit if it did before. Returns whether
/// the packet carries the mark now.
pub fn mark(packet: &mut [u8]) -> bool {
    let Some((at, shift)) = place(packet).filter(|_| is_capable(packet)) else { return false };
    let before = packet[at];
    packet[at] |= ECN_BITS << shift;
    if shift == 0 && packet[at] != before {
        // RFC 1624, eqn. 3: the new checksum from the old, the old word and the new word, so that a wrong one stays wrong.
        let header = at - ipv4::DSCP_ECN;
        let field = header + ipv4::CHECKSUM.start..header + ipv4::CHECKSUM.end;
        let old = u16::from_be_bytes([packet[field.start], packet[field.start + 1]]);
        let word = |low: u8| u16::from_be_bytes([packet[header], low]);
        let parts = [!old, !word(before), word(packet[at])].map(u16::to_be_bytes);
        let new = parts.iter().fold(Sum::default(), |sum, part| sum.with(part)).finish();
        packet[field].copy_from_slice(&new.to_be_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::traffic::{Generator, TrafficSpec};

    fn packet(spec: &str) -> Vec<u8> {
        let spec = TrafficSpec::parse(spec).unwrap();
        let mut source = Generator::new(spec, crate::pacing::Pacing::TIMES).unwrap();
        source.next().unwrap().unwrap().bytes.to_vec()
    }

    #[test]
    fn only_capable_packets_are_marked_and_checksums_stay_right() {
        let at = crate::eth::HEADER_LEN;
        for (bits, capable) in [(0, false), (1, true), (2, true), (3, true)] {
            let mut frame = packet("udp:size=100,count=1");
            frame[at + 1] |= bits;
            frame[at + 10..at + 12].fill(0);
            let sum = Sum::default().with(&frame[at..at + 20]).finish();
            frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            assert_eq!((is_capable(&frame), mark(&mut frame)), (capable, capable));
            assert_eq!(frame[at + 1], if capable { 3 } else { 0 });
            assert_eq!(Sum::default().with(&frame[at..at + 20]).finish(), 0, "the checksum fits");
        }
    }

    #[test]
    fn ipv6_has_no_checksum_and_other_packets_no_bits() {
        let at = crate::eth::HEADER_LEN;
        let mut frame = packet("udp:size=100,count=1,src=::1,dst=::2");
        assert!(!mark(&mut frame));
        frame[at + 1] |= 0x20;
        let mut want = frame.clone();
        want[at + 1] |= 0x30;
        assert!(mark(&mut frame));
        assert_eq!(frame, want);
        for len in 0..40 {
            assert!(!mark(&mut vec![0x45; len]), "{len} bytes of nothing");
        }
    }
}
