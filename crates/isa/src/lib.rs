//! Instruction sets: encodings, meaning and disassembly, from one table row per instruction.
//!
//! What an instruction does is said in terms of a trait that the machine implements; how long it takes is the
//! business of the cores in `blocks`. This crate knows no cycles.

pub mod mips;
mod pattern;
pub mod riscv;

pub use pattern::Pattern;
