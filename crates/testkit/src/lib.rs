//! Test benches: a component between scripts of what arrives when and a log of what it sends when.
//!
//! [`bench`] runs every scene three times (as usual, with the components of an edge in random order, and with all of
//! them ticked at every edge) and asks for one and the same log, so that a test of a component's timing is at the same
//! time a test of its promise to sleep.

mod bench;

pub use bench::{Bench, Log, bench};
