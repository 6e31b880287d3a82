//! The PANIC NIC: offload chains under a central scheduler (Lin, Patel, Stephens, Sivaraman, Akella, OSDI 2020).
//!
//! Section numbers without a title are the paper's; "RTL" is the prototype that its authors published. Where the two differ,
//! the item says so.

pub mod baseline;
pub mod cells;
pub mod cost;
pub mod crossbar;
pub mod dma;
pub mod drops;
pub mod egress;
pub mod entry;
pub mod fairness;
pub mod ingress;
pub mod interconnect;
pub mod model;
pub mod nic;
pub mod params;
pub mod pifo;
pub mod policy;
pub mod protocol;
pub mod rmt;
pub mod scheduler;
pub mod unit;
pub mod world;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
