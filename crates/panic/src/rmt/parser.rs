//! The programmable parser: finds the layers of a packet and user-defined headers.

use super::error::{Problem, RmtError, within};
use super::names::Names;
use super::params::{HeaderFieldParams, HeaderParams, ParserParams};
use crate::protocol::Fields;
use wire::expr::{ExternalField, Field, Kind, Matcher};
use wire::layers::{Layer, Layers};
use wire::{arp, eth, ipv4, ipv6, vlan};

/// Results of parsing a packet, and other values known about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub layers: Layers,
    /// Values, in the order of [`Names`].
    pub known: Vec<Option<u128>>,
    /// True if the packet is shorter than its headers announce.
    pub is_malformed: bool,
    pub fields: Fields,
}

/// A parser.
#[derive(Clone, Debug)]
pub(super) struct Parser {
    layers: Vec<Layer>,
    headers: Vec<Header>,
}

#[derive(Clone, Debug)]
struct Header {
    after: After,
    when: Matcher,
    bytes: usize,
    /// Index of its values: first presence, then offset, then its fields.
    known: usize,
    fields: Vec<HeaderField>,
}

/// Position of a header field.
#[derive(Clone, Copy, Debug)]
struct HeaderField {
    at_bit: usize,
    bits: usize,
}

#[derive(Clone, Copy, Debug)]
enum After {
    Layer(Layer),
    Header(usize),
}

impl Parser {
    /// Resolves names; adds the headers and their fields to the known values.
    pub(super) fn new(params: &ParserParams, names: &mut Names) -> Result<Parser, RmtError> {
        let mut parser = Parser { layers: Vec::new(), headers: Vec::new() };
        for (i, name) in params.layers.iter().enumerate() {
            let layer = layer_named(name).map_err(|problem| problem.at(format!("parser.layers[{i}]")))?;
            parser.layers.push(layer);
        }
        within("parser.headers", params.headers.len() as u64, 0, 64)?;
        for (i, header) in params.headers.iter().enumerate() {
            let read = parser.header(header, &params.headers[..i], names);
            parser.headers.push(read.map_err(|error| error.below(&format!("parser.headers[{i}]")))?);
        }
        Ok(parser)
    }

    fn header(&self, params: &HeaderParams, before: &[HeaderParams], names: &mut Names) -> Result<Header, RmtError> {
        let HeaderParams { name, after, when, bytes, fields } = params;
        names.check_new(name).map_err(|problem| problem.at("name"))?;
        let header = || before.iter().position(|header| header.name == *after).map(After::Header);
        let after = match layer_named(after).map(After::Layer).ok().or_else(header) {
            Some(after) => after,
            None => {
                let mut known: Vec<&str> = Field::protocols().collect();
                known.extend(before.iter().map(|header| header.name.as_str()));
                return Err(Problem::unknown("layer or earlier header", after, known.into_iter()).at("after"));
            }
        };
        let when = names.parser_matcher(when).map_err(|problem| problem.at("when"))?;
        within("bytes", (*bytes).into(), 1, 256)?;
        within("fields", fields.len() as u64, 0, 64)?;
        let mut known = vec![
            ExternalField { name: name.clone(), kind: Kind::Flag },
            ExternalField { name: format!("{name}.offset"), kind: Kind::Number { bits: 16 } },
        ];
        let mut places = Vec::new();
        for (i, HeaderFieldParams { name: field, at_bit, bits }) in fields.iter().enumerate() {
            let at = format!("fields[{i}]");
            super::names::check_word(field).map_err(|problem| problem.at(format!("{at}.name")))?;
            let whole = format!("{name}.{field}");
            if known.iter().any(|known| known.name == whole) {
                return Err(Problem::Taken { what: "field", name: whole }.at(format!("{at}.name")));
            }
            within(&format!("{at}.at_bit"), (*at_bit).into(), 0, u64::from(bytes * 8) - 1)?;
            // A field is read as one 128-bit word from its first byte on.
            let most = (bytes * 8 - at_bit).min(128 - at_bit % 8);
            within(&format!("{at}.bits"), (*bits).into(), 1, most.into())?;
            known.push(ExternalField { name: whole, kind: Kind::Number { bits: *bits } });
            places.push(HeaderField { at_bit: *at_bit as usize, bits: *bits as usize });
        }
        let first = names.add(known);
        Ok(Header { after, when, bytes: *bytes as usize, known: first, fields: places })
    }

    /// Parses a packet; values other than its headers stay.
    pub(super) fn parse(&self, packet: &[u8], seen: &mut Seen) {
        let layers = Layers::parse(packet).with_known_layers(|layer| self.knows(layer));
        let network = network_at(packet);
        seen.layers = layers;
        seen.is_malformed = network.is_none() && self.knows(Layer::Eth);
        // Nothing is parsed after an unknown tag.
        let sees = |at: usize| layers.has(Layer::Eth) && (at == NO_TAG || layers.has(Layer::Vlan));
        let network = network.filter(|&(at, _)| sees(at) && (at <= ONE_TAG || layers.has(Layer::Vlan2)));
        seen.is_malformed |= network.is_some_and(|(_, ether_type)| self.lacks(packet, &layers, ether_type));
        let network = network.map(|network| network.0);
        let transport = [Layer::Udp, Layer::Tcp, Layer::Icmp, Layer::Icmpv6].into_iter().find_map(|l| layers.offset(l));
        let found = Layer::ALL.into_iter().filter_map(|layer| behind(layer, packet, &layers));
        let mut last = found.chain(network).max().unwrap_or(0);
        let mut ends = Vec::new();
        for header in &self.headers {
            let start = match header.after {
                After::Layer(Layer::Eth) => network,
                After::Layer(layer) => behind(layer, packet, &layers),
                After::Header(before) => ends[before],
            };
            let start = start.filter(|_| header.when.matches_with(packet, &layers, &seen.known));
            let bytes = start.and_then(|start| packet.get(start..)?.get(..header.bytes));
            seen.is_malformed |= start.is_some() && bytes.is_none();
            let start = start.filter(|_| bytes.is_some());
            let known = &mut seen.known[header.known..];
            known[0] = start.map(|_| 1);
            known[1] = start.map(|start| start as u128);
            for (field, value) in header.fields.iter().zip(&mut known[2..]) {
                *value = bytes.map(|bytes| field.read(bytes));
            }
            let end = start.map(|start| start + header.bytes);
            last = last.max(end.unwrap_or(0));
            ends.push(end);
        }
        // Offsets beyond 16 bits do not fit the descriptor and count as missing.
        let short = |at: Option<usize>| at.and_then(|at| u16::try_from(at).ok()).unwrap_or(0);

        (seen.fields.network, seen.fields.transport) = (short(network), short(transport));
        seen.fields.payload = short(Some(last));
    }

    /// Writes a field of a header; false if the packet does not have it.
    pub(super) fn store(&self, place: usize, packet: &mut [u8], seen: &mut Seen, value: u128) -> bool {
        let header = self.headers.iter().rfind(|header| header.known <= place).expect("a field must have a header");
        let field = header.fields[place - header.known - 2];
        let Some(start) = seen.known[header.known + 1] else { return false };
        let Some(bytes) = packet.get_mut(start as usize..start as usize + header.bytes) else { return false };
        field.write(bytes, value);
        seen.known[place] = Some(field.read(bytes));
        true
    }

    fn knows(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Returns true if the packet announces something that is missing or cut off.
    fn lacks(&self, packet: &[u8], layers: &Layers, ether_type: u16) -> bool {
        let lacks = |layer| self.knows(layer) && !layers.has(layer);
        match ether_type {
            eth::ether_type::IPV4 if lacks(Layer::Ipv4) => return true,
            eth::ether_type::IPV6 if lacks(Layer::Ipv6) => return true,
            eth::ether_type::ARP if lacks(Layer::Arp) => return true,
            _ => {}
        }
        let lacks_upper = |protocol, icmp: Layer| match protocol {
            ipv4::protocol::UDP => lacks(Layer::Udp),
            ipv4::protocol::TCP => lacks(Layer::Tcp),
            ipv4::protocol::ICMP if icmp == Layer::Icmp => lacks(Layer::Icmp),
            ipv4::protocol::ICMPV6 if icmp == Layer::Icmpv6 => lacks(Layer::Icmpv6),
            _ => false,
        };
        if let Some(at) = layers.offset(Layer::Ipv4)
            && let Ok(view) = ipv4::Ipv4View::new(&packet[at..])
        {
            let is_cut = usize::from(view.total_len()) > packet.len() - at;
            return is_cut || view.fragment_offset() == 0 && lacks_upper(view.protocol(), Layer::Icmp);
        }
        if let Some(view) = layers.offset(Layer::Ipv6).and_then(|at| ipv6::Ipv6View::new(&packet[at..]).ok()) {
            let is_cut = usize::from(view.payload_len()) > view.payload().len();
            let upper = ipv6::upper_layer(view.next_header(), view.payload());
            let lacks = upper.is_none_or(|u| !u.is_later_fragment && lacks_upper(u.protocol, Layer::Icmpv6));
            return is_cut || lacks;
        }
        false
    }
}

impl HeaderField {
    fn read(self, header: &[u8]) -> u128 {
        let (first, end) = (self.at_bit / 8, (self.at_bit + self.bits).div_ceil(8));
        let word = header[first..end].iter().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
        word >> (end * 8 - self.at_bit - self.bits) & u128::MAX >> (128 - self.bits)
    }

    fn write(self, header: &mut [u8], value: u128) {
        let (first, end) = (self.at_bit / 8, (self.at_bit + self.bits).div_ceil(8));
        let (shift, mask) = (end * 8 - self.at_bit - self.bits, u128::MAX >> (128 - self.bits));
        let bytes = &mut header[first..end];
        let word = bytes.iter().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
        let mut word = word & !(mask << shift) | (value & mask) << shift;
        for byte in bytes.iter_mut().rev() {
            *byte = word as u8;
            word >>= 8;
        }
    }
}

/// Offset of the network layer without VLAN tags.
const NO_TAG: usize = eth::HEADER_LEN;
const ONE_TAG: usize = eth::HEADER_LEN + vlan::HEADER_LEN;

fn layer_named(name: &str) -> Result<Layer, Problem> {
    Field::layer(name).ok_or_else(|| Problem::unknown("layer", name, Field::protocols()))
}

/// Offset of the bytes after Ethernet and all its VLAN tags, and their type; `None` if they are cut off.
fn network_at(packet: &[u8]) -> Option<(usize, u16)> {
    let mut at = eth::HEADER_LEN;
    loop {
        let ether_type = u16::from_be_bytes(packet.get(at - 2..at)?.try_into().ok()?);
        use eth::ether_type::{QINQ, QINQ_OLD, VLAN};
        if !matches!(ether_type, VLAN | QINQ | QINQ_OLD) {
            return Some((at, ether_type));
        }
        at += vlan::HEADER_LEN;
    }
}

/// End of a layer's header, if the packet has the layer.
fn behind(layer: Layer, packet: &[u8], layers: &Layers) -> Option<usize> {
    let at = layers.offset(layer)?;
    let rest = &packet[at..];
    let len = match layer {
        Layer::Eth | Layer::Vlan | Layer::Vlan2 => layer.header_len(),
        Layer::Arp => arp::HEADER_LEN,
        Layer::Ipv4 => ipv4::Ipv4View::new(rest).ok()?.header_len(),
        Layer::Ipv6 => {
            let view = ipv6::Ipv6View::new(rest).ok()?;
            let upper = ipv6::upper_layer(view.next_header(), view.payload());
            ipv6::HEADER_LEN + upper.map_or(0, |upper| upper.offset)
        }
        Layer::Udp | Layer::Icmp | Layer::Icmpv6 => layer.header_len(),
        Layer::Tcp => wire::tcp::TcpView::new(rest).ok()?.header_len(),
    };
    Some(at + len)
}
