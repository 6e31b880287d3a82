//! NICs of offload chains. Inputs: services, chains, tenants and traffic. Outputs: packets, and the parts of their time.
//!
//! [`CheckedChains::read`] checks an experiment, [`ChainCard`] runs it, [`ChainSummary`] reports it.

mod captures;
mod card;
mod changes;
mod check;
mod classify;
mod credits;
mod debug;
mod experiment;

mod nic;
mod outcomes;
pub mod paths;
mod policies;
mod programs;
mod record;
mod shares;
mod short_forms;
mod source;
mod stats;
mod summary;
mod table;
mod tenants;
mod trail;
mod unused;
mod weights;

pub use panic::cost;

pub use card::{ChainCard, ChainFault, OwnPolicies};
pub use check::{ChainError, CheckedChains};
pub use experiment::ChainExperiment;
pub use nic::{PRESETS, is_meant_by as is_nic, load, services, services_of, show};
pub use panic::policy::{Arrival, Policy};
pub use record::Fate;
pub use summary::{ChainPackets, ChainSection, ChainSummary};
pub use table::{HOP_COLUMNS, PACKET_COLUMNS, words};
#[cfg(test)]
pub(crate) use trail::Part;
