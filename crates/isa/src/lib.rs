//! Instruction sets: encodings, semantics and disassembly, from one table row per instruction.
//!
//! Semantics are functions of a trait that the machine implements. Timing belongs to the cores in `blocks`: this crate
//! knows no cycles.

pub mod mips;
mod pattern;
pub mod riscv;

pub use pattern::Pattern;
