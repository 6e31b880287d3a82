//! Requests, tasks and feedback: from a packet to its handlers and back.

use super::{Context, PacketId, Region};
use crate::delivery::DropReason;
use kernel::Cycle;
use std::rc::Rc;

/// Handler type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Runs once, before all payload handlers of the message.
    Header,
    /// Runs for every packet.
    Payload,
    /// Runs once, after the last payload handler.
    Completion,
}

/// Handler execution request: a packet in L2 packet memory that needs handlers (`her_descr_t`).
#[derive(Clone, Debug)]
pub struct Her {
    /// For observers.
    pub packet: PacketId,
    /// For observers: the cycle in which the scheduler took its request.
    pub taken: Cycle,
    /// Identity of the message.
    pub msgid: u16,
    /// True if the network says that this is the first packet of its message; if `None`, the first to arrive is. Not
    /// in the RTL.
    pub som: Option<bool>,
    /// True for the last packet of its message.
    pub eom: bool,
    /// Address in L2 packet memory.
    pub addr: u32,
    /// Size of the packet in bytes.
    pub size: u32,
    /// Number of bytes to copy to L1.
    pub xfer_size: u32,
    /// The context of its message.
    pub context: Rc<Context>,
}

/// Ends a message, because packet memory is full, its queue was reclaimed, or the host asked for it. No request of
/// the message follows. Not in the RTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kill {
    /// Identity of the message.
    pub msgid: u16,
    /// [`DropReason::MessageKilled`] or [`DropReason::MessageEvicted`].
    pub reason: DropReason,
    /// Its context.
    pub context: u32,
    /// [`super::Protection::error_addr`] of the context.
    pub error_addr: Option<u64>,
}

/// Requests of the inbound engine to the message queues, in order.
#[derive(Clone, Debug)]
pub enum Request {
    /// Run handlers on a packet.
    Her(Her),
    /// End a message, whose packets are dropped.
    Kill(Kill),
    /// The last packet of this message was dropped; no further packet follows. Not in the RTL.
    End(u16),
}

/// Number of tenants with rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TenantsServed(pub u32);

/// A handler to run on a packet (`handler_task_t`).
#[derive(Clone, Debug)]
pub struct Task {
    /// For observers.
    pub packet: PacketId,
    /// For observers: the cycle in which the scheduler took its request.
    pub taken: Cycle,
    /// Handler type.
    pub stage: Stage,
    /// Identity of the message.
    pub msgid: u16,
    /// Address of the handler's code; 0 means that nothing runs and feedback is immediate.
    pub handler: Region,
    /// Its context.
    pub context: Rc<Context>,
    /// Address of the packet in L2 packet memory.
    pub pkt_addr: u32,
    /// Number of bytes to copy to L1 (the HER's `xfer_size`).
    pub pkt_size: u32,
    /// Size of the packet in L2 in bytes.
    pub l2_size: u32,
    /// If true, the end of this task frees the packet in L2.
    pub trigger_feedback: bool,
}

/// The end of a task (`feedback_descr_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// For observers.
    pub packet: PacketId,
    /// For observers: the cycle in which the scheduler took its request.
    pub taken: Cycle,
    /// Identity of the message.
    pub msgid: u16,
    /// Address of the packet in L2 packet memory.
    pub pkt_addr: u32,
    /// The task's `pkt_size`.
    pub pkt_size: u32,
    /// If true, the packet in L2 can be freed now.
    pub trigger_feedback: bool,
}

/// Frees a packet in L2 packet memory: its last task has ended, or it is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// For observers.
    pub packet: PacketId,
    /// For observers: the cycle in which the scheduler took its request.
    pub taken: Cycle,
    /// Address in L2 packet memory.
    pub pkt_addr: u32,
    /// Reason why it was not processed.
    pub dropped: Option<DropReason>,
}

/// All cores of a cluster have reached their driver for the first time. Each cluster sends this once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterActive;

/// Cycles from when a cluster's last core reaches its driver until the inbound engine knows: a register in the cluster,
/// and the engine, which looks at it at the clock edge. Source: PsPIN RTL a49fec8, `pspin.sv` (`cluster_active_q`);
/// measured on it.
pub const CLUSTER_ACTIVE_CYCLES: u64 = 2;
