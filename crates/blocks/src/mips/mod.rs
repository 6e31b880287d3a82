//! MIPS cores, and their control by a card.
//!
//! [`MipsCore`] is the component. Reading order: `params.rs` (parameters), `pipeline.rs` (timing), `core.rs` (order
//! of events within a cycle), `access.rs` (loads and stores), `ahead.rs` (references of later cycles), `outside.rs` (inputs
//! from other components), `code.rs` (decoded instructions), `state.rs` (architectural state).

mod access;
mod ahead;
mod code;
mod control;
mod core;
mod debug;
mod fault;
mod fetch;
mod locking;
mod log;
mod outside;
mod params;
mod pipeline;
mod profile;
mod refer;
mod state;

pub use self::core::{MipsCore, MipsCorePorts};
pub use control::{CpuControl, CpuStatus};
pub use fault::{Cause, Fault};
pub use locking::{LockKind, Locks};
pub use log::{InstructionLog, Retired};
pub use params::{AddressRange, InstructionCacheParams, MipsCoreParams, PipelineKind, StoreKind};
pub use pipeline::{CYCLE_NAMES, Cycles};
pub use profile::Profile;
