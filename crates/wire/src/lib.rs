//! Packet formats, match expressions, messages, captures, and traffic generators.
//!
//! Layer 1 of spinet: this crate knows no NIC and no simulator. Packets pass through it in this order:
//!
//! 1. A [`source::Source`] returns packets with arrival times: a [`capture`] or generated [`traffic`]. Arrival times are the original ones, scaled ones, or those of a line ([`pacing`]).
//! 2. [`layers::Layers`] finds the layers of a packet once.
//! 3. A match expression ([`expr`]) selects packets. A [`message::Classifier`] assigns each packet to a message.
//! 4. [`capture::PcapngWriter`] writes the packets that a NIC sent.
//!
//! Each packet format has a file: [`eth`], [`vlan`], [`arp`], [`ipv4`], [`ipv6`], [`udp`], [`tcp`], [`icmp`],
//! [`icmpv6`], [`roce`]. Each file has byte ranges, a view that checks a buffer once, and an owned header with `parse` and
//! `emit`.
//! ```
//! use wire::{expr::Matcher, layers::Layers, message::Classifier, pacing::Pacing, source::Source, traffic::*};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Matcher::parse("udp.dst_port == 9999 && ipv4.src in 10.0.0.0/8")?;
//! let mut messages = Classifier::new("by 5-tuple count 16".parse()?);
//! let spec = TrafficSpec::parse("udp:size=64,count=1000,rate=400G,flows=4")?;
//! let mut source = Generator::new(spec, Pacing::TIMES)?;
//! while let Some(frame) = source.next()? {
//!     let layers = Layers::parse(frame.bytes);
//!     if context.matches_layers(frame.bytes, &layers) {
//!         messages.classify(frame.bytes, &layers);
//!     }
//! }
//! // Each flow has 250 packets: 15 whole messages and one that stays open.
//! assert_eq!((messages.counts().ended, messages.open_messages().len()), (60, 4));
//! # Ok(())
//! # }
//! ```
//!
//! Packets are without frame check sequence throughout, times are femtoseconds in integers, and everything is the
//! same on every host.

pub mod arp;
pub mod capture;
pub mod checksum;
pub mod ecn;
pub mod eth;
pub mod expr;
pub mod faults;
pub mod format;
pub mod icmp;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod layers;
pub mod message;
pub mod pacing;
pub mod pspin;
pub mod random;
pub mod roce;
pub mod rule_set;
pub mod source;
pub mod tcp;
pub mod traffic;
pub mod udp;
pub mod units;
pub mod vlan;
