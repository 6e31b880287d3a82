//! The modules of this library, by name.

use crate::feeders::{FrameSinkParams, NicFeederParams, PacketFeederParams};
use crate::interconnect::{ArbiterParams, CrossbarParams, DemuxParams, MuxParams, TapParams};
use crate::memory::{
    BlockTransferParams, CacheControllerParams, FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams,
    ScratchpadBanksParams, ScratchpadFilterParams,
};
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<ArbiterParams>()
        .with::<BlockTransferParams>()
        .with::<CacheControllerParams>()
        .with::<CrossbarParams>()
        .with::<DemuxParams>()
        .with::<FrameMemoryParams>()
        .with::<FrameSinkParams>()
        .with::<MemoryControllerParams>()
        .with::<MultiportedMemoryParams>()
        .with::<MuxParams>()
        .with::<NicFeederParams>()
        .with::<PacketFeederParams>()
        .with::<ScratchpadBanksParams>()
        .with::<ScratchpadFilterParams>()
        .with::<TapParams>()
}
