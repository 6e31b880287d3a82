//! The NIC's edge: where its packets come from and go to, the host's memory, and who hears that a packet is done.
//!
//! These are the only ways in and out of a model. They are called within the tick of the component that owns them, so
//! what they answer must depend on their arguments and their own state alone.

use crate::host_events::HostEvent;
use crate::protocol::{Context, Kill, PacketId};
use kernel::Cycle;
use std::rc::Rc;

/// A packet on its way into the NIC.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The NIC does not take it before this cycle.
    pub earliest: Cycle,
    /// Cycles from taking it to taking the next; 0 and 1 are back to back.
    pub gap: u64,
    /// The packet.
    pub bytes: Box<[u8]>,
    /// Identity of its message.
    pub msgid: u16,
    /// Whether it is the first packet of its message, if the network says so; `None` takes the first to arrive for it.
    /// Matters to contexts with a header handler.
    pub som: Option<bool>,
    /// The last packet of its message.
    pub eom: bool,
    /// Bytes of it that are copied to L1.
    pub xfer_size: u32,
    /// The context of its message.
    pub context: Rc<Context>,
    /// A message that the card ends first, whose queue this one's message gets.
    pub evicts: Option<Kill>,
    /// Given back in [`PacketDone`].
    pub user: u64,
}

/// Where packets come from.
pub trait PacketSource {
    /// The next packet in order of arrival, or `None` if there is none. Asked for one packet at a time, when the one
    /// before has been taken; after `None` again when [`crate::Pspin::expect_packets`] says so, or sooner.
    fn next(&mut self, now: Cycle) -> Option<Arrival>;

    /// After `None`: when to ask again at the latest, if that is known. So a source may keep a packet until it arrives, and
    /// decide then what becomes of it.
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
    /// When its last byte is handed over.
    pub cycle: Cycle,
    /// The packet whose handler sent it.
    pub cause: PacketId,
    /// Destination, as the handler gave it.
    pub nid: u32,
    /// Flow, as the handler gave it: 0 for a plain packet, else an RDMA put.
    pub fid: u32,
    /// The packet.
    pub bytes: Box<[u8]>,
}

/// Where packets go.
pub trait Egress {
    /// Takes a packet.
    fn send(&mut self, departure: Departure);
}

impl<F: FnMut(Departure)> Egress for F {
    fn send(&mut self, departure: Departure) {
        self(departure);
    }
}

/// The host's memory, all 2^64 bytes of it; a NIC access is at most 64 bytes and does not wrap around.
pub trait HostMemory {
    /// Fills `data` from `addr` on.
    fn read(&mut self, addr: u64, data: &mut [u8]);
    /// Writes `data` from `addr` on.
    fn write(&mut self, addr: u64, data: &[u8]);
}

/// A packet that the NIC is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketDone {
    /// Which.
    pub packet: PacketId,
    /// Of its [`Arrival`].
    pub user: u64,
    /// When it got room in L2 packet memory.
    pub nic_arrival: Cycle,
    /// When its handler execution request reached the message queues.
    pub her: Cycle,
    /// When its feedback reached the NIC.
    pub feedback: Cycle,
}

/// Who hears that packets are done.
pub trait Completions {
    /// Told once for each packet that was not dropped.
    fn done(&mut self, packet: PacketDone);
}

impl<F: FnMut(PacketDone)> Completions for F {
    fn done(&mut self, packet: PacketDone) {
        self(packet);
    }
}

/// The host, as far as it hears what becomes of its contexts.
pub trait HostEvents {
    /// Told of each event in the order of time; `at` is the cycle in which the host has it. Events of one cycle come in
    /// an order that is the same in every run. `context` is the [`Context::id`].
    fn event(&mut self, at: Cycle, context: u32, event: &HostEvent);
}

/// A host that does not listen.
#[derive(Clone, Copy, Default, Debug)]
pub struct Deaf;

impl HostEvents for Deaf {
    fn event(&mut self, _at: Cycle, _context: u32, _event: &HostEvent) {}
}

impl<F: FnMut(Cycle, u32, &HostEvent)> HostEvents for F {
    fn event(&mut self, at: Cycle, context: u32, event: &HostEvent) {
        self(at, context, event);
    }
}

/// Where the lines go that programs print.
pub trait Console {
    /// One line, without its end, that a core finished in this cycle.
    fn line(&mut self, at: Cycle, cluster: u32, core: u32, text: &str);
}
