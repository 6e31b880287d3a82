//! What a cluster is connected to.

use crate::host_events::Notice;
use crate::memories::BurstPort;
use crate::pe::{CodeWrite, LineReply, LineRequest, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{Burst, BurstReply, ClusterActive, Command, CommandResponse, Feedback, Task};
use kernel::{Rx, Tx};

/// Channels between a cluster and the rest of the NIC, memories apart.
pub struct ClusterPorts {
    /// Tasks from the dispatcher.
    pub tasks: Rx<Task>,
    /// Ends of tasks, to the dispatcher.
    pub feedbacks: Tx<Feedback>,
    /// Commands to the command unit.
    pub commands: Tx<Command>,
    /// Their ends.
    pub responses: Rx<CommandResponse>,
    /// Bursts of the NIC-host interconnect to L1, one channel for each initiator, with their answers.
    pub bursts: Vec<BurstPort>,
    /// Sent once, when all cores have reached their drivers.
    pub active: Tx<ClusterActive>,
    /// What the host is told.
    pub notices: Tx<Notice>,
}

/// Channels between a cluster and the memories: requests and their answers.
pub struct Links {
    /// Single accesses to what lies outside.
    pub pe: (Tx<PeRequest>, Rx<PeReply>),
    /// Bursts of the DMA engine to L2.
    pub dma: (Tx<Burst>, Rx<BurstReply>),
    /// Lines that the instruction cache misses.
    pub lines: (Tx<LineRequest>, Rx<LineReply>),
    /// What the host writes to program memory.
    pub code: Rx<CodeWrite>,
    /// Single accesses from other clusters.
    pub remote: (Rx<RemoteRequest>, Tx<RemoteReply>),
}
