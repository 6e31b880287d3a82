//! Contexts: the host's settings for the handlers of a message, which each task carries.

use crate::delivery::Delivery;
use std::num::NonZeroU64;

/// A range of a memory of the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// First byte.
    pub addr: u32,
    /// Number of bytes.
    pub size: u32,
}

/// Settings of a handler (`mpq_meta_t`), made by the host and carried by each HER.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Identity for the host: events and translations use this number.
    pub id: u32,
    /// The tenant that owns it.
    pub tenant: u32,
    /// The tenant's weight.
    pub weight: Weight,
    /// The tenant's rights at the units that execute commands and at the clusters' DMA.
    pub io: IoTerms,
    /// Its region of L2 handler memory.
    pub handler_mem: Region,
    /// First byte of the context's host memory.
    pub host_mem_addr: u64,
    /// Size of host memory in bytes.
    pub host_mem_size: u32,
    /// Code of the header handler; address 0 means there is none.
    pub header: Region,
    /// Code of the payload handler; address 0 means there is none.
    pub payload: Region,
    /// Code of the completion handler; address 0 means there is none.
    pub completion: Region,
    /// One region per cluster; addresses are relative to the cluster's scratchpad area.
    pub scratchpads: Vec<Region>,
    /// Handling of packets that cannot be processed at once.
    pub delivery: Delivery,
    /// Limits of its handlers.
    pub protection: Protection,
}

/// A tenant's part of the HPUs relative to other tenants', at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weight(pub u32);

impl Default for Weight {
    fn default() -> Self {
        Weight(1)
    }
}

/// Number of priorities of tenants' commands.
pub const PRIORITIES: usize = 8;

/// A tenant's rights at the units that execute commands and at the clusters' DMA, for the rules of [`crate::params::IoSchedule`] that use them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoTerms {
    /// Commands and transfers of higher priority go first; below [`PRIORITIES`].
    pub priority: u8,
    /// Limit of its copies by the off-cluster DMA, in bit/s. HostDirect has the same limit, counted apart.
    pub host_bps: Option<NonZeroU64>,
    /// Limit of what it sends through the NIC outbound engine, in bit/s.
    pub egress_bps: Option<NonZeroU64>,
    /// Limit of its handlers' transfers by the DMA of each cluster, in bit/s.
    pub cluster_bps: Option<NonZeroU64>,
}

/// The tenant that issues a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sender {
    /// Its number, [`Context::tenant`].
    pub tenant: u32,
    /// Its weight.
    pub weight: Weight,
    /// Its rights.
    pub io: IoTerms,
}

impl From<&Context> for Sender {
    fn from(context: &Context) -> Self {
        Sender { tenant: context.tenant, weight: context.weight, io: context.io }
    }
}

/// Limits of a context's handlers, in addition to the regions above.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Protection {
    /// Executable code: that of their program.
    pub code: Region,
    /// Static data of their program in L2 handler memory, at most [`DATA_REGIONS`] regions.
    pub data: Vec<Region>,
    /// Watchdog limit in cycles, from the read of the handler's address to its doorbell; 0 disables it.
    pub watchdog_cycles: u32,
    /// Host address to which errors of its handlers are written, as an [`super::ErrorRecord`].
    pub error_addr: Option<u64>,
}

/// Maximum number of regions of a program's static data.
pub const DATA_REGIONS: usize = 4;

/// [`Context::id`] of commands outside of any task.
pub const NO_CONTEXT: u32 = u32::MAX;
/// [`Context::id`] of the card's own writes to the host. Their addresses are physical.
pub const THE_CARD: u32 = u32::MAX - 1;
