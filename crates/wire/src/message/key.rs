//! The bytes that identify the message of a packet.

use super::Key;
use crate::layers::{Layer, Layers};
use crate::{ipv4, ipv6};

impl Key {
    /// Writes the key of `packet` to `out`. Returns false if the packet has none of the fields.
    pub(super) fn write(&self, packet: &[u8], layers: &Layers, out: &mut Vec<u8>) -> bool {
        out.clear();
        match self {
            Key::All => true,
            Key::FiveTuple => five_tuple(packet, layers, out),
            Key::Fields(fields) => {
                let mut has_any = false;
                for field in fields {
                    // A tag before each value distinguishes an absent field from every value.
                    match field.value(packet, layers) {
                        Some(value) => {
                            has_any = true;
                            out.push(1);
                            out.extend_from_slice(&value.to_be_bytes());
                        }
                        None => out.push(0),
                    }
                }
                has_any
            }
        }
    }
}

/// Version, addresses, protocol and ports. Returns false if the packet is not IP.
fn five_tuple(packet: &[u8], layers: &Layers, out: &mut Vec<u8>) -> bool {
    // A layer that is present is inside the packet.
    if let Some(at) = layers.offset(Layer::Ipv4) {
        out.push(4);
        out.extend_from_slice(&packet[at + ipv4::SRC.start..at + ipv4::DST.end]);
        out.push(packet[at + ipv4::PROTOCOL]);
    } else if let Some(at) = layers.offset(Layer::Ipv6) {
        out.push(6);
        out.extend_from_slice(&packet[at + ipv6::SRC.start..at + ipv6::DST.end]);
        let upper = [Layer::Udp, Layer::Tcp, Layer::Icmpv6].into_iter().find(|&layer| layers.has(layer));
        out.push(match upper {
            Some(Layer::Udp) => ipv4::protocol::UDP,
            Some(Layer::Tcp) => ipv4::protocol::TCP,
            Some(_) => ipv4::protocol::ICMPV6,
            None => packet[at + ipv6::NEXT_HEADER],
        });
    } else {
        return false;
    }
    if let Some(at) = layers.offset(Layer::Udp).or(layers.offset(Layer::Tcp)) {
        out.extend_from_slice(&packet[at..at + 4]); // TCP and UDP both begin with source and destination port.
    }
    true
}
