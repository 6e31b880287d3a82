//! All integration tests of the crate are one program, because each program would link the whole card again.

mod fidelity;
mod host_port;
mod mistakes;
mod paper_host;
mod rig;
mod system;
