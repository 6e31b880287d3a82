//! What the parts of the NIC say to each other.
//!
//! Names and fields follow the packed descriptors of `hw/src/pspin_cfg_pkg.sv` (PsPIN RTL a49fec8). Packets carry a
//! [`PacketId`] besides, which no model reads: it lets an observer follow them.

use crate::delivery::{Delivery, DropReason};
use std::rc::Rc;

/// Counts packets in the order in which the NIC takes them; for observers alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId(pub u64);

/// No context has this [`Context::id`]: commands outside of any task have it.
pub const NO_CONTEXT: u32 = u32::MAX;
/// No context has this [`Context::id`]: what the card writes to the host by itself has it, and its addresses are physical.
pub const THE_CARD: u32 = u32::MAX - 1;

/// A range of a memory of the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// First byte.
    pub addr: u32,
    /// Bytes.
    pub size: u32,
}

/// What a handler runs with (`mpq_meta_t`): set by the host, carried by each HER.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// What its host knows it by: events of it, and translations for it, go by this number.
    pub id: u32,
    /// Whose it is.
    pub tenant: u32,
    /// In L2 handler memory.
    pub handler_mem: Region,
    /// First byte of the context's host memory.
    pub host_mem_addr: u64,
    /// Bytes of host memory.
    pub host_mem_size: u32,
    /// Code of the header handler; address 0 means there is none.
    pub header: Region,
    /// Code of the payload handler; address 0 means there is none.
    pub payload: Region,
    /// Code of the completion handler; address 0 means there is none.
    pub completion: Region,
    /// One for each cluster; addresses count from the start of the cluster's scratchpad area.
    pub scratchpads: Vec<Region>,
    /// What becomes of packets when something is in their way.
    pub delivery: Delivery,
    /// What keeps its handlers within bounds.
    pub protection: Protection,
}

/// What keeps a context's handlers within bounds, besides the regions above.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Protection {
    /// Code that its handlers may run: that of their program.
    pub code: Region,
    /// Static data of their program in L2 handler memory, at most [`DATA_REGIONS`] parts.
    pub data: Vec<Region>,
    /// Cycles that a handler may run, from the read of its address to its doorbell; 0 means for ever.
    pub watchdog_cycles: u32,
    /// Where in host memory errors of its handlers are written, as an [`ErrorRecord`].
    pub error_addr: Option<u64>,
}

/// Parts in which a program's static data may lie.
pub const DATA_REGIONS: usize = 4;

/// What host memory shows of a handler that ended by an exception: eight little-endian words, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorRecord {
    /// As in `mcause`; [`WATCHDOG_CAUSE`] for a handler that ran too long.
    pub cause: u32,
    /// Address that was accessed, or the word that is no instruction (`mtval` of the privileged specification).
    pub address: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// First instruction of the handler.
    pub handler: u32,
    /// Identity of the message, as the handler's task has it.
    pub msgid: u32,
    /// Which [`Stage`], from 0.
    pub stage: u32,
    /// Position of the HPU among all of the NIC: `cluster * n_cores + core`.
    pub hpu: u32,
    /// Errors that this HPU has reported, with this one: never 0, so that a reader sees that a record is there.
    pub count: u32,
}

/// Cause of the exception by which a watchdog ends a handler.
///
/// assumed: the first of the codes that the privileged specification leaves to implementations.
pub const WATCHDOG_CAUSE: u32 = 24;
/// Cause in the record of a message that stopped arriving, and of one that was killed: the next of those codes.
pub const TIMEOUT_CAUSE: u32 = 25;
/// See [`TIMEOUT_CAUSE`].
pub const KILLED_CAUSE: u32 = 26;
/// See [`TIMEOUT_CAUSE`].
pub const EVICTED_CAUSE: u32 = 28;
/// Cause of the exception by which a driver has the runtime clear its core before a handler of another context runs there.
///
/// assumed: the paper isolates handlers in space and says nothing of what one leaves to the next in registers and stack.
pub const CONTEXT_CAUSE: u32 = 27;
/// Position in records that no HPU made.
pub const NO_HPU: u32 = u32::MAX;

impl ErrorRecord {
    /// The words as they lie in memory.
    pub fn words(&self) -> [u32; 8] {
        let ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count } = *self;
        [cause, address, pc, handler, msgid, stage, hpu, count]
    }

    /// The record that these words make.
    pub fn from_words([cause, address, pc, handler, msgid, stage, hpu, count]: [u32; 8]) -> Self {
        ErrorRecord { cause, address, pc, handler, msgid, stage, hpu, count }
    }
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
    /// [`Protection::error_addr`] of that.
    pub error_addr: Option<u64>,
}

/// An error record on its way to the host that no handler's driver sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRecord {
    /// Physical address in host memory.
    pub addr: u64,
    /// What is written there.
    pub record: ErrorRecord,
}

/// So many tenants have rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TenantsServed(pub u32);

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

/// Who issued a command, and which of its commands it is (`cmd_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandId {
    /// Position of the cluster.
    pub cluster: u8,
    /// Position of the core in its cluster.
    pub core: u8,
    /// Which of the core's commands in flight; 4 is its driver's own.
    pub local: u8,
}

/// Which unit executes a command (`intf_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandTarget {
    /// Off-cluster DMA between NIC memory and host memory.
    HostDma,
    /// NIC outbound engine.
    NicSend,
    /// A few bytes that travel in the command itself.
    HostDirect,
}

/// Why a unit does not do a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandFault {
    /// Nothing answers at its address, or it goes beyond the last one.
    Address,
    /// It has no bytes, or more than the unit takes.
    Length,
}

/// Words of a command: the seven that a core can write, and the rest of the driver's own error records.
pub const COMMAND_WORDS: usize = 11;

/// A command of a handler (`pspin_cmd_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Packet whose handler issued it; for observers.
    pub packet: PacketId,
    /// [`Context::id`] of the packet's context: whose host memory is meant. Not in the RTL.
    pub context: u32,
    /// Issuer.
    pub id: CommandId,
    /// Executing unit.
    pub target: CommandTarget,
    /// Stored by the hardware and not used.
    pub generate_event: bool,
    /// The descriptor, as the runtime lays it out for each target.
    pub words: [u32; COMMAND_WORDS],
}

impl Command {
    /// Moves bytes to host memory: a host DMA whose direction word is odd, or what HostDirect does.
    pub fn writes_host(&self) -> bool {
        match self.target {
            CommandTarget::HostDma => self.words[4] & 1 == 1,
            CommandTarget::NicSend => false,
            CommandTarget::HostDirect => true,
        }
    }

    /// Of a host DMA that goes on behind a page of the NIC's memory: the part up to there; what is left is the command.
    pub fn split_page(&mut self) -> Option<Command> {
        let [low, high, nic, size, ..] = self.words;
        let part = PAGE_BYTES - nic % PAGE_BYTES;
        if self.target != CommandTarget::HostDma || size <= part {
            return None;
        }
        let mut first = *self;
        first.words[3] = part;
        let host = (u64::from(high) << 32 | u64::from(low)).wrapping_add(part.into());
        self.words[..4].copy_from_slice(&[host as u32, (host >> 32) as u32, nic.wrapping_add(part), size - part]);
        Some(first)
    }
}

/// Bursts do not cross a multiple of this (AXI). Where transfers and commands are checked, they also take turns by pages.
/// assumed: as much as a burst can move; a turn that is shorter would cost bandwidth.
pub const PAGE_BYTES: u32 = 4096;

/// The end of a command (`pspin_cmd_resp_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandResponse {
    /// Issuer.
    pub id: CommandId,
}

/// Bytes of a beat on the wide (512-bit) interconnects.
pub const BEAT_BYTES: u32 = 64;

/// Beats that `size` bytes at `addr` take on a wide interconnect; nothing takes none.
pub fn beats(addr: u32, size: u32) -> u32 {
    if size == 0 { 0 } else { (addr % BEAT_BYTES + size).div_ceil(BEAT_BYTES) }
}

/// A packet's bytes with zeros up to the end of their last word, in which a handler may look: nothing of an earlier packet
/// may stand there.
pub fn whole_words(bytes: Box<[u8]>) -> Box<[u8]> {
    if bytes.len().is_multiple_of(4) {
        return bytes;
    }
    let mut bytes = bytes.into_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.into_boxed_slice()
}

/// A burst on the NIC-host interconnect (512 bit): at most 4 KiB, within one 4-KiB page.
///
/// It is seen by its target when its address (and for a write its first beat) arrives; a write's further beats follow
/// one a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Burst {
    /// Reads `size` bytes at `addr`.
    Read {
        /// Given back in the reply.
        tag: u32,
        /// First byte.
        addr: u32,
        /// Bytes.
        size: u32,
        /// L1 answers each beat by itself, for an initiator that passes beats on; else once, with the last beat.
        in_parts: bool,
    },
    /// Writes `data` at `addr`.
    Write {
        /// Given back in the reply.
        tag: u32,
        /// First byte.
        addr: u32,
        /// The bytes.
        data: Box<[u8]>,
    },
}

impl Burst {
    /// First byte.
    pub fn addr(&self) -> u32 {
        match self {
            Burst::Read { addr, .. } | Burst::Write { addr, .. } => *addr,
        }
    }

    /// Bytes.
    pub fn size(&self) -> u32 {
        match self {
            Burst::Read { size, .. } => *size,
            Burst::Write { data, .. } => data.len() as u32,
        }
    }
}

/// The reply to a [`Burst`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BurstReply {
    /// Seen when the first beat arrives; the last one arrives at `last`.
    Data {
        /// Of the request.
        tag: u32,
        /// The bytes; empty where nothing answers at the address (DECERR).
        data: Box<[u8]>,
        /// Cycle in which the last beat arrives at the requester.
        last: u64,
    },
    /// Seen when the write response arrives.
    Written {
        /// Of the request.
        tag: u32,
        /// Whether something answered at the address.
        decoded: bool,
    },
}

/// All cores of a cluster have reached their driver for the first time; sent once by each cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterActive;
