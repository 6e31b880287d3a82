//! The module library that NICs are built from.
//!
//! What answers within a cycle is a plain struct here ([`cpu::Core`], [`policy::RoundRobinTree`]): the component that
//! holds it calls it. What talks through channels is a component.

pub mod activity;
pub mod assist;
pub mod bus;
mod catalog;
pub mod checks;
pub mod cpu;
pub mod ethernet;
pub mod feeders;
pub mod interconnect;
pub mod interrupt;
pub mod memory;
pub mod mhz;
pub mod mips;
pub mod netlist;
pub mod param;
pub mod pci;
pub mod pcie;
pub mod policy;
pub mod processor;
#[cfg(test)]
mod testing;

pub use catalog::catalog;
