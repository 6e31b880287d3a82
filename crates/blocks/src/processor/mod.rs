//! Parts of processors as modules, for cards that build their own processor.
//!
//! [`crate::mips`] is a whole core in one module, whose parts call each other within a cycle. The modules here are
//! joined by connections of at least one cycle, so each is a pipeline stage.

mod alu;
mod decoder;
mod fetch_unit;
mod signals;

pub use alu::{Alu, AluParams, AluPorts};
pub use decoder::{Decoder, DecoderParams, DecoderPorts};
pub use fetch_unit::{FetchUnit, FetchUnitParams, FetchUnitPorts};
pub use signals::{Controls, Fetched};
