//! Pieces of processors as modules, for wirings that build one of their own.
//!
//! A whole core is one module, [`crate::mips`]: what answers within a cycle is then a call. These pieces are joined by
//! connections of at least a cycle, so a pipeline of them has a stage a piece.

mod alu;
mod decoder;
mod fetch_unit;

pub use alu::{Alu, AluParams};
pub use decoder::{Controls, Decoder, DecoderParams};
pub use fetch_unit::{FetchUnit, FetchUnitParams, Fetched};
