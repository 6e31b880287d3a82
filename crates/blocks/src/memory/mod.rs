//! Memories, and what stands in front of them.

mod arbitration;
mod controller;

pub use arbitration::{Arbitration, FixedPriority, Policy};
pub use controller::{MemoryController, MemoryControllerParams};
