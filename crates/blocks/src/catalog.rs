//! The modules of this library, by name.

use crate::feeders::{FrameSinkParams, PacketFeederParams};
use crate::memory::{FrameMemoryParams, MemoryControllerParams, ScratchpadBanksParams};
use crate::mips::MipsCoreParams;
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<FrameMemoryParams>()
        .with::<FrameSinkParams>()
        .with::<MemoryControllerParams>()
        .with::<MipsCoreParams>()
        .with::<PacketFeederParams>()
        .with::<ScratchpadBanksParams>()
}
