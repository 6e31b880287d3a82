//! The modules of this library, by name.

use crate::interconnect::{
    ArbiterParams, CrossbarParams, DemuxParams, FunctionParams, MuxParams, PipeParams, TapParams, TeeParams,
};
use crate::memory::{
    BlockTransferParams, CacheControllerParams, FrameMemoryParams, MemoryControllerParams, MultiportedMemoryParams,
    ScratchpadBanksParams, ScratchpadFilterParams,
};
use crate::netlist::Catalog;
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
        .with::<FetchUnitParams>()
        .with::<FrameMemoryParams>()
        .with::<FunctionParams>()
        .with::<MemoryControllerParams>()
        .with::<MultiportedMemoryParams>()
        .with::<MuxParams>()
        .with::<PipeParams>()
        .with::<ScratchpadBanksParams>()
        .with::<ScratchpadFilterParams>()
        .with::<TapParams>()
        .with::<TeeParams>()
}
