//! Functions as parameters: who goes first, and what has to go.
//!
//! The published policies are data ([`ArbitrationPolicy`], [`Replacement`]); a user's own implements [`Arbitration`] and
//! reaches a card in a module of its own, as [`crate::interconnect::Arbiter`] shows.

mod arbitration;
mod fixed_priority;
mod replacement;
mod round_robin;

pub use arbitration::{Arbitration, ArbitrationPolicy, Arbitrator, Contest, Head};
pub use fixed_priority::FixedPriority;
pub use replacement::{Replacement, Replacer};
pub use round_robin::RoundRobin;
