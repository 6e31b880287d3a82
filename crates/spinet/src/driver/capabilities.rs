//! The resources of a card that tenants can use.

use super::Driver;
use super::heap::Heap;
use pspin::params::Regions;

/// The resources that a tenant can request, and how much of each is free.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Capabilities {
    /// Clusters.
    pub n_clusters: u32,
    /// HPUs of a cluster.
    pub n_cores: u32,
    /// Maximum number of messages in progress.
    pub n_message_queues: u32,
    /// Queues reserved for each tenant with a rule, or an equal part of all if that is less; 0 reserves none.
    pub reserved_message_queues: u32,
    /// Maximum number of bytes of a packet that can be copied to L1.
    pub max_copy_bytes: u32,
    /// The network delivers all packets, and none twice, so handlers need not be idempotent.
    pub reliable: bool,
    /// It delivers them in the order in which they were sent.
    pub in_order: bool,
    /// Handlers, their transfers and their commands cannot access the memory of other tenants.
    pub isolated: bool,
    /// Errors of handlers are written to the descriptors of their contexts.
    pub reports_errors: bool,
    /// Maximum number of cycles that a handler may run. It is the default and the limit for contexts; 0 means no limit.
    pub watchdog_cycles: u32,
    /// Program memory.
    pub program_memory: MemoryLeft,
    /// L2 handler memory.
    pub handler_memory: MemoryLeft,
    /// Scratchpad memory, in each cluster.
    pub scratchpad_memory: MemoryLeft,
}

/// Bytes of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct MemoryLeft {
    /// Size of the memory.
    pub bytes: u64,
    /// Free bytes.
    pub free: u64,
    /// The largest free part.
    pub largest: u64,
    /// The address of the largest free part; in scratchpad memory, its offset.
    pub at: u64,
}

impl Driver {
    /// Returns the resources of the card, and how much of its memories is free.
    pub fn capabilities(&self) -> Capabilities {
        let left = |heap: &Heap| {
            let (at, largest) = heap.largest();
            MemoryLeft { bytes: heap.bytes(), free: heap.free(), largest, at }
        };
        let isolation = &self.params.isolation;
        Capabilities {
            n_clusters: self.params.n_clusters,
            n_cores: self.params.cluster.n_cores,
            n_message_queues: self.params.scheduler.n_mpqs,
            reserved_message_queues: self.params.sharing.reserved_queues,
            max_copy_bytes: self.max_copy_bytes(),
            reliable: self.nic.network().reliable && self.faults.0.is_reliable(),
            in_order: self.nic.network().in_order && self.faults.0.is_in_order(),
            isolated: isolation.regions == Regions::Exact && isolation.check_transfers,
            reports_errors: isolation.report_errors,
            watchdog_cycles: isolation.watchdog_cycles,
            program_memory: left(&self.program_memory),
            handler_memory: left(&self.handler_memory),
            scratchpad_memory: left(&self.scratchpad_memory),
        }
    }
}
