//! MIPS cores, and how a card holds them by the reins.

mod control;

pub use control::{CpuControl, CpuStatus};
