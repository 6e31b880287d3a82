//! Updates the headers of a packet whose payload an engine has changed.

use crate::protocol::Message;
use wire::checksum::PseudoHeader;
use wire::ipv4::{Ipv4Header, protocol};
use wire::ipv6::{Ipv6Header, upper_layer};
use wire::tcp::TcpHeader;
use wire::udp::{UdpHeader, UdpView};

/// Next header of IPv6: a fragment. RFC 8200, 4.5.
const FRAGMENT: u8 = 44;

/// How an engine treats headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Headers {
    /// Leaves them unchanged.
    Keep,
    /// Updates lengths in IPv4, IPv6 and UDP headers and recomputes the checksums of IPv4, UDP and TCP. A UDP datagram without
    /// a checksum stays without one; fragments keep checksums that cover the whole datagram. The engine finds headers by the
    /// offsets from the RMT pipeline.
    Update,
}

impl Headers {
    /// Headers can be updated only if the region excludes them.
    pub(super) fn check(self, region: super::Region) -> Result<(), String> {
        match (self, region) {
            (Headers::Keep, _) | (Headers::Update, super::Region::Payload {}) => Ok(()),
            (Headers::Update, _) => Err("headers is `update`; region must then be of kind `payload`".to_owned()),
        }
    }
}

/// IP version in the first byte of `packet`.
fn version(packet: &[u8]) -> Option<u8> {
    packet.first().map(|byte| byte >> 4)
}

/// Updates the headers of a packet that had `len_before` bytes. Stops at the first header that cannot be updated and returns
/// `None`.
pub(super) fn update(message: &mut Message, len_before: usize) -> Option<()> {
    let fields = message.descriptor.fields;
    let growth = message.data.len() as i64 - len_before as i64;
    let grown = |len: u16| u16::try_from(i64::from(len) + growth).ok();
    let packet = match fields.network {
        0 => return None,
        network => message.data.get_mut(usize::from(network)..)?,
    };
    let (pseudo, upper, at, end): (PseudoHeader, u8, usize, usize) = match version(packet)? {
        4 => {
            let (mut header, _) = Ipv4Header::parse(packet).ok()?;
            header.payload_len = grown(header.payload_len)?;
            let at = header.emit(packet).ok()?;
            if header.more_fragments || header.fragment_offset > 0 {
                return None;
            }
            ((&header).into(), header.protocol, at, at + usize::from(header.payload_len))
        }
        6 => {
            let (mut header, payload) = Ipv6Header::parse(packet).ok()?;
            let upper = upper_layer(header.next_header, payload)?;
            header.payload_len = grown(header.payload_len)?;
            let at = header.emit(packet).ok()?;
            if upper.is_later_fragment || header.next_header == FRAGMENT {
                return None;
            }
            ((&header).into(), upper.protocol, at + upper.offset, at + usize::from(header.payload_len))
        }
        _ => return None,
    };
    let segment = packet.get_mut(at..end)?;
    match upper {
        protocol::UDP => {
            let has_checksum = UdpView::new(&*segment).ok()?.checksum() != 0;
            let (mut header, _) = UdpHeader::parse(segment).ok()?;
            header.payload_len = grown(header.payload_len)?;
            header.emit(segment, pseudo).ok()?;
            if !has_checksum {
                segment[6..8].fill(0); // RFC 768: 0 means no checksum.
            }
        }
        protocol::TCP => {
            let (header, _) = TcpHeader::parse(segment).ok()?;
            header.emit(segment, pseudo).ok()?;
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{AES, COMPRESSION, Packet, SCENE, SHA, outputs, run};
    use crate::protocol::Fields;
    use expect_test::expect;
    use wire::format::HeaderOptions;
    use wire::ipv4::{Ipv4Header, Ipv4View, protocol};
    use wire::ipv6::{Ipv6Header, Ipv6View};
    use wire::tcp::{TcpHeader, TcpView};
    use wire::udp::{UdpHeader, UdpView};

    /// An Ethernet frame with 300 bytes of payload and with checksums.
    fn frame(version: u8, transport: u8) -> Packet {
        let payload = b"again and again ".iter().cycle().take(300).copied().collect::<Vec<_>>();
        let (ip_len, transport_len) =
            (if version == 4 { 20 } else { 40 }, if transport == protocol::UDP { 8 } else { 20 });
        let mut data = vec![0; 14 + ip_len + transport_len];
        data.extend(&payload);
        let len = (transport_len + payload.len()) as u16;
        let pseudo = if version == 4 {
            let header = Ipv4Header {
                dscp_ecn: 0,
                identification: 7,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: transport,
                src: [10, 0, 0, 1].into(),
                dst: [10, 0, 0, 2].into(),
                options: HeaderOptions::new(&[]).unwrap(),
                payload_len: len,
            };
            header.emit(&mut data[14..]).unwrap();
            (&header).into()
        } else {
            let header = Ipv6Header {
                traffic_class: 0,
                flow_label: 5,
                payload_len: len,
                next_header: transport,
                hop_limit: 64,
                src: [1; 16].into(),
                dst: [2; 16].into(),
            };
            header.emit(&mut data[14..]).unwrap();
            (&header).into()
        };
        let segment = &mut data[14 + ip_len..];
        if transport == protocol::UDP {
            let header = UdpHeader { src_port: 1, dst_port: 2, payload_len: payload.len() as u16 };
            header.emit(segment, pseudo).unwrap();
        } else {
            let header = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq: 3,
                ack: 4,
                flags: 0x18,
                window: 5,
                urgent: 0,
                options: HeaderOptions::new(&[]).unwrap(),
            };
            header.emit(segment, pseudo).unwrap();
        }
        let fields = Fields {
            network: 14,
            transport: 14 + ip_len as u16,
            payload: (14 + ip_len + transport_len) as u16,
            hash: 0,
        };
        Packet { words: "0", fields, data }
    }

    /// Returns true if every length reaches the end of the frame and every checksum is correct.
    fn is_right(data: &[u8]) -> bool {
        let packet = &data[14..];
        let (pseudo, upper, segment) = match packet[0] >> 4 {
            4 => {
                let view = Ipv4View::new(packet).unwrap();
                assert!(view.checksum_is_valid());
                (
                    (&Ipv4Header::parse(packet).unwrap().0).into(),
                    view.protocol(),
                    &packet[20..usize::from(view.total_len())],
                )
            }
            _ => {
                let view = Ipv6View::new(packet).unwrap();
                let end = 40 + usize::from(view.payload_len());
                ((&Ipv6Header::parse(packet).unwrap().0).into(), view.next_header(), &packet[40..end])
            }
        };
        assert!(data.ends_with(segment), "the segment must end the frame");
        match upper {
            protocol::UDP => {
                let view = UdpView::new(segment).unwrap();
                usize::from(view.len()) == segment.len() && view.checksum_is_valid(pseudo)
            }
            _ => TcpView::new(segment).unwrap().checksum_is_valid(pseudo),
        }
    }

    fn engine(toml: &str, direction: &str) -> String {
        toml.replace("\"keep\"", "\"update\"")
            .replace("region = { kind = \"all\" }", "region = { kind = \"payload\" }")
            .replace("\"compress\"", &format!("\"{direction}\""))
    }

    fn frames() -> Vec<Packet> {
        [(4, protocol::UDP), (4, protocol::TCP), (6, protocol::UDP), (6, protocol::TCP)]
            .map(|(version, transport)| frame(version, transport))
            .to_vec()
    }

    #[test]
    fn headers_follow_the_changed_payload() {
        let frames = frames();
        let packed = outputs(&engine(COMPRESSION, "compress"), &frames);
        let lengths: Vec<_> = packed.iter().map(|out| out.data.len()).collect();
        expect!["[107, 119, 127, 139]"].assert_eq(&format!("{lengths:?}"));
        assert!(packed.iter().all(|out| is_right(&out.data)));
        let packed = frames.iter().zip(packed).map(|(frame, out)| Packet { data: out.data, ..frame.clone() });
        let back = outputs(&engine(COMPRESSION, "decompress"), &packed.collect::<Vec<_>>());
        for (frame, out) in frames.iter().zip(back) {
            assert_eq!(out.data, frame.data, "the frame is restored, headers included");
        }
        let append = engine(SHA, "").replace("\"discard\"", "\"append\"");
        for toml in [engine(AES, ""), append] {
            let outs = outputs(&toml, &frames);
            assert!(outs.iter().zip(&frames).all(|(out, frame)| out.data != frame.data && is_right(&out.data)));
        }
    }

    #[test]
    fn headers_that_cannot_be_updated_stay() {
        let changed = |change: fn(&mut Packet)| {
            let mut packet = frame(4, protocol::UDP);
            change(&mut packet);
            packet
        };
        let (names, packets): (Vec<_>, Vec<_>) = [
            ("a correct frame", changed(|_| {})),
            ("without a checksum", changed(|packet| packet.data[40..42].fill(0))),
            ("cut short", changed(|packet| packet.data.truncate(43))),
            ("a fragment", changed(|packet| packet.data[20] = 0x20)),
            ("another protocol", changed(|packet| packet.data[23] = 132)),
            ("another version", changed(|packet| packet.data[14] = 0x55)),
            ("not IP", changed(|packet| packet.fields.network = 0)),
            ("beyond the end", changed(|packet| packet.fields.network = 60_000)),
        ]
        .into_iter()
        .unzip();
        let (outs, counters) = run(&engine(COMPRESSION, "compress"), &packets, &SCENE);
        let mut table = String::new();
        for ((name, packet), out) in names.iter().zip(&packets).zip(outs) {
            let parts = [("IP", 14..34), ("UDP", 34..40), ("checksum", 40..42)];
            let changes = parts.into_iter().filter(|(_, range)| out.data[range.clone()] != packet.data[range.clone()]);
            let changes: Vec<_> = changes.map(|(part, _)| part).collect();
            table += &format!("{name}: {changes:?}\n");
        }
        table += counters.iter().find(|line| line.contains("headers_updated")).expect("some are");
        expect![[r#"
            a correct frame: ["IP", "UDP", "checksum"]
            without a checksum: ["IP", "UDP"]
            cut short: ["IP"]
            a fragment: ["IP"]
            another protocol: ["IP"]
            another version: []
            not IP: []
            beyond the end: []
            it.lane[0].headers_updated 2"#]]
        .assert_eq(&table);
    }

    #[test]
    fn headers_within_the_region_cannot_be_updated() {
        let params: crate::unit::EngineParams = toml::from_str(&AES.replace("\"keep\"", "\"update\"")).unwrap();
        expect!["headers is `update`; region must then be of kind `payload`"].assert_eq(&params.check().unwrap_err());
    }
}
