//! Messages between the nodes of a PANIC NIC: a descriptor and a packet, in flits; and credit notes.

use crate::drops::DropReason;
use crate::pifo::Ranks;
use crate::world::ExternalPort;
use kernel::Cycle;
use smallvec::SmallVec;

/// A port of the interconnect.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct NodeId(pub u8);

/// One service in a chain. Source: 4.1, Figure 3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Index of the service in the scheduler.
    pub service: u8,
    /// Traffic class for policies, for example a tenant.
    pub class: u8,
    /// For strict priority; lower is more urgent.
    pub priority: u32,
    /// Argument for the service, for example the service time in cycles of a delay unit.
    pub metadata: u64,
    /// The unit to which the previous unit pushes the packet; `None` sends it back to the scheduler.
    pub push_to: Option<NodeId>,
}

impl Hop {
    /// A visit of class 0, most urgent, with this argument for the service.
    pub fn new(service: u8, metadata: u64) -> Hop {
        Hop { service, class: 0, priority: 0, metadata, push_to: None }
    }
}

/// Everything the NIC knows about a packet. Source: 4.1, Figure 3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Packet number.
    pub id: u64,
    /// Flow, for flow affinity.
    pub flow: u32,
    /// Traffic class of the packet as a whole.
    pub class: u8,
    /// Services to visit, in order.
    pub chain: SmallVec<[Hop; 4]>,
    /// Index in the chain of the next service to visit.
    pub next: usize,
    /// Node where the packet leaves after all services.
    pub exit: NodeId,
    /// The port behind the exit: of the network or of the host.
    pub side: ExternalPort,
    /// The scheduler port, and so the bank, that the packet always uses (RTL).
    pub home: NodeId,
    /// Ranks at the next service, from the innermost level of the policy to the outermost; empty before they are computed.
    pub ranks: Ranks,
    /// How often a unit refused it.
    pub detours: u32,
    /// Slack: total cycles that it may wait, for least slack time first.
    pub slack_cycles: u64,
    /// Cycles waited in the scheduler so far.
    pub waited_cycles: u64,
    /// Header offsets and hash found by the RMT pipeline.
    pub fields: Fields,
    /// The packet's steps through the NIC, with times.
    pub trail: Trail,
}

/// Results of the RMT pipeline for units, so that they need not parse the packet again (4.1). Offsets count from the first
/// byte; 0 means not present.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fields {
    /// Offset of the first byte after the Ethernet and VLAN headers.
    pub network: u16,
    /// Offset of the transport header.
    pub transport: u16,
    /// Offset of the first byte after all headers.
    pub payload: u16,
    /// Hash over the fields that the tables select, for example the 5-tuple.
    pub hash: u32,
}

/// A step of a packet at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketStep {
    /// Its first bytes arrived from the network or from the host.
    Arrived,
    /// This NIC lacks its services; the packet goes to the host unchanged.
    Unserved,
    /// Its descriptor left the RMT pipeline and entered the interconnect.
    Entered,
    /// Its descriptor reached the scheduler.
    Queued,
    /// Its descriptor left the scheduler for a unit.
    Scheduled,
    /// A unit accepted its descriptor.
    Taken,
    /// A unit had no room and sends it back.
    Refused,
    /// The unit's engine started it.
    Begun,
    /// The unit's engine finished it; an engine that knows the time in advance may mark it earlier.
    Finished,
    /// Its descriptor left the unit.
    Done,
    /// Its first bytes left the interconnect for the network or the host.
    Leaving,
    /// Its last bytes left the NIC.
    Left,
}

/// A step with its time and place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Cycle of the NIC's clock.
    pub at: Cycle,
    /// The step.
    pub step: PacketStep,
    /// The node; for the scheduler's steps, the node of its port.
    pub node: NodeId,
}

/// All steps of a packet in order of time. Reports compute every latency from it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trail(Vec<Mark>);

impl Trail {
    /// An empty trail with space for the usual steps through this number of services.
    pub fn with_services(n: usize) -> Trail {
        // Arrived, entered, queued, scheduled, leaving and left; and four steps at each unit.
        Trail(Vec::with_capacity(6 + 4 * n))
    }

    /// Records a step.
    pub fn mark(&mut self, at: Cycle, step: PacketStep, node: NodeId) {
        self.0.push(Mark { at, step, node });
    }

    /// The recorded steps, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.0
    }
}

impl Descriptor {
    /// The next service to visit; `None` after the last.
    pub fn hop(&self) -> Option<&Hop> {
        self.chain.get(self.next)
    }

    /// Finishes the present service; returns the next node and the kind of message. Source: 4.3.1, push-based chaining.
    pub fn advance(&mut self) -> (NodeId, Leg) {
        assert!(self.next < self.chain.len(), "there must be a service to finish");
        self.next += 1;
        self.ranks.clear();
        match self.hop().map(|hop| hop.push_to) {
            None => (self.exit, Leg::Exit),
            Some(Some(unit)) => (unit, Leg::Pushed),
            Some(None) => (self.home, Leg::Entry),
        }
    }
}

/// Kind of a message, by its place in the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leg {
    /// To the scheduler, to be scheduled for its next service.
    Entry,
    /// From the scheduler to a unit, with a credit of that unit.
    Paid,
    /// From one unit to another, without a credit.
    Pushed,
    /// From a unit without room back to the scheduler.
    Detour,
    /// Out of the NIC.
    Exit,
    /// A unit dropped the packet for this reason; goes to the exit, which records the drop.
    Dropped(DropReason),
}

/// A packet inside the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Destination node.
    pub to: NodeId,
    /// Kind of the message.
    pub leg: Leg,
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// The packet.
    pub data: Vec<u8>,
}

/// One cycle's worth of a message: first the descriptor, then the packet. All bytes travel with the descriptor, so that they
/// are in one place; the flits say when they become usable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flit {
    /// The head flit: the descriptor, alone in its cycle (RTL).
    Head(Box<Message>),
    /// Bytes of the packet, except the last flit. Several of them may move as a run.
    Body,
    /// The last flit of the packet.
    Tail,
}

/// Number of flits of a message with `len` packet bytes: one for the descriptor and at least one for the packet.
pub fn n_flits(len: usize, flit_bytes: usize) -> usize {
    1 + len.div_ceil(flit_bytes).max(1)
}

/// A unit's note to the credit manager. Source: 4.3.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreditNote {
    /// Adds a credit: the unit has sent a packet on, or has sent back one that came with a credit.
    Return,
    /// Removes a credit: the unit has accepted a pushed packet.
    Cancel,
}
