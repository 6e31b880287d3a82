//! The modules of this library, by name.

use crate::assist::{DmaAssistParams, MacReceiveParams, MacTransmitParams, PointerReaderParams};
use crate::feeders::{FrameSinkParams, NicFeederParams, PacketFeederParams};
use crate::interconnect::{
    ArbiterParams, CrossbarParams, DemuxParams, FunctionParams, MuxParams, PipeParams, TapParams, TeeParams,
};
use crate::memory::{
    BlockTransferParams, CacheControllerParams, FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams,
    ScratchpadBanksParams, ScratchpadFilterParams,
};
use crate::mips::MipsCoreParams;
use crate::netlist::Catalog;
use crate::pci::PciBusParams;
use crate::processor::{AluParams, DecoderParams, FetchUnitParams};

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default()
        .with::<AluParams>()
        .with::<ArbiterParams>()
        .with::<BlockTransferParams>()
        .with::<CacheControllerParams>()
        .with::<CrossbarParams>()
        .with::<DecoderParams>()
        .with::<DemuxParams>()
        .with::<DmaAssistParams>()
        .with::<FetchUnitParams>()
        .with::<FrameMemoryParams>()
        .with::<FrameSinkParams>()
        .with::<FunctionParams>()
        .with::<MacReceiveParams>()
        .with::<MacTransmitParams>()
        .with::<MemoryControllerParams>()
        .with::<MipsCoreParams>()
        .with::<MultiportedMemoryParams>()
        .with::<MuxParams>()
        .with::<NicFeederParams>()
        .with::<PacketFeederParams>()
        .with::<PciBusParams>()
        .with::<PipeParams>()
        .with::<PointerReaderParams>()
        .with::<ScratchpadBanksParams>()
        .with::<ScratchpadFilterParams>()
        .with::<TapParams>()
        .with::<TeeParams>()
}
