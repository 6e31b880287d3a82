//! The PsPIN NIC: packet handlers in C on clusters of RISC-V cores (Di Girolamo et al., ISCA 2021; RTL a49fec8).

pub mod arbiter;
pub mod bit_set;
pub mod cluster;
pub mod cluster_noc;
pub mod cmd_unit;
pub mod cost;
pub mod delivery;
pub mod dispatcher;
pub mod events;
pub mod host_direct;
pub mod host_dma;
pub mod host_events;
pub mod host_link;
pub mod host_port;
pub mod inbound;
pub mod iommu;
mod lanes;
mod lru;
pub mod map;
pub mod memories;
pub mod mpq;
pub mod nhi;
pub mod nic;
pub mod outbound;
pub mod params;
pub mod pcie;
pub mod pe;
pub mod policy;
pub mod protocol;
mod rate;
pub mod remap;
pub mod scheduler;
pub mod world;

#[cfg(test)]
mod testing;

pub use cluster::{CAUSES, CAUSES_ABOUT, CoreState, TASK_BYTES, Work};
pub use host_port::{HostAccessDone, HostOp};
pub use nic::{Boundary, Image, Pspin, PspinError};
pub use params::{NetworkParams, PspinParams};
