//! The world around a card: the network that sends to it and hears it, and the memory of its host.
//!
//! What travels is said by [`Offered`], which a run brings along. Every frame can be made again from its number, so that whoever
//! gets one can tell by a [`Checker`] whether it is what was sent, whole and in order, and nothing but numbers is kept.

mod acknowledgements;
mod check;
mod datagrams;
mod frame_sink;
mod go;
mod host_memory;
mod log;
mod nic_feeder;
mod packet_feeder;
mod schedule;
mod traffic;

pub use acknowledgements::Acknowledgements;
pub use check::{Checker, Mismatch, Verdict};
pub use datagrams::{Datagrams, Station};
pub use frame_sink::{FrameSink, FrameSinkParams};
pub use go::Go;
pub use host_memory::HostMemory;
pub use log::{FrameLog, Passage};
pub use nic_feeder::{After, Contents, Mailbox, NicFeeder, NicFeederParams, NicFeederPorts, Write};
pub use packet_feeder::{PacketFeeder, PacketFeederParams, PacketFeederPorts};
pub use schedule::Schedule;
pub use traffic::{Frames, Given, Offered, Pace, Traffic, TrafficError};
