//! Explicit congestion notification in IPv4 and IPv6 headers (RFC 3168, 5).

use crate::layers::{Layer, Layers};
use crate::{checksum::Sum, ipv4, ipv6};

/// The ECN bits: 00 not capable, 01 and 10 capable, 11 congestion experienced.
const ECN_BITS: u8 = 0b11;

/// Byte offset and bit position of the ECN bits.
fn ecn_position(packet: &[u8]) -> Option<(usize, u32)> {
    let layers = Layers::parse(packet);
    let v4 = layers.offset(Layer::Ipv4).map(|at| (at + ipv4::DSCP_ECN, 0));
    // IPv6's traffic class spans two bytes; its lowest bits are in the upper half of the second byte.
    v4.or_else(|| layers.offset(Layer::Ipv6).map(|at| (at + ipv6::VERSION_CLASS_FLOW.start + 1, 4)))
}

/// Returns true if the packet may be marked, or is marked.
pub fn is_capable(packet: &[u8]) -> bool {
    ecn_position(packet).is_some_and(|(at, shift)| packet[at] >> shift & ECN_BITS != 0)
}

/// Sets "congestion experienced" in a capable packet and updates its IPv4 checksum. Returns true if the packet now
/// carries the mark.
pub fn mark(packet: &mut [u8]) -> bool {
    let Some((at, shift)) = ecn_position(packet).filter(|_| is_capable(packet)) else { return false };
    let before = packet[at];
    packet[at] |= ECN_BITS << shift;
    if shift == 0 && packet[at] != before {
        // RFC 1624, eqn. 3, computes the new checksum from the old one and the changed word. A wrong checksum stays
        // wrong.
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
    fn only_capable_packets_are_marked_and_checksums_stay_valid() {
        let at = crate::eth::HEADER_LEN;
        for (bits, capable) in [(0, false), (1, true), (2, true), (3, true)] {
            let mut frame = packet("udp:size=100,count=1");
            frame[at + 1] |= bits;
            frame[at + 10..at + 12].fill(0);
            let sum = Sum::default().with(&frame[at..at + 20]).finish();
            frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            assert_eq!((is_capable(&frame), mark(&mut frame)), (capable, capable));
            assert_eq!(frame[at + 1], if capable { 3 } else { 0 });
            assert_eq!(Sum::default().with(&frame[at..at + 20]).finish(), 0, "the checksum is valid");
        }
    }

    #[test]
    fn ipv6_is_marked_and_other_packets_are_not() {
        let at = crate::eth::HEADER_LEN;
        let mut frame = packet("udp:size=100,count=1,src=::1,dst=::2");
        assert!(!mark(&mut frame));
        frame[at + 1] |= 0x20;
        let mut want = frame.clone();
        want[at + 1] |= 0x30;
        assert!(mark(&mut frame));
        assert_eq!(frame, want);
        for len in 0..40 {
            assert!(!mark(&mut vec![0x45; len]), "{len} bytes without a header");
        }
    }
}
