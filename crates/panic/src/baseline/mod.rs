//! Baseline NICs for comparison with PANIC (2.2, 7.3), with the same packets and engines.
//!
//! They connect to the outside as a PANIC does, and packets carry the same trail. The substitute for the scheduler (the queue
//! in front of the pipeline, the load balancer in front of the cores) marks when packets are queued and scheduled. A packet to
//! the host has left when it leaves the NIC: there is no PCIe, as in the published measurements (7.1), and the host sends
//! nothing.

mod card;
mod manycore;
mod pipeline;
mod queue;
mod rmt_only;

pub use card::CardParams;
pub use manycore::{Balance, CoreParams, Manycore, ManycoreParams, PoolParams};
pub use pipeline::{Pipeline, PipelineParams, StageParams, Unneeded};
pub use rmt_only::{RmtOnly, RmtOnlyParams};
