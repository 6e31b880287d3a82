//! Compute units (4.4): a traffic manager, which handles chains and credits, and an engine, which handles packets only.
//!
//! An engine is a component with an input and an output of flits. It outputs packets in the order of its input, with data it
//! may change, and leaves `to` and `leg` unchanged.

pub mod accelerator;
mod delay;
mod engine;
pub mod riscv;
mod traffic_manager;

pub use delay::{DelayUnit, DelayUnitParams, ServiceTime};
pub use engine::{EngineParams, EngineSite};
pub use traffic_manager::{TrafficManager, TrafficManagerParams, TrafficManagerWiring};
