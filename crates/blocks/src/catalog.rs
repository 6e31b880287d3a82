//! The modules of this library, by name.

use crate::assist::{DmaAssistParams, MacReceiveParams, MacTransmitParams, PointerReaderParams};
use crate::feeders::{FrameSinkParams, PacketFeederParams};
use crate::interconnect::{ArbiterParams, CrossbarParams, DemuxParams, TapParams};
use crate::memory::{
    CacheControllerParams, FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams, ScratchpadBanksParams,
};
use crate::mips::MipsCoreParams;
use crate::netlist::Catalog;
use crate::pci::PciBusParams;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<ArbiterParams>()
        .with::<CacheControllerParams>()
        .with::<CrossbarParams>()
        .with::<DemuxParams>()
        .with::<DmaAssistParams>()
        .with::<FrameMemoryParams>()
        .with::<FrameSinkParams>()
        .with::<MacReceiveParams>()
        .with::<MacTransmitParams>()
        .with::<MemoryControllerParams>()
        .with::<MipsCoreParams>()
        .with::<MultiportedMemoryParams>()
        .with::<PacketFeederParams>()
        .with::<PciBusParams>()
        .with::<PointerReaderParams>()
        .with::<ScratchpadBanksParams>()
        .with::<TapParams>()
}
