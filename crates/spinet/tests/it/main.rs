//! One program for all integration tests of the crate, because each further program would link all of spinet again.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod bad_input;
mod card_contract;
mod chain_mutations;
mod chains;
mod debug;
mod derived;
mod driver;
mod exec;
mod instructions;
mod live;
mod modes;
mod mutations;
mod network;
mod network_hosts;
mod runs;
mod support;
mod wired;
