//! MIPS cores, and how a card holds them by the reins.
//!
//! [`MipsCore`] is the component. Reading order: `params.rs` says what a core can have, `pipeline.rs` is its timing, `core.rs` the
//! order of things within a cycle, `access.rs` loads and stores, `outside.rs` what comes from others; `code.rs` keeps instructions
//! decoded, `state.rs` is what instructions act on.

mod access;
mod code;
mod control;
mod core;
mod fetch;
mod locking;
mod outside;
mod params;
mod pipeline;
mod profile;
mod refer;
mod state;
mod trouble;

pub use self::core::{MipsCore, MipsCorePorts};
pub use control::{CpuControl, CpuStatus};
pub use locking::{LockKind, Locks};
pub use params::{InstructionCacheParams, MipsCoreParams, PipelineKind, StoreKind, Window};
pub use pipeline::{Cycles, cycle_names};
pub use profile::{Line, Profile};
pub use trouble::{Cause, Trouble};
