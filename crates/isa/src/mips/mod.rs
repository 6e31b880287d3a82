//! MIPS: the 32-bit integer instructions of the R4000 that compilers emit for MIPS I and II, and the two that the
//! Tigon-2 adds. Big-endian; no coprocessor, no floating point, no 64-bit operation.
//!
//! Reading order: `compute.rs` shows what a row of the table looks like, `table.rs` what is made of the rows.
//! [`decode()`] turns a word into an [`Inst`] of eight bytes; [`execute`] does what it says to a [`Cpu`].
//!
//! Source: MIPS R4000 Microprocessor User's Manual, second edition (MIPS Technologies, 1994), appendix A, which has a page for
//! each instruction under its name; "A" and a name in the rows stands for that page. The added two have their own source,
//! in `tigon.rs`.

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

/// The register that calls leave their return address in.
pub const RA: u8 = 31;
