//! The modules of this library, by name.

use crate::interconnect::{ArbiterParams, CrossbarParams, DemuxParams, MuxParams};
use crate::memory::{
    FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams, ScratchpadBanksParams, ScratchpadFilterParams,
};
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<ArbiterParams>()
        .with::<CrossbarParams>()
        .with::<DemuxParams>()
        .with::<FrameMemoryParams>()
        .with::<MemoryControllerParams>()
        .with::<MultiportedMemoryParams>()
        .with::<MuxParams>()
        .with::<ScratchpadBanksParams>()
        .with::<ScratchpadFilterParams>()
}
