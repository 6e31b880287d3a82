//! One program for all tests of the crate from outside: each would compile and link the whole card again.

mod fidelity;
mod host_port;
mod mistakes;
mod paper_host;
mod rig;
mod system;
