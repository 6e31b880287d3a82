//! The environment of a card: the sending and the receiving network, and the host with its memory.
//!
//! A run provides the traffic as [`Offered`]. Every frame can be generated from its number, so a receiver checks
//! frames with a [`Checker`] and stores only numbers.

mod acknowledgements;
mod check;
mod datagrams;
mod frame_sink;
mod go;
mod host_memory;
mod log;
mod packet_feeder;
mod schedule;
mod traffic;

pub use acknowledgements::Acknowledgements;
pub use check::{Checker, Mismatch, Verdict};
pub use datagrams::{Datagrams, Station};
pub use frame_sink::{FrameSink, FrameSinkParams};
pub use go::Go;
pub use host_memory::HostMemory;
pub use log::{FrameLog, HostPlace, Passage};
pub use packet_feeder::{PacketFeeder, PacketFeederParams, PacketFeederPorts};
pub use schedule::Schedule;
pub use traffic::{FrameTraffic, Frames, LineFrames, ListedFrame, Offered, Pace, TrafficError};
