//! Any bytes as a packet: layers are within the packet, and each parsed header is written back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::layers::{Layer, Layers};
use wire::{arp, eth, roce, vlan};

fuzz_target!(|packet: &[u8]| {
    let layers = Layers::parse(packet);
    assert!(packet.get(layers.payload()).is_some());
    let mut out = [0; 60];
    if layers.has(Layer::Eth) {
        let (header, _) = eth::EthHeader::parse(packet).expect("a layer that is present parses");
        let len = header.emit(&mut out).expect("what was read can be written");
        assert_eq!(out[..len], packet[..len]);
    }
    if let Some(at) = layers.offset(Layer::Vlan) {
        let (header, _) = vlan::VlanHeader::parse(&packet[at..]).expect("a layer that is present parses");
        let len = header.emit(&mut out).expect("what was read can be written");
        assert_eq!(out[..len], packet[at..at + len]);
    }
    if let Some(at) = layers.offset(Layer::Arp) {
        let (header, _) = arp::ArpHeader::parse(&packet[at..]).expect("a layer that is present parses");
        let len = header.emit(&mut out).expect("what was read can be written");
        assert_eq!(out[..len], packet[at..at + len]);
    }
    roce::icrc_is_valid(packet);
    if let Ok((header, _)) = roce::Bth::parse(packet) {
        header.emit(&mut out).expect("what was read can be written");
        assert_eq!(roce::Bth::parse(&out).map(|(header, _)| header), Ok(header), "reserved bits are written as 0");
    }
});
