//! The modules of this library, by name.

use crate::memory::{FrameMemoryParams, MemoryControllerParams, ScratchpadBanksParams};
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default().with::<FrameMemoryParams>().with::<MemoryControllerParams>().with::<ScratchpadBanksParams>()
}
