//! From packets to handlers and back: requests, tasks, and their ends.

use super::{Context, PacketId, Region};
use crate::delivery::DropReason;
use std::rc::Rc;

/// Which handler of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Once, before any payload handler of the message starts.
    Header,
    /// For every packet.
    Payload,
    /// Once, after the last payload handler has ended.
    Completion,
}

/// Handler execution request: a packet that lies in L2 packet memory and wants its handlers (`her_descr_t`).
#[derive(Clone, Debug)]
pub struct Her {
    /// For observers.
    pub packet: PacketId,
    /// Identity of the message.
    pub msgid: u16,
    /// Whether it is the first packet of its message, if the network says so; else the first to come is. Not in the RTL.
    pub som: Option<bool>,
    /// The last packet of its message.
    pub eom: bool,
    /// Where in L2 packet memory.
    pub addr: u32,
    /// Bytes of the packet.
    pub size: u32,
    /// Bytes of it that are copied to L1.
    pub xfer_size: u32,
    /// The context of its message.
    pub context: Rc<Context>,
}

/// Ends a message that packet memory has no room for, that has to leave its queue to another tenant, or that the host gives up;
/// no request of it follows. Not in the RTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kill {
    /// Identity of the message.
    pub msgid: u16,
    /// [`DropReason::MessageKilled`] or [`DropReason::MessageEvicted`].
    pub reason: DropReason,
    /// Its context.
    pub context: u32,
    /// [`super::Protection::error_addr`] of that.
    pub error_addr: Option<u64>,
}

/// What the inbound engine asks of the message queues, in order.
#[derive(Clone, Debug)]
pub enum Request {
    /// Handlers for a packet.
    Her(Her),
    /// The end of a message, whose packets are dropped.
    Kill(Kill),
    /// The last packet of this message was dropped: those that came before it are all. Not in the RTL.
    End(u16),
}

/// So many tenants have rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TenantsServed(pub u32);

/// A handler to run on a packet (`handler_task_t`).
#[derive(Clone, Debug)]
pub struct Task {
    /// For observers.
    pub packet: PacketId,
    /// Which handler.
    pub stage: Stage,
    /// Identity of the message.
    pub msgid: u16,
    /// Its code; address 0 means that nothing runs and feedback is immediate.
    pub handler: Region,
    /// Its context.
    pub context: Rc<Context>,
    /// Packet in L2 packet memory.
    pub pkt_addr: u32,
    /// Bytes to copy to L1 (the HER's `xfer_size`).
    pub pkt_size: u32,
    /// Bytes of the packet in L2.
    pub l2_size: u32,
    /// The end of this task frees the packet in L2.
    pub trigger_feedback: bool,
}

/// The end of a task (`feedback_descr_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// For observers.
    pub packet: PacketId,
    /// Identity of the message.
    pub msgid: u16,
    /// Packet in L2 packet memory.
    pub pkt_addr: u32,
    /// The task's `pkt_size`.
    pub pkt_size: u32,
    /// Whether the packet in L2 is free now.
    pub trigger_feedback: bool,
}

/// A packet may leave L2 packet memory: its last task has ended, or it is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// For observers.
    pub packet: PacketId,
    /// Where in L2 packet memory.
    pub pkt_addr: u32,
    /// Why it was not processed.
    pub dropped: Option<DropReason>,
}

/// All cores of a cluster have reached their driver for the first time; sent once by each cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterActive;
