//! Modules that the thesis on Spinach describes, and that no card in `presets/` uses.
//!
//! They are for cards of users. [`blocks`] has the modules of the cards in `presets/`. Among them is a whole core
//! ([`blocks::mips`]), whose parts call each other within a cycle. The parts of a processor here are joined by
//! connections of at least one cycle, so each is a pipeline stage.

mod alu;
mod block_transfer;
mod decoder;
mod fetch_unit;
mod function;
mod mux;
mod nic_feeder;
mod pipe;
mod scratchpad_filter;
mod signals;
mod tee;
mod transfers;

#[cfg(test)]
mod testing;
// The test scenes of `blocks` use the path `crate::bus`.
#[cfg(test)]
use blocks::bus;

pub use alu::{Alu, AluParams, AluPorts};
pub use block_transfer::{BlockTransfer, BlockTransferParams, BlockTransferPorts};
pub use decoder::{Decoder, DecoderParams, DecoderPorts};
pub use fetch_unit::{FetchUnit, FetchUnitParams, FetchUnitPorts};
pub use function::{Compute, Function, FunctionParams, FunctionPorts};
pub use mux::MuxParams;
pub use nic_feeder::{After, Contents, Mailbox, NicFeeder, NicFeederParams, NicFeederPorts, Write};
pub use pipe::{Pipe, PipeParams, PipePorts};
pub use scratchpad_filter::ScratchpadFilterParams;
pub use signals::{Controls, Fetched};
pub use tee::{Tee, TeeParams, TeePorts};
pub use transfers::{Direction, Transfer, TransferDone};

/// A catalog with the modules of this crate added.
pub fn add_to(catalog: blocks::netlist::Catalog) -> blocks::netlist::Catalog {
    catalog
        .with::<AluParams>()
        .with::<BlockTransferParams>()
        .with::<DecoderParams>()
        .with::<FetchUnitParams>()
        .with::<FunctionParams>()
        .with::<MuxParams>()
        .with::<NicFeederParams>()
        .with::<PipeParams>()
        .with::<ScratchpadFilterParams>()
        .with::<TeeParams>()
}
