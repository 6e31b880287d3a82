//! The simulation kernel: time, clocks, components, channels, wake-ups, random streams, counters and trace events.
//!
//! A [`System`] is a set of [`Component`]s, each in a clock domain, joined only by channels ([`Tx`], [`Rx`]). A component
//! ticks at an edge of its clock if it asked for that edge or if one of its ports changed. All other components sleep and
//! cost nothing. An item sent at one edge is seen at a later one, and room freed at one edge is usable at a later one, so the
//! order of ticks within an edge cannot change a result.
//!
//! The kernel knows no NIC, no packet and no instruction.

mod channel;
mod component;
mod domain;
mod fifo;
mod random;
mod set;
mod system;
mod time;
pub mod trace;
mod wheel;
mod wiring;
mod words;

pub use channel::{Inlet, Rx, Tx};
pub use component::{Activity, Component, CounterList, Direction, Port, Ports, Resource, Use};
pub use random::RandomStream;
pub use set::members;
pub use system::{ClockId, Mode, Outcome, System, SystemBuilder};
pub use time::{Clock, Cycle, Freq, FreqError, Time};
pub use wiring::WiringError;
