//! Packet formats, match expressions, messages, captures in and out, traffic generators.
//!
//! Layer 1 of spinet: this crate knows no NIC and no simulator. Packets go through it in this order:
//!
//! 1. A [`source::Source`] gives packets with their arrival times: a [`capture`] or generated [`traffic`], its
//!    times as they are, scaled, or those of a line ([`pacing`]).
//! 2. [`layers::Layers`] finds the layers of a packet once.
//! 3. A match expression ([`expr`]) says whether someone means the packet, and a [`message::Classifier`] to which
//!    message it belongs.
//! 4. [`capture::PcapngWriter`] writes what a NIC sent.
//!
//! Each packet format has a file: [`eth`], [`vlan`], [`arp`], [`ipv4`], [`ipv6`], [`udp`], [`tcp`], [`icmp`],
//! [`icmpv6`]; each with byte ranges, a view that checks a buffer once, and an owned header with `parse` and `emit`.
//!
//! Packets are without frame check sequence throughout, times are femtoseconds in integers, and everything is the
//! same on every host.

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
