//! Functions as parameters: who goes first, and what has to go.
//!
//! The published policies are data ([`Policy`], [`Replacement`]). A user's own implements [`Arbitration`] and is given to
//! a component by `with_arbitration`, in the `build` of a module that the user names.

mod arbitration;
mod head;
mod replacement;
mod rotating_tree;
mod round_robin;
mod round_robin_tree;

pub use arbitration::{Arbitration, Arbitrator, Contest, FixedPriority, Policy, Ranks, Waits};
pub use head::Head;
pub use replacement::{Replacement, Replacer};
pub use rotating_tree::RotatingTree;
pub use round_robin::RoundRobin;
pub use round_robin_tree::RoundRobinTree;
