//! Contexts: what a host sets for a handler's messages, and what each of its tasks carries.

use crate::delivery::Delivery;

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
    /// Where in host memory errors of its handlers are written, as an [`super::ErrorRecord`].
    pub error_addr: Option<u64>,
}

/// Parts in which a program's static data may lie.
pub const DATA_REGIONS: usize = 4;

/// No context has this [`Context::id`]: commands outside of any task have it.
pub const NO_CONTEXT: u32 = u32::MAX;
/// No context has this [`Context::id`]: what the card writes to the host by itself has it, and its addresses are physical.
pub const THE_CARD: u32 = u32::MAX - 1;
