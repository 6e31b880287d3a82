//! Tests of the public interface of packet networks.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod engine;
mod rig;
