//! The module library that NICs are built from.
//!
//! Logic that answers within the same cycle is a plain struct ([`cpu::Core`], [`policy::RoundRobinTree`]), which its
//! owning component calls. Everything that communicates through channels is a component.

pub mod activity;
pub mod assist;
pub mod bus;
mod catalog;
pub mod checks;
pub mod cpu;
pub mod debug;
pub mod ethernet;
pub mod feeders;
pub mod interconnect;
pub mod interrupt;
pub mod memory;
pub mod mhz;
pub mod mips;
pub mod netlist;
pub mod pci;
pub mod pcie;
pub mod policy;
pub mod profile;
#[cfg(test)]
mod testing;

pub use catalog::catalog;
