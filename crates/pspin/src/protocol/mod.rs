//! Messages between the parts of the NIC.
//!
//! Names and fields follow the packed descriptors of `hw/src/pspin_cfg_pkg.sv` (PsPIN RTL a49fec8). Packets also
//! carry a [`PacketId`], which no model reads; observers use it to follow packets.

mod bursts;
mod commands;
mod context;
mod errors;
mod tasks;

pub use bursts::{BEAT_BYTES, Burst, BurstReply, PAGE_BYTES, WriteAddress, beats, whole_words};
pub use commands::{COMMAND_WORDS, Command, CommandFault, CommandId, CommandResponse, CommandTarget};
pub use context::{
    Context, DATA_REGIONS, IoTerms, NO_CONTEXT, PRIORITIES, Protection, Region, Sender, THE_CARD, Weight,
};
pub use errors::{
    CONTEXT_CAUSE, EVICTED_CAUSE, ErrorRecord, HostRecord, KILLED_CAUSE, NO_HPU, TIMEOUT_CAUSE, WATCHDOG_CAUSE,
};
pub use tasks::{
    CLUSTER_ACTIVE_CYCLES, ClusterActive, Feedback, Her, Kill, Release, Request, Stage, Task, TenantsServed,
};

/// Number of a packet in the order in which the NIC accepts packets; for observers only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId(pub u64);
