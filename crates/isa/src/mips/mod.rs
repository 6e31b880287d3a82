//! MIPS: the 32-bit integer instructions of MIPS I and II as the R4000 has them, and the two that the Tigon-2 adds.
//! Big-endian; no coprocessor, no floating point, no 64-bit operation.
//!
//! Reading order: `compute.rs` shows a row of the table, `table.rs` the code generated from the rows. [`decode()`]
//! turns a word into an [`Inst`] of eight bytes; [`execute`] performs it on a [`Cpu`].
//!
//! Source: MIPS R4000 Microprocessor User's Manual, second edition (MIPS Technologies, 1994), appendix A, which has a
//! page for each instruction. "A ADDI" in a row refers to the page of ADDI. `tigon.rs` names the source of the two
//! additions.

#[macro_use]
mod compute;
#[macro_use]
mod control;
#[macro_use]
mod memory;
#[macro_use]
mod tigon;

mod cpu;
mod decode;
mod disassemble;
pub mod flow;
pub mod format;
mod row;
mod table;

pub use cpu::{Cpu, Exception, Load, Store};
pub use decode::{Inst, decode};
pub use disassemble::{disassemble, register_name};
pub use format::Operands;
pub use row::{Row, row, rows};
pub use table::{Class, Op, execute};

/// The link register of calls.
pub const RA: u8 = 31;
