//! The NICs that PANIC is compared with (2.2, 7.3), on the same packets and with the same engines.
//!
//! They are joined to the outside as a PANIC is, and packets carry the same trail: what stands for the scheduler (the queue in
//! front of the pipeline, the balancer in front of the cores) marks when they are queued and scheduled. What goes to the host has left when it has left the NIC: there is no PCIe, as in the
//! published measurements (7.1), and the host sends nothing.

mod card;
mod manycore;
mod pipeline;
mod queue;
mod rmt_only;

pub use card::CardParams;
pub use manycore::{Balance, CoreParams, Manycore, ManycoreParams, PoolParams};
pub use pipeline::{Pipeline, PipelineParams, StageParams, Unneeded};
pub use rmt_only::{RmtOnly, RmtOnlyParams};
