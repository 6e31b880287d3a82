//! Round trips of all headers: parsing returns what was written. The tests of IPv4 and TCP with
//! options are beside their code.

use proptest::prelude::*;
use wire::arp::ArpHeader;
use wire::checksum::PseudoHeader;
use wire::eth::{EthHeader, Mac};
use wire::icmp::{IcmpHeader, IcmpView};
use wire::icmpv6::{Icmpv6Header, Icmpv6View};
use wire::ipv6::Ipv6Header;
use wire::udp::{UdpHeader, UdpView};
use wire::vlan::VlanHeader;

fn pseudo() -> impl Strategy<Value = PseudoHeader> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(src, dst)| PseudoHeader::V4 { src: src.into(), dst: dst.into() }),
        any::<(u128, u128)>().prop_map(|(src, dst)| PseudoHeader::V6 { src: src.into(), dst: dst.into() }),
    ]
}

proptest! {
    #[test]
    fn eth(dst: [u8; 6], src: [u8; 6], ether_type: u16) {
        let (header, mut bytes) = (EthHeader { dst: Mac(dst), src: Mac(src), ether_type }, [0; 14]);
        header.emit(&mut bytes).unwrap();
        prop_assert_eq!(EthHeader::parse(&bytes).unwrap().0, header);
    }

    #[test]
    fn vlan(priority in 0u8..8, drop_eligible: bool, id in 0u16..4096, ether_type: u16) {
        let (header, mut bytes) = (VlanHeader { priority, drop_eligible, id, ether_type }, [0; 4]);
        header.emit(&mut bytes).unwrap();
        prop_assert_eq!(VlanHeader::parse(&bytes).unwrap().0, header);
    }

    #[test]
    fn arp(operation: u16, macs: ([u8; 6], [u8; 6]), ips: (u32, u32)) {
        let header = ArpHeader {
            operation,
            sender_mac: Mac(macs.0),
            sender_ip: ips.0.into(),
            target_mac: Mac(macs.1),
            target_ip: ips.1.into(),
        };
        let mut bytes = [0; 28];
        header.emit(&mut bytes).unwrap();
        prop_assert_eq!(ArpHeader::parse(&bytes).unwrap().0, header);
    }

    #[test]
    fn ipv6(
        traffic_class: u8, flow_label in 0u32..1 << 20, payload_len: u16, next_header: u8, hop_limit: u8, src: u128, dst: u128,
    ) {
        let (src, dst) = (src.into(), dst.into());
        let header = Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        let mut bytes = [0; 40];
        header.emit(&mut bytes).unwrap();
        prop_assert_eq!(Ipv6Header::parse(&bytes).unwrap().0, header);
    }

    #[test]
    fn udp(src_port: u16, dst_port: u16, payload: Vec<u8>, pseudo in pseudo()) {
        let header = UdpHeader { src_port, dst_port, payload_len: payload.len() as u16 };
        let mut bytes = [&[0xff; 8], &payload[..]].concat();
        header.emit(&mut bytes, pseudo).unwrap();
        prop_assert!(UdpView::new(&bytes).unwrap().checksum_is_valid(pseudo));
        prop_assert_eq!(UdpHeader::parse(&bytes).unwrap(), (header, &payload[..]));
    }

    #[test]
    fn icmp(icmp_type: u8, code: u8, rest: u32, payload: Vec<u8>, pseudo in pseudo()) {
        let header = IcmpHeader { icmp_type, code, rest };
        let mut bytes = [&[0xff; 8], &payload[..]].concat();
        header.emit(&mut bytes).unwrap();
        prop_assert!(IcmpView::new(&bytes).unwrap().checksum_is_valid());
        prop_assert_eq!(IcmpHeader::parse(&bytes).unwrap(), (header, &payload[..]));
        let header = Icmpv6Header { icmp_type, code, rest };
        header.emit(&mut bytes, pseudo).unwrap();
        prop_assert!(Icmpv6View::new(&bytes).unwrap().checksum_is_valid(pseudo));
        prop_assert_eq!(Icmpv6Header::parse(&bytes).unwrap(), (header, &payload[..]));
    }
}
