//! The PsPIN NIC: packet handlers in C on clusters of RISC-V cores (Di Girolamo et al., ISCA 2021; RTL a49fec8).

pub mod events;
pub mod params;
pub mod protocol;

pub use params::{ParamError, PspinParams};
