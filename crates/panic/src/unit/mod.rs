//! Compute units (4.4): a traffic manager, which knows the NIC, and an engine, which knows packets only.
//!
//! An engine is a component with an input and an output of flits. It gives out what it takes in, in order, with the packet
//! changed as it likes, and leaves `to` and `leg` alone.

pub mod accelerator;
mod delay;
mod engine;
pub mod riscv;
mod traffic_manager;

pub use delay::{DelayUnit, DelayUnitParams, ServiceTime};
pub use engine::{EngineParams, EngineSite};
pub use traffic_manager::{TrafficManager, TrafficManagerParams, TrafficManagerWiring};
