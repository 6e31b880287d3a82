//! Offsets of the layers of a packet. They are found once and shared by all users of the packet.

use crate::format::be16;
use crate::ipv4::protocol;
use crate::{arp, eth, icmp, icmpv6, ipv4, ipv6, tcp, udp, vlan};

/// A layer of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Layer {
    /// Ethernet.
    Eth,
    /// Outermost VLAN tag.
    Vlan,
    /// Second VLAN tag.
    Vlan2,
    /// ARP for IPv4 over Ethernet.
    Arp,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// ICMP over IPv4.
    Icmp,
    /// ICMPv6 over IPv6.
    Icmpv6,
}

impl Layer {
    /// Number of layers.
    pub const COUNT: usize = Self::Icmpv6 as usize + 1;

    /// All layers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Eth,
        Self::Vlan,
        Self::Vlan2,
        Self::Arp,
        Self::Ipv4,
        Self::Ipv6,
        Self::Udp,
        Self::Tcp,
        Self::Icmp,
        Self::Icmpv6,
    ];

    /// Length of the header's fixed part, in bytes. A layer is present only if its fixed part is complete.
    pub const fn header_len(self) -> usize {
        match self {
            Self::Eth => eth::HEADER_LEN,
            Self::Vlan | Self::Vlan2 => vlan::HEADER_LEN,
            Self::Arp => arp::HEADER_LEN,
            Self::Ipv4 => ipv4::MIN_HEADER_LEN,
            Self::Ipv6 => ipv6::HEADER_LEN,
            Self::Udp => udp::HEADER_LEN,
            Self::Tcp => tcp::MIN_HEADER_LEN,
            Self::Icmp => icmp::HEADER_LEN,
            Self::Icmpv6 => icmpv6::HEADER_LEN,
        }
    }
}

/// Offsets of the layers of one packet.
///
/// A layer is present if its header is complete and valid (version, header length, lengths that contain the header).
/// Checksums are not verified. A fragment other than the first has no UDP, TCP or ICMP layer. Tunneled packets are
/// payload. Up to two VLAN tags are layers; further tags are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    present: u16,
    offsets: [u32; Layer::COUNT],
    payload_start: u32,
    payload_end: u32,
}

impl Layers {
    /// Finds the layers of `packet`, which begins with the Ethernet header and has no FCS.
    pub fn parse(packet: &[u8]) -> Self {
        let mut layers = Self::default();
        if packet.len() < eth::HEADER_LEN {
            return layers;
        }
        layers.add(Layer::Eth, 0);
        let mut ether_type = be16(packet, eth::ETHER_TYPE.start);
        let mut at = eth::HEADER_LEN;
        while matches!(ether_type, eth::ether_type::VLAN | eth::ether_type::QINQ | eth::ether_type::QINQ_OLD) {
            if packet.len() < at + vlan::HEADER_LEN {
                return layers;
            }
            if !layers.has(Layer::Vlan) {
                layers.add(Layer::Vlan, at);
            } else if !layers.has(Layer::Vlan2) {
                layers.add(Layer::Vlan2, at);
            }
            ether_type = be16(packet, at + vlan::ETHER_TYPE.start);
            at += vlan::HEADER_LEN;
        }
        match ether_type {
            eth::ether_type::IPV4 => layers.parse_ipv4(packet, at),
            eth::ether_type::IPV6 => layers.parse_ipv6(packet, at),
            eth::ether_type::ARP if arp::ArpView::new(&packet[at..]).is_ok() => layers.add(Layer::Arp, at),
            _ => {}
        }
        layers
    }

    fn parse_ipv4(&mut self, packet: &[u8], at: usize) {
        let Ok(view) = ipv4::Ipv4View::new(&packet[at..]) else { return };
        self.add(Layer::Ipv4, at);
        if view.fragment_offset() == 0 {
            let end = packet.len().min(at + usize::from(view.total_len()));
            self.parse_upper(packet, view.protocol(), at + view.header_len(), end, true);
        }
    }

    fn parse_ipv6(&mut self, packet: &[u8], at: usize) {
        let Ok(view) = ipv6::Ipv6View::new(&packet[at..]) else { return };
        self.add(Layer::Ipv6, at);
        let Some(upper) = ipv6::upper_layer(view.next_header(), view.payload()) else { return };
        if !upper.is_later_fragment {
            let start = at + ipv6::HEADER_LEN;
            let end = start + view.payload().len();
            self.parse_upper(packet, upper.protocol, start + upper.offset, end, false);
        }
    }

    fn parse_upper(&mut self, packet: &[u8], protocol: u8, at: usize, end: usize, over_ipv4: bool) {
        let Some(segment) = packet.get(at..end) else { return };
        let (layer, header_len, end) = match protocol {
            protocol::UDP => match udp::UdpView::new(segment) {
                Ok(view) => (Layer::Udp, udp::HEADER_LEN, end.min(at + usize::from(view.len()))),
                Err(_) => return,
            },
            protocol::TCP => match tcp::TcpView::new(segment) {
                Ok(view) => (Layer::Tcp, view.header_len(), end),
                Err(_) => return,
            },
            protocol::ICMP if over_ipv4 && segment.len() >= icmp::HEADER_LEN => (Layer::Icmp, icmp::HEADER_LEN, end),
            protocol::ICMPV6 if !over_ipv4 && segment.len() >= icmpv6::HEADER_LEN => {
                (Layer::Icmpv6, icmpv6::HEADER_LEN, end)
            }
            _ => return,
        };
        self.add(layer, at);
        self.payload_start = (at + header_len) as u32;
        self.payload_end = end as u32;
    }

    fn add(&mut self, layer: Layer, at: usize) {
        self.present |= 1 << layer as u16;
        self.offsets[layer as usize] = at as u32;
    }

    /// Removes layers that a parser does not know. An unknown layer hides all layers after it.
    #[must_use]
    pub fn with_known_layers(mut self, is_known: impl Fn(Layer) -> bool) -> Self {
        let hidden = Layer::ALL.into_iter().filter(|&layer| self.has(layer) && !is_known(layer));
        let Some(end) = hidden.filter_map(|layer| self.offset(layer)).min() else { return self };
        for layer in Layer::ALL {
            if self.offsets[layer as usize] as usize >= end {
                self.present &= !(1 << layer as u16);
            }
        }
        // The payload is inside the last layer.
        (self.payload_start, self.payload_end) = (0, 0);
        self
    }

    /// Returns true if the packet has this layer.
    pub fn has(&self, layer: Layer) -> bool {
        self.present & 1 << layer as u16 != 0
    }

    /// Offset of the layer's header, if the packet has the layer.
    pub fn offset(&self, layer: Layer) -> Option<usize> {
        self.has(layer).then(|| self.offsets[layer as usize] as usize)
    }

    /// Range of the payload of UDP, TCP, ICMP or ICMPv6, as far as the buffer holds it; empty without such a layer.
    pub fn payload(&self) -> std::ops::Range<usize> {
        self.payload_start as usize..self.payload_end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::unhex;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(packet: &str, want: Expect) {
        let layers = Layers::parse(&unhex(packet));
        let mut text: Vec<String> =
            Layer::ALL.iter().filter_map(|&l| layers.offset(l).map(|at| format!("{l:?}@{at}"))).collect();
        if !layers.payload().is_empty() {
            text.push(format!("payload {:?}", layers.payload()));
        }
        want.assert_eq(&text.join(" "));
    }

    const MACS: &str = "020000000002 020000000001";
    const IPV4_UDP: &str = "0800 4500001e 00000000 40110000 0a000001 0a000002 0001 0002 000a 0000 6162";

    #[test]
    fn offsets_of_common_packets() {
        check(&format!("{MACS} {IPV4_UDP}"), expect!["Eth@0 Ipv4@14 Udp@34 payload 42..44"]);
        check(&format!("{MACS} {IPV4_UDP} 0000"), expect!["Eth@0 Ipv4@14 Udp@34 payload 42..44"]);
        check(&format!("{MACS} 8100 0064 {IPV4_UDP}"), expect!["Eth@0 Vlan@14 Ipv4@18 Udp@38 payload 46..48"]);
        check(
            &format!("{MACS} 88a8 0001 8100 0002 8100 0003 {IPV4_UDP}"),
            expect!["Eth@0 Vlan@14 Vlan2@18 Ipv4@26 Udp@46 payload 54..56"],
        );
        check(
            &format!("{MACS} 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"),
            expect!["Eth@0 Arp@14"],
        );
        let hosts = "00000000000000000000000000000001 00000000000000000000000000000001";
        check(
            &format!("{MACS} 86dd 60000000 0010 00 40 {hosts} 3a00000000000000 8000 0000 0000 0000"),
            expect!["Eth@0 Ipv6@14 Icmpv6@62"],
        );
    }

    #[test]
    fn an_unknown_layer_hides_the_layers_after_it() {
        let layers = Layers::parse(&unhex(&format!("{MACS} 8100 0064 {IPV4_UDP}")));
        let seen = |unknown: Layer| {
            let seen = layers.with_known_layers(|layer| layer != unknown);
            let names: Vec<String> =
                Layer::ALL.iter().filter(|&&layer| seen.has(layer)).map(|l| format!("{l:?}")).collect();
            format!("{} {:?}", names.join(" "), seen.payload())
        };
        assert_eq!(seen(Layer::Tcp), "Eth Vlan Ipv4 Udp 46..48");
        assert_eq!(seen(Layer::Udp), "Eth Vlan Ipv4 0..0");
        assert_eq!(seen(Layer::Vlan), "Eth 0..0");
    }

    #[test]
    fn truncated_and_invalid_headers_are_absent() {
        check("0200", expect![""]);
        check(&format!("{MACS} 8100 00"), expect!["Eth@0"]);
        check(&format!("{MACS} 0800 4500001e 00000000 40110000 0a000001 0a0000"), expect!["Eth@0"]);
        // A later fragment; UDP truncated in its header; a UDP length below 8.
        check(&format!("{MACS} {}", IPV4_UDP.replace("00000000 4011", "00000001 4011")), expect!["Eth@0 Ipv4@14"]);
        check(&format!("{MACS} {}", IPV4_UDP.replace("4500001e", "4500001b")), expect!["Eth@0 Ipv4@14"]);
        check(&format!("{MACS} {}", IPV4_UDP.replace("000a", "0007")), expect!["Eth@0 Ipv4@14"]);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_all_offsets_are_inside(
            ether_type in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806]),
            first in prop::sample::select(vec![0x45u8, 0x46, 0x4f, 0x60]),
            protocol in prop::sample::select(vec![1u8, 6, 17, 58, 0, 43, 44, 51, 60]),
            mut bytes in prop::collection::vec(any::<u8>(), 14..200),
        ) {
            bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
            for (at, value) in [(14, first), (20, protocol), (23, protocol)] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            let layers = Layers::parse(&bytes);
            for layer in Layer::ALL {
                prop_assert!(layers.offset(layer).is_none_or(|at| at + layer.header_len() <= bytes.len()));
            }
            prop_assert!(bytes.get(layers.payload()).is_some());
        }
    }
}
