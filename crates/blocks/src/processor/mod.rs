//! Pieces of processors as modules, for wirings that build one of their own.
//!
//! A whole core is one module, [`crate::mips`]: what answers within a cycle is then a call. These pieces are joined by
//! connections of at least a cycle, so a pipeline of them has a stage a piece.

mod alu;
mod decoder;
mod fetch_unit;
mod signals;

pub use alu::{Alu, AluParams, AluPorts};
pub use decoder::{Decoder, DecoderParams, DecoderPorts};
pub use fetch_unit::{FetchUnit, FetchUnitParams, FetchUnitPorts};
pub use signals::{Controls, Fetched};
