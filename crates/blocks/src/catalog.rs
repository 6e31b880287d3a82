//! The modules of this library, by name.

use crate::memory::{MemoryControllerParams, ScratchpadBanksParams};
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default().with::<MemoryControllerParams>().with::<ScratchpadBanksParams>()
}
