//! The fields of expressions, one row each.

use crate::layers::{Layer, Layers};
use crate::{arp, eth, icmp, icmpv6, ipv4, ipv6, tcp, udp, vlan};
use std::fmt;
use std::sync::Arc;

/// Kind of a field's values. It determines their notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number with this many bits.
    Number {
        /// Bits, 1 to 128.
        bits: u32,
    },
    /// A flag. Its name alone is a test.
    Flag,
    /// A MAC address.
    Mac,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A slice of bytes: a number, or a string of the same length.
    Bytes {
        /// Length, 1 to 16.
        len: u32,
    },
}

impl Kind {
    /// The largest value.
    pub fn max(self) -> u128 {
        let bits = match self {
            Self::Number { bits } => bits,
            Self::Flag => 1,
            Self::Mac => 48,
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
            Self::Bytes { len } => len * 8,
        };
        u128::MAX >> (128 - bits)
    }
}

/// Location of a field's value in a packet. All values are big-endian numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Load {
    /// `width` bytes at `offset` in the fixed header of `layer`, shifted right by `shift`, then masked.
    Header { layer: Layer, offset: u32, width: u32, shift: u32, mask: u128 },
    /// Bytes of the packet, masked.
    Packet { offset: u32, width: u32, mask: u128 },
    /// Bytes of the payload of a layer above IP, masked.
    Payload { layer: Layer, offset: u32, width: u32, mask: u128 },
    /// Length of the packet.
    PacketLen,
    /// Length of the payload of a layer above IP.
    PayloadLen { layer: Layer },
    /// A value that the caller supplies.
    ExternalField { index: u32 },
}

impl Load {
    /// The value, if the packet has it.
    pub(super) fn value(self, packet: &[u8], layers: &Layers, external: &[Option<u128>]) -> Option<u128> {
        match self {
            Self::Header { layer, offset, width, shift, mask } => {
                let at = layers.offset(layer)? + offset as usize;
                Some(big_endian(packet.get(at..at + width as usize)?) >> shift & mask)
            }
            Self::Packet { offset, width, mask } => {
                Some(big_endian(packet.get(offset as usize..)?.get(..width as usize)?) & mask)
            }
            Self::Payload { layer, offset, width, mask } => {
                layers.offset(layer)?;
                let payload = packet.get(layers.payload())?;
                Some(big_endian(payload.get(offset as usize..)?.get(..width as usize)?) & mask)
            }
            Self::PacketLen => Some(packet.len() as u128),
            Self::PayloadLen { layer } => {
                layers.offset(layer)?;
                Some(layers.payload().len() as u128)
            }
            Self::ExternalField { index } => external.get(index as usize).copied().flatten(),
        }
    }

    /// Writes `value`, truncated to the field's width. Returns false if the packet does not have the field.
    fn store(self, packet: &mut [u8], layers: &Layers, value: u128) -> bool {
        let (place, shift, mask) = match self {
            Self::Header { layer, offset, width, shift, mask } => {
                let start = layers.offset(layer).map(|at| at + offset as usize);
                (start.map(|start| start..start + width as usize), shift, mask)
            }
            Self::Packet { offset, width, mask } => (Some(offset as usize..offset as usize + width as usize), 0, mask),
            Self::Payload { layer, offset, width, mask } => {
                let payload = layers.payload();
                let start = payload.start + offset as usize;
                let is_inside = layers.has(layer) && start + width as usize <= payload.end;
                (is_inside.then_some(start..start + width as usize), 0, mask)
            }
            Self::PacketLen | Self::PayloadLen { .. } | Self::ExternalField { .. } => (None, 0, 0),
        };
        let Some(bytes) = place.and_then(|place| packet.get_mut(place)) else { return false };
        let mut word = big_endian(bytes) & !(mask << shift) | (value & mask) << shift;
        for byte in bytes.iter_mut().rev() {
            *byte = word as u8;
            word >>= 8;
        }
        true
    }
}

fn big_endian(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// A named value that is not part of packets. The caller supplies it for each packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalField {
    /// Its name: words of letters, digits and `_`, separated by dots.
    pub name: String,
    /// Kind of its values.
    pub kind: Kind,
}

/// A field: a row of the table, a slice of bytes, or an external field.
#[derive(Clone, PartialEq, Eq)]
pub struct Field {
    name: Name,
    pub(super) kind: Kind,
    pub(super) load: Load,
}

/// Names are stored as in the text.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    Row(&'static str),
    Slice { of: &'static str, offset: u32, len: u32 },
    ExternalField(Arc<str>),
}

impl Field {
    /// The table's field with this name. The parser creates slices of bytes.
    pub fn named(name: &str) -> Option<Self> {
        FIELDS.iter().find(|field| matches!(field.name, Name::Row(row) if row == name)).cloned()
    }

    /// `of[offset:len]` or `of[offset:len] & mask`, where `of` is `bytes` or the payload of a layer. `None` if `of` is
    /// unknown.
    pub(super) fn slice(of: &str, offset: u32, len: u32, mask: Option<u128>) -> Option<Self> {
        let &(of, layer) = SLICES.iter().find(|(name, _)| *name == of)?;
        let (kind, bits) = (Kind::Bytes { len }, mask.unwrap_or(u128::MAX));
        let load = match layer {
            None => Load::Packet { offset, width: len, mask: bits },
            Some(layer) => Load::Payload { layer, offset, width: len, mask: bits },
        };
        Some(Self { name: Name::Slice { of, offset, len }, kind, load })
    }

    /// The external field with this name.
    pub(super) fn external(name: &str, external: &[ExternalField]) -> Option<Self> {
        let index = external.iter().position(|external| external.name == name)?;
        let load = Load::ExternalField { index: index as u32 };
        Some(Self { name: Name::ExternalField(name.into()), kind: external[index].kind, load })
    }

    /// Index of an external field, or `None` for other fields.
    pub fn external_index(&self) -> Option<usize> {
        match self.load {
            Load::ExternalField { index } => Some(index as usize),
            _ => None,
        }
    }

    /// The layer called `name`.
    pub fn layer(name: &str) -> Option<Layer> {
        LAYERS.iter().find(|layer| layer.0 == name).map(|layer| layer.1)
    }

    /// Kind of its values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its value in `packet` as a number, if the packet has it.
    pub fn value(&self, packet: &[u8], layers: &Layers) -> Option<u128> {
        self.load.value(packet, layers, &[])
    }

    /// The same for a field that may be external.
    pub fn value_with(&self, packet: &[u8], layers: &Layers, external: &[Option<u128>]) -> Option<u128> {
        self.load.value(packet, layers, external)
    }

    /// Writes the low bits of `value` to the field in `packet`. Returns false if the packet does not have the field.
    /// Does not update checksums or `layers`.
    pub fn store(&self, packet: &mut [u8], layers: &Layers, value: u128) -> bool {
        self.load.store(packet, layers, value)
    }

    /// Names of the protocols. A protocol's name alone tests whether the packet has that layer.
    pub fn protocols() -> impl Iterator<Item = &'static str> {
        LAYERS.iter().map(|(name, _)| *name)
    }

    /// Names that can precede `[offset:length]`.
    pub fn slices() -> impl Iterator<Item = &'static str> {
        SLICES.iter().map(|(name, _)| *name)
    }

    /// Names of all fields in the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().filter_map(|field| match field.name {
            Name::Row(name) => Some(name),
            Name::Slice { .. } | Name::ExternalField(_) => None,
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Row(name) => f.write_str(name),
            Name::ExternalField(name) => f.write_str(name),
            Name::Slice { of, offset, len } => {
                write!(f, "{of}[{offset}:{len}]")?;
                match self.load {
                    Load::Packet { mask, .. } | Load::Payload { mask, .. } if mask != u128::MAX => {
                        write!(f, " & {mask:#x}")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Names that can precede `[offset:length]`.
pub(super) const SLICES: [(&str, Option<Layer>); 5] = [
    ("bytes", None),
    ("udp.payload", Some(Layer::Udp)),
    ("tcp.payload", Some(Layer::Tcp)),
    ("icmp.payload", Some(Layer::Icmp)),
    ("icmpv6.payload", Some(Layer::Icmpv6)),
];

/// Names that test for a layer.
pub(super) const LAYERS: [(&str, Layer); Layer::COUNT] = [
    ("eth", Layer::Eth),
    ("vlan", Layer::Vlan),
    ("vlan2", Layer::Vlan2),
    ("arp", Layer::Arp),
    ("ipv4", Layer::Ipv4),
    ("ipv6", Layer::Ipv6),
    ("udp", Layer::Udp),
    ("tcp", Layer::Tcp),
    ("icmp", Layer::Icmp),
    ("icmpv6", Layer::Icmpv6),
];

const fn row(name: &'static str, kind: Kind, load: Load) -> Field {
    Field { name: Name::Row(name), kind, load }
}

/// A number of whole bytes.
const fn number(name: &'static str, layer: Layer, range: std::ops::Range<usize>) -> Field {
    bits(name, layer, range.start, range.end - range.start, 0, ((range.end - range.start) * 8) as u32)
}

/// A number of one byte.
const fn byte(name: &'static str, layer: Layer, at: usize) -> Field {
    number(name, layer, at..at + 1)
}

/// A number of `n_bits` bits, above `shift` other bits, within `width` bytes at `at`.
const fn bits(name: &'static str, layer: Layer, at: usize, width: usize, shift: u32, n_bits: u32) -> Field {
    let mask = u128::MAX >> (128 - n_bits);
    let load = Load::Header { layer, offset: at as u32, width: width as u32, shift, mask };
    row(name, Kind::Number { bits: n_bits }, load)
}

/// Bit `shift` of the byte at `at`.
const fn flag(name: &'static str, layer: Layer, at: usize, shift: u32) -> Field {
    row(name, Kind::Flag, Load::Header { layer, offset: at as u32, width: 1, shift, mask: 1 })
}

/// An address.
const fn address(name: &'static str, kind: Kind, layer: Layer, range: std::ops::Range<usize>) -> Field {
    let (offset, width) = (range.start as u32, (range.end - range.start) as u32);
    row(name, kind, Load::Header { layer, offset, width, shift: 0, mask: u128::MAX })
}

/// Bit numbers of [`tcp::flag`].
const fn control(name: &'static str, flag_bit: u8) -> Field {
    flag(name, Layer::Tcp, tcp::FLAGS, flag_bit.trailing_zeros())
}

const FIELDS: &[Field] = {
    use Kind::{Ipv4, Ipv6, Mac};
    use Layer as L;
    &[
        row("len", Kind::Number { bits: 32 }, Load::PacketLen),
        address("eth.dst", Mac, L::Eth, eth::DST),
        address("eth.src", Mac, L::Eth, eth::SRC),
        number("eth.type", L::Eth, eth::ETHER_TYPE),
        bits("vlan.priority", L::Vlan, 0, 1, 5, 3),
        flag("vlan.drop_eligible", L::Vlan, 0, 4),
        bits("vlan.id", L::Vlan, 0, 2, 0, 12),
        number("vlan.type", L::Vlan, vlan::ETHER_TYPE),
        bits("vlan2.priority", L::Vlan2, 0, 1, 5, 3),
        flag("vlan2.drop_eligible", L::Vlan2, 0, 4),
        bits("vlan2.id", L::Vlan2, 0, 2, 0, 12),
        number("vlan2.type", L::Vlan2, vlan::ETHER_TYPE),
        number("arp.operation", L::Arp, arp::OPERATION),
        address("arp.sender_mac", Mac, L::Arp, arp::SENDER_MAC),
        address("arp.sender_ip", Ipv4, L::Arp, arp::SENDER_IP),
        address("arp.target_mac", Mac, L::Arp, arp::TARGET_MAC),
        address("arp.target_ip", Ipv4, L::Arp, arp::TARGET_IP),
        bits("ipv4.version", L::Ipv4, ipv4::VERSION_IHL, 1, 4, 4),
        bits("ipv4.header_words", L::Ipv4, ipv4::VERSION_IHL, 1, 0, 4),
        bits("ipv4.dscp", L::Ipv4, ipv4::DSCP_ECN, 1, 2, 6),
        bits("ipv4.ecn", L::Ipv4, ipv4::DSCP_ECN, 1, 0, 2),
        number("ipv4.len", L::Ipv4, ipv4::TOTAL_LEN),
        number("ipv4.id", L::Ipv4, ipv4::IDENTIFICATION),
        flag("ipv4.flags.df", L::Ipv4, ipv4::FLAGS_FRAGMENT.start, 6),
        flag("ipv4.flags.mf", L::Ipv4, ipv4::FLAGS_FRAGMENT.start, 5),
        bits("ipv4.fragment_offset", L::Ipv4, ipv4::FLAGS_FRAGMENT.start, 2, 0, 13),
        byte("ipv4.ttl", L::Ipv4, ipv4::TTL),
        byte("ipv4.protocol", L::Ipv4, ipv4::PROTOCOL),
        number("ipv4.checksum", L::Ipv4, ipv4::CHECKSUM),
        address("ipv4.src", Ipv4, L::Ipv4, ipv4::SRC),
        address("ipv4.dst", Ipv4, L::Ipv4, ipv4::DST),
        bits("ipv6.version", L::Ipv6, 0, 1, 4, 4),
        bits("ipv6.traffic_class", L::Ipv6, 0, 2, 4, 8),
        bits("ipv6.flow_label", L::Ipv6, 0, 4, 0, 20),
        number("ipv6.len", L::Ipv6, ipv6::PAYLOAD_LEN),
        byte("ipv6.next_header", L::Ipv6, ipv6::NEXT_HEADER),
        byte("ipv6.hop_limit", L::Ipv6, ipv6::HOP_LIMIT),
        address("ipv6.src", Ipv6, L::Ipv6, ipv6::SRC),
        address("ipv6.dst", Ipv6, L::Ipv6, ipv6::DST),
        number("udp.src_port", L::Udp, udp::SRC_PORT),
        number("udp.dst_port", L::Udp, udp::DST_PORT),
        number("udp.len", L::Udp, udp::LEN),
        number("udp.checksum", L::Udp, udp::CHECKSUM),
        row("udp.payload_len", Kind::Number { bits: 32 }, Load::PayloadLen { layer: L::Udp }),
        number("tcp.src_port", L::Tcp, tcp::SRC_PORT),
        number("tcp.dst_port", L::Tcp, tcp::DST_PORT),
        number("tcp.seq", L::Tcp, tcp::SEQ),
        number("tcp.ack", L::Tcp, tcp::ACK),
        bits("tcp.header_words", L::Tcp, tcp::DATA_OFFSET, 1, 4, 4),
        byte("tcp.flags", L::Tcp, tcp::FLAGS),
        control("tcp.flags.fin", tcp::flag::FIN),
        control("tcp.flags.syn", tcp::flag::SYN),
        control("tcp.flags.rst", tcp::flag::RST),
        control("tcp.flags.psh", tcp::flag::PSH),
        control("tcp.flags.ack", tcp::flag::ACK),
        control("tcp.flags.urg", tcp::flag::URG),
        control("tcp.flags.ece", tcp::flag::ECE),
        control("tcp.flags.cwr", tcp::flag::CWR),
        number("tcp.window", L::Tcp, tcp::WINDOW),
        number("tcp.checksum", L::Tcp, tcp::CHECKSUM),
        number("tcp.urgent", L::Tcp, tcp::URGENT),
        row("tcp.payload_len", Kind::Number { bits: 32 }, Load::PayloadLen { layer: L::Tcp }),
        byte("icmp.type", L::Icmp, icmp::TYPE),
        byte("icmp.code", L::Icmp, icmp::CODE),
        number("icmp.checksum", L::Icmp, icmp::CHECKSUM),
        number("icmp.id", L::Icmp, icmp::IDENTIFIER),
        number("icmp.seq", L::Icmp, icmp::SEQ),
        row("icmp.payload_len", Kind::Number { bits: 32 }, Load::PayloadLen { layer: L::Icmp }),
        byte("icmpv6.type", L::Icmpv6, icmpv6::TYPE),
        byte("icmpv6.code", L::Icmpv6, icmpv6::CODE),
        number("icmpv6.checksum", L::Icmpv6, icmpv6::CHECKSUM),
        number("icmpv6.id", L::Icmpv6, icmpv6::IDENTIFIER),
        number("icmpv6.seq", L::Icmpv6, icmpv6::SEQ),
        row("icmpv6.payload_len", Kind::Number { bits: 32 }, Load::PayloadLen { layer: L::Icmpv6 }),
    ]
};
