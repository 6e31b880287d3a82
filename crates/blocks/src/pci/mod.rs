//! The way to the host's memory over a parallel bus.

mod bus;

pub use bus::{BusWidth, PciBus, PciBusParams, PciBusPorts};
