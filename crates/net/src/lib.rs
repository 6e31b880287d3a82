//! Networks of hosts and cards.
//!
//! `goal` reads the schedules of message-passing programs, and `loggops` runs them on hosts that follow LogGOPS.

pub mod goal;
pub mod loggops;
