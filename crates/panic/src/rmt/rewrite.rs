//! Packet changes beyond single fields: tags, hop limits, checksums.

use wire::checksum::{PseudoHeader, Sum};
use wire::layers::{Layer, Layers};
use wire::vlan::VlanHeader;
use wire::{eth, icmp, icmpv6, ipv4, ipv6, tcp, udp};

/// The big-endian word at `at`, inside a header that is present.
fn be16(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// A checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChecksumOf {
    /// The IPv4 header checksum.
    Ipv4,
    /// The UDP checksum over IPv4 or IPv6.
    Udp,
    /// The TCP checksum over IPv4 or IPv6.
    Tcp,
    /// The ICMP checksum.
    Icmp,
    /// The ICMPv6 checksum.
    Icmpv6,
}

/// Recomputes a checksum; false if the packet lacks the header or part of the covered bytes: a fragment or a cut packet.
pub(super) fn checksum(packet: &mut [u8], layers: &Layers, of: ChecksumOf) -> bool {
    if of == ChecksumOf::Ipv4 {
        let Some(at) = layers.offset(Layer::Ipv4) else { return false };
        let len = usize::from(packet[at + ipv4::VERSION_IHL] & 0xf) * 4;
        let Some(header) = packet.get_mut(at..at + len) else { return false };
        header[ipv4::CHECKSUM].fill(0);
        let sum = Sum::default().with(header).finish();
        header[ipv4::CHECKSUM].copy_from_slice(&sum.to_be_bytes());
        return true;
    }
    let (layer, protocol, place) = match of {
        ChecksumOf::Ipv4 | ChecksumOf::Udp => (Layer::Udp, ipv4::protocol::UDP, udp::CHECKSUM),
        ChecksumOf::Tcp => (Layer::Tcp, ipv4::protocol::TCP, tcp::CHECKSUM),
        ChecksumOf::Icmp => (Layer::Icmp, ipv4::protocol::ICMP, icmp::CHECKSUM),
        ChecksumOf::Icmpv6 => (Layer::Icmpv6, ipv4::protocol::ICMPV6, icmpv6::CHECKSUM),
    };
    let (Some(at), Some((pseudo, end))) = (layers.offset(layer), network(packet, layers)) else { return false };
    let end = match layer {
        Layer::Udp => end.min(at + usize::from(be16(packet, at + udp::LEN.start))),
        _ => end,
    };
    let Some(segment) = packet.get_mut(at..end) else { return false };
    if segment.len() < layer.header_len() {
        return false;
    }
    segment[place.clone()].fill(0);
    let sum = match of {
        ChecksumOf::Icmp => Sum::default().with(segment).finish(),
        _ => pseudo.checksum(protocol, segment),
    };
    // In UDP 0 means no checksum (RFC 768); its complement is an equal value.
    let sum = if of == ChecksumOf::Udp && sum == 0 { 0xffff } else { sum };
    segment[place].copy_from_slice(&sum.to_be_bytes());
    true
}

/// The pseudo header, and the end of the network layer's payload; `None` for fragments.
fn network(packet: &[u8], layers: &Layers) -> Option<(PseudoHeader, usize)> {
    if let Some(at) = layers.offset(Layer::Ipv4) {
        let view = ipv4::Ipv4View::new(&packet[at..]).ok()?;
        let pseudo = PseudoHeader::V4 { src: view.src(), dst: view.dst() };
        return (!view.more_fragments()).then_some((pseudo, at + usize::from(view.total_len())));
    }
    let at = layers.offset(Layer::Ipv6)?;
    let view = ipv6::Ipv6View::new(&packet[at..]).ok()?;
    let pseudo = PseudoHeader::V6 { src: view.src(), dst: view.dst() };
    let end = at + ipv6::HEADER_LEN + usize::from(view.payload_len());
    is_whole_and_there(view.next_header(), view.payload()).then_some((pseudo, end))
}

/// Returns true if no extension header is a fragment header or names an intermediate destination (RFC 8200, 8.1).
fn is_whole_and_there(mut next: u8, mut payload: &[u8]) -> bool {
    use ipv6::extension::*;
    loop {
        let word = |at: usize| payload.get(at).copied().unwrap_or(0);
        let len = match next {
            FRAGMENT => return false,
            ROUTING if word(3) != 0 => return false,
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6 => (usize::from(word(1)) + 1) * 8,
            AUTHENTICATION => (usize::from(word(1)) + 2) * 4,
            _ => return true,
        };
        next = word(0);
        let Some(rest) = payload.get(len..) else { return false };
        payload = rest;
    }
}

/// Inserts a tag after the MAC addresses; false if there are none.
pub(super) fn push_vlan(packet: &mut Vec<u8>, id: u16, priority: u8) -> bool {
    if packet.len() < eth::HEADER_LEN {
        return false;
    }
    let at = eth::ETHER_TYPE.start;
    let header = VlanHeader { priority, drop_eligible: false, id, ether_type: be16(packet, at) };
    let mut tag = [0; 2 + wire::vlan::HEADER_LEN];
    tag[..2].copy_from_slice(&eth::ether_type::VLAN.to_be_bytes());
    header.emit(&mut tag[2..]).expect("a tag's numbers must have been checked");
    // The old type field becomes the tag's inner type; insert the tag's protocol identifier and control bits before it.
    packet.splice(at..at, tag[..4].iter().copied());
    true
}

/// Removes the outermost tag; false if there is none.
pub(super) fn pop_vlan(packet: &mut Vec<u8>, layers: &Layers) -> bool {
    if !layers.has(Layer::Vlan) {
        return false;
    }
    let at = eth::ETHER_TYPE.start;
    packet.drain(at..at + wire::vlan::HEADER_LEN);
    true
}

/// Decrements the hop limit; false if it is 0 or the packet has none.
pub(super) fn decrement_ttl(packet: &mut [u8], layers: &Layers) -> bool {
    let v4 = layers.offset(Layer::Ipv4).map(|at| at + ipv4::TTL);
    let Some(at) = v4.or_else(|| layers.offset(Layer::Ipv6).map(|at| at + ipv6::HOP_LIMIT)) else { return false };
    let has_one = packet[at] > 0;
    packet[at] = packet[at].saturating_sub(1);
    has_one
}
