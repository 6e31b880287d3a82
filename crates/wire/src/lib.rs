//! Packet formats, match expressions, messages, captures in and out, traffic generators.

pub mod arp;
pub mod capture;
pub mod checksum;
pub mod eth;
pub mod expr;
pub mod format;
pub mod icmp;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod layers;
pub mod message;
pub mod near;
pub mod pacing;
pub mod random;
pub mod source;
pub mod tcp;
pub mod text;
pub mod traffic;
pub mod udp;
pub mod units;
pub mod vlan;
