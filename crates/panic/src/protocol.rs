//! What travels between the nodes of a PANIC NIC: messages of a descriptor and a packet, in flits, and notes about credits.

use crate::drops::DropReason;
use crate::pifo::Ranks;
use crate::world::Side;
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
    /// Position of the service among the scheduler's.
    pub service: u8,
    /// Traffic class, for policies: a tenant for example.
    pub class: u8,
    /// For strict priority; lower is more urgent.
    pub priority: u32,
    /// What the service itself wants to know, as the cycles of a delay unit.
    pub metadata: u64,
    /// The unit to which the one before pushes the packet; without one it goes back to the scheduler.
    pub push_to: Option<NodeId>,
}

/// What the NIC knows of a packet. Source: 4.1, Figure 3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Number of the packet.
    pub id: u64,
    /// Flow, for affinity.
    pub flow: u32,
    /// Traffic class of the whole packet.
    pub class: u8,
    /// Services to visit, in order.
    pub chain: SmallVec<[Hop; 4]>,
    /// Position in the chain of the service to visit next.
    pub next: usize,
    /// Where the packet goes when all services are visited.
    pub exit: NodeId,
    /// What is behind that: a network port, or a queue of the host.
    pub side: Side,
    /// The scheduler's port, and with it the bank, that the packet uses whenever it is there (RTL).
    pub home: NodeId,
    /// Its ranks at the service to visit next, from the innermost level of the policy outwards; none before it has any.
    pub ranks: Ranks,
    /// How often a unit had no room for it.
    pub detours: u32,
    /// Cycles that it may wait in all, for least slack time first.
    pub slack_cycles: u64,
    /// Cycles that it has waited in the scheduler.
    pub waited_cycles: u64,
    /// What the RMT pipeline found in the packet.
    pub fields: Fields,
    /// Where it was, and when.
    pub trail: Trail,
}

/// What the RMT pipeline tells units about a packet, so that they need not look (4.1). Offsets count from the first byte; 0 is
/// none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fields {
    /// First byte behind the Ethernet and VLAN headers.
    pub network: u16,
    /// First byte of the transport header.
    pub transport: u16,
    /// First byte behind all headers.
    pub payload: u16,
    /// Hash over what the tables say, the 5-tuple for example.
    pub hash: u32,
}

/// What happened to a packet at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Its first bytes came, from the network or from the host.
    Arrived,
    /// It wants services that this NIC cannot have; the host gets it untouched.
    Unserved,
    /// Its descriptor went into the interconnect, behind the RMT pipeline.
    Entered,
    /// Its descriptor came to the scheduler.
    Queued,
    /// Its descriptor left the scheduler for a unit.
    Scheduled,
    /// A unit took its descriptor.
    Taken,
    /// A unit had no room for it and sends it back.
    Refused,
    /// The unit's engine began with it.
    Begun,
    /// The unit's engine was done with it; an engine that knows before may mark it before.
    Finished,
    /// Its descriptor left the unit.
    Done,
    /// Its first bytes left the interconnect for the network or the host.
    Leaving,
    /// Its last bytes left the NIC.
    Left,
}

/// A step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Cycle of the NIC's clock.
    pub at: Cycle,
    /// What happened.
    pub step: Step,
    /// Where; for what the scheduler does, the node of the port.
    pub node: NodeId,
}

/// All steps of a packet, in order of time: what reports say about where its time went comes from this alone.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trail(Vec<Mark>);

impl Trail {
    /// Something happened.
    pub fn mark(&mut self, at: Cycle, step: Step, node: NodeId) {
        self.0.push(Mark { at, step, node });
    }

    /// What happened, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.0
    }
}

impl Descriptor {
    /// The service to visit next, unless all are visited.
    pub fn hop(&self) -> Option<&Hop> {
        self.chain.get(self.next)
    }

    /// The service to visit next is done; says where the packet goes then, and as what. Source: 4.3.1, push-based chaining.
    pub fn advance(&mut self) -> (NodeId, Leg) {
        assert!(self.next < self.chain.len(), "a service is done only if there was one to do");
        self.next += 1;
        self.ranks.clear();
        match self.hop().map(|hop| hop.push_to) {
            None => (self.exit, Leg::Exit),
            Some(Some(unit)) => (unit, Leg::Pushed),
            Some(None) => (self.home, Leg::Entry),
        }
    }
}

/// As what a packet goes to the next node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leg {
    /// To the scheduler, to be scheduled for its next service.
    Entry,
    /// From the scheduler to a unit, of which it has a credit.
    Paid,
    /// From one unit to another, of which it has no credit.
    Pushed,
    /// From a unit that has no room for it back to the scheduler.
    Detour,
    /// Out of the NIC.
    Exit,
    /// To where packets leave the NIC, which drops it for this reason of a unit's.
    Dropped(DropReason),
}

/// A packet under way in the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Where it goes.
    pub to: NodeId,
    /// As what.
    pub leg: Leg,
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// The packet.
    pub data: Vec<u8>,
}

/// A cycle's worth of a message: the descriptor, then the packet. The bytes travel with the descriptor, so that they are in
/// one place; when they may be used is told by the flits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flit {
    /// The descriptor; it alone in its cycle (RTL).
    Head(Box<Message>),
    /// Bytes of the packet, not the last.
    Body,
    /// The last bytes of the packet.
    Tail,
}

/// How many flits of `flit_bytes` a message of `len` bytes is: one for the descriptor and at least one for the packet.
pub fn n_flits(len: usize, flit_bytes: usize) -> usize {
    1 + len.div_ceil(flit_bytes).max(1)
}

/// What a unit tells the scheduler's credit manager. Source: 4.3.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreditNote {
    /// The unit is done with a packet and has sent it on, or has sent back one that the scheduler had paid for.
    Return,
    /// The unit has taken a packet that another unit pushed.
    Cancel,
}
