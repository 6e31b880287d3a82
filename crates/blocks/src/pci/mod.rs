//! The PCI bus to host memory.

mod bus;

pub use bus::{BusWidth, PciBus, PciBusParams, PciBusPorts};
