//! The modules of this library, by name.

use crate::assist::{DmaAssistParams, MacReceiveParams, MacTransmitParams};
use crate::feeders::{FrameSinkParams, PacketFeederParams};
use crate::interconnect::{ArbiterParams, CrossbarParams, DemuxParams, MuxParams, TapParams};
use crate::memory::{
    BlockTransferParams, CacheControllerParams, FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams,
    ScratchpadBanksParams, ScratchpadFilterParams,
};
use crate::mips::MipsCoreParams;
use crate::netlist::Catalog;
use crate::pci::PciBusParams;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<FrameSinkParams>()
        .with::<MipsCoreParams>()
        .with::<PacketFeederParams>()
        .with::<ArbiterParams>()
        .with::<BlockTransferParams>()
        .with::<CacheControllerParams>()
        .with::<CrossbarParams>()
        .with::<DemuxParams>()
        .with::<DmaAssistParams>()
        .with::<FrameMemoryParams>()
        .with::<MacReceiveParams>()
        .with::<MacTransmitParams>()
        .with::<MemoryControllerParams>()
        .with::<MultiportedMemoryParams>()
        .with::<MuxParams>()
        .with::<PciBusParams>()
        .with::<ScratchpadBanksParams>()
        .with::<ScratchpadFilterParams>()
        .with::<TapParams>()
}
