//! The edges of the NIC: source and destination of packets, host memory, and notices of finished packets.
//!
//! These traits are the only interfaces between a model and the outside. They are called within the tick of the
//! component that owns them, so their answers may depend only on their arguments and their own state.

use crate::host_events::HostEvent;
use crate::protocol::{Context, Kill, PacketId};
use kernel::Cycle;
use std::rc::Rc;

/// A packet on its way into the NIC.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// First cycle in which the NIC can accept it.
    pub earliest: Cycle,
    /// Cycles from accepting it to accepting the next; 0 and 1 mean back to back.
    pub gap: u64,
    /// The packet.
    pub bytes: Box<[u8]>,
    /// Identity of its message.
    pub msgid: u16,
    /// True if the network says that this is the first packet of its message; `None` takes the first to arrive.
    /// Relevant for contexts with a header handler.
    pub som: Option<bool>,
    /// True for the last packet of its message.
    pub eom: bool,
    /// Number of bytes to copy to L1.
    pub xfer_size: u32,
    /// The context of its message.
    pub context: Rc<Context>,
    /// A message that the card ends first, and whose queue goes to this packet's message.
    pub evicts: Option<Kill>,
    /// Returned in [`PacketDone`].
    pub user: u64,
}

/// Source of packets.
pub trait PacketSource {
    /// Returns the next packet in order of arrival, or `None`. Called when the previous packet has been accepted;
    /// after `None`, called again at the latest when [`crate::Pspin::expect_packets`] says so.
    fn next(&mut self, now: Cycle) -> Option<Arrival>;

    /// After `None`: the latest time of the next call, if known. So a source can hold a packet until its arrival and
    /// decide then.
    fn next_at(&mut self) -> Option<Cycle> {
        None
    }
}

impl<I: Iterator<Item = Arrival>> PacketSource for I {
    fn next(&mut self, _now: Cycle) -> Option<Arrival> {
        Iterator::next(self)
    }
}

/// A packet that leaves the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Time at which the last byte leaves.
    pub cycle: Cycle,
    /// The packet whose handler sent this one.
    pub cause: PacketId,
    /// Destination, as given by the handler.
    pub nid: u32,
    /// Flow, as given by the handler: 0 for a plain packet, otherwise an RDMA put.
    pub fid: u32,
    /// The packet.
    pub bytes: Box<[u8]>,
}

/// Destination of packets.
pub trait Egress {
    /// Accepts a packet.
    fn send(&mut self, departure: Departure);
}

impl<F: FnMut(Departure)> Egress for F {
    fn send(&mut self, departure: Departure) {
        self(departure);
    }
}

/// Host memory, all 2^64 bytes. A NIC access has at most 64 bytes and does not wrap around.
pub trait HostMemory {
    /// Reads `data.len()` bytes at `addr`.
    fn read(&mut self, addr: u64, data: &mut [u8]);
    /// Writes `data` at `addr`.
    fn write(&mut self, addr: u64, data: &[u8]);
}

/// A packet that the NIC is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketDone {
    /// Number of the packet.
    pub packet: PacketId,
    /// `user` of its [`Arrival`].
    pub user: u64,
    /// When it got room in L2 packet memory.
    pub nic_arrival: Cycle,
    /// When its handler execution request reached the message queues.
    pub her: Cycle,
    /// When its feedback reached the NIC.
    pub feedback: Cycle,
}

/// Receives notices of finished packets.
pub trait Completions {
    /// Called once for each packet that was not dropped.
    fn done(&mut self, packet: PacketDone);
}

impl<F: FnMut(PacketDone)> Completions for F {
    fn done(&mut self, packet: PacketDone) {
        self(packet);
    }
}

/// The host's view of the events of its contexts.
pub trait HostEvents {
    /// Called for each event in the order of time; `at` is the cycle in which the host has it. Events of one cycle come in
    /// an order that is the same in every run. `context` is the [`Context::id`].
    fn event(&mut self, at: Cycle, context: u32, event: &HostEvent);
}

/// A host that ignores all events.
#[derive(Clone, Copy, Default, Debug)]
pub struct IgnoreEvents;

impl HostEvents for IgnoreEvents {
    fn event(&mut self, _at: Cycle, _context: u32, _event: &HostEvent) {}
}

impl<F: FnMut(Cycle, u32, &HostEvent)> HostEvents for F {
    fn event(&mut self, at: Cycle, context: u32, event: &HostEvent) {
        self(at, context, event);
    }
}

/// Destination of the lines that programs print.
pub trait Console {
    /// One line, without its end, that a core finished in this cycle.
    fn line(&mut self, at: Cycle, cluster: u32, core: u32, text: &str);
}
