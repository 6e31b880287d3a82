//! Policies as parameters: arbitration and cache replacement.
//!
//! The published policies are data ([`Policy`], [`Replacement`]). A user-defined policy implements [`Arbitration`];
//! the `build` method of a user's module passes it to a component by `with_arbitration`.

mod access_span;
mod arbitration;
mod replacement;
mod rotating_tree;
mod round_robin;
mod round_robin_tree;

pub use access_span::AccessSpan;
pub use arbitration::{Arbitration, Arbitrator, Contest, FixedPriority, Policy, Ranks, WaitTimes};
pub use replacement::{Replacement, Replacer};
pub use rotating_tree::RotatingTree;
pub use round_robin::RoundRobin;
pub use round_robin_tree::RoundRobinTree;
