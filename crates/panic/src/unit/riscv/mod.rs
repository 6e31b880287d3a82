//! The core-based unit (4.4, Figure 6): a RISC-V core, its memory, and doorbells to the traffic manager.
//!
//! Reading order: `params.rs`; `core.rs` for the core's timing; `bus.rs` and `doorbell.rs` for its memory and registers;
//! `unit.rs` for the order of events within a cycle. `sdk/include/panic.h` is the program's side.

mod bus;
mod cache;
mod core;
mod csr;
mod debug;
mod doorbell;
mod image;
mod params;
#[cfg(test)]
mod tests;
mod trouble;
mod unit;

pub use image::{Image, Segment, Symbol};
pub use params::{MEMORY_BASE, REGISTERS_BASE, RiscvParams};
pub use trouble::{Cause, KEPT_TROUBLES, Program, SharedMemory, SharedTroubles, Trouble};
pub use unit::{RiscvUnit, Sizes};
