//! The 10 Gigabit NIC: its registers, and the host driver that speaks to it.

pub mod map;
mod pointer;
mod registers;

pub use registers::{Interrupt, TengigRegisters, TengigRegistersParams};
