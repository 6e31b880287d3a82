//! RISC-V: RV32IMAC, Zicsr, Zifencei, the machine and user mode instructions, and PULP's extensions (XpulpV2).
//!
//! Reading order: `rv32i.rs` shows a row of the table, `table.rs` the code generated from the rows. Each file holds one
//! extension. [`decode()`] turns a word into a compact [`Inst`]; [`execute`] performs it on a [`Hart`]. A compressed
//! instruction (`rv32c.rs`) decodes to its 32-bit operation, so [`execute`] has no cases for it.
//!
//! Sources: RISC-V Unprivileged ISA 20191213 ("U"), Privileged Architecture 20211203 ("P"), and for PULP's extensions
//! the RTL of PsPIN a49fec8, `riscv_decoder.sv`.

#[macro_use]
mod rv32i;
#[macro_use]
mod rv32m;
#[macro_use]
mod rv32a;
#[macro_use]
mod zicsr;
#[macro_use]
mod privileged;
#[macro_use]
mod xpulp_alu;
#[macro_use]
mod xpulp_loop;
#[macro_use]
mod xpulp_mac;
#[macro_use]
mod xpulp_mem;
#[macro_use]
mod xpulp_simd;

mod bits;
pub mod cause;
pub mod csr;
mod decode;
mod disassemble;
mod extension;
pub mod flow;
pub mod format;
mod hart;
mod lanes;
mod row;
mod rv32c;
mod table;

pub use csr::CsrWrite;
pub use decode::{Inst, decode};
pub use disassemble::{disassemble, register_name};
pub use extension::{Extension, Isa, UnknownIsa};
pub use format::Operands;
pub use hart::{Amo, Hart, Load, LoopPart, System, Width};
pub use row::{Row, row, rows};
pub use table::{Class, Meaning, Op, execute, meaning};
