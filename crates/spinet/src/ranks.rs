//! The processes (ranks) that simulate one network together.

pub use net::exchange::Exchange;
use std::fmt;
use std::sync::Arc;

/// This process and its peers.
#[derive(Clone)]
pub struct Ranks(pub Arc<dyn Exchange>);

impl Ranks {
    /// Returns true for the rank that writes the results.
    pub fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    /// Numbers of all ranks.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        0..self.0.n_ranks()
    }
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.0.rank(), self.0.n_ranks())
    }
}
