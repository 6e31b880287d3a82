//! MIPS cores, and how a card holds them by the reins.
//!
//! [`MipsCore`] is the component. Reading order: `params.rs` says what a core can have, `pipeline.rs` is its timing, `core.rs` the
//! order of things within a cycle; `code.rs` keeps instructions decoded, `state.rs` is what instructions act on.

mod code;
mod control;
mod core;
mod params;
mod pipeline;
mod profile;
mod refer;
mod state;

pub use self::core::{Cause, Ends, MipsCore, Trouble};
pub use control::{CpuControl, CpuStatus};
pub use params::{InstructionCacheParams, MipsCoreParams, PipelineKind, StoreKind, Window};
pub use pipeline::{Cycles, cycle_names};
pub use profile::{Line, Profile};
