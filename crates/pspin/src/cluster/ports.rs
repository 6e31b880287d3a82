//! The channels of a cluster.

use crate::host_events::Notice;
use crate::memories::BurstPort;
use crate::pe::{CodeWrite, LineReply, LineRequest, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{Burst, BurstReply, ClusterActive, Command, CommandResponse, Feedback, Task};
use kernel::{Cycle, Rx, Tx};

/// Channels between a cluster and the rest of the NIC, except the memories.
pub struct ClusterPorts {
    /// Tasks from the dispatcher.
    pub tasks: Rx<Task>,
    /// Ends of tasks, to the dispatcher.
    pub feedbacks: Tx<Feedback>,
    /// Commands to the command unit.
    pub commands: Tx<Command>,
    /// Responses to commands.
    pub responses: Rx<CommandResponse>,
    /// Bursts of the NIC-host interconnect to L1 and their responses, one channel for each initiator.
    pub bursts: Vec<BurstPort>,
    /// Sent once, when all cores have reached their drivers.
    pub active: Tx<ClusterActive>,
    /// Notices to the host.
    pub notices: Tx<Notice>,
}

/// Channels between a cluster and the memories: requests and their responses.
pub struct Links {
    /// Single accesses to addresses outside the cluster.
    pub pe: (Tx<PeRequest>, Rx<PeReply>),
    /// Bursts of the DMA engine.
    pub dma: DmaPorts,
    /// Lines that the instruction cache misses.
    pub lines: (Tx<LineRequest>, Rx<LineReply>),
    /// Writes of the host to program memory.
    pub code: Rx<CodeWrite>,
    /// Single accesses from other clusters.
    pub remote: (Rx<RemoteRequest>, Tx<RemoteReply>),
}

/// Channels between a cluster's DMA engine and the memories.
pub struct DmaPorts {
    /// Bursts to L2.
    pub requests: Tx<Burst>,
    /// The replies.
    pub replies: Rx<BurstReply>,
    /// Beats of reads that stay in the register in front of the engine, whenever their number changes.
    pub held: Tx<u32>,
    /// A beat that was to arrive in this cycle arrives one cycle later, because one in front of it was held.
    pub late: Rx<Cycle>,
}
