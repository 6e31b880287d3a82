//! The processes (ranks) that simulate one network together.

use net::exchange::Exchange;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Moves bytes between ranks. All of them call it equally often, in the same order.
pub trait Peers: Send + Sync {
    /// Number of this process.
    fn rank(&self) -> u32;

    /// Number of processes.
    fn n_ranks(&self) -> u32;

    /// Gives `outgoing[r]` to rank `r` and returns what each rank sent to this one. The own place is empty in both.
    fn exchange(&self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>>;
}

/// This process and its peers.
#[derive(Clone)]
pub struct Ranks(pub Arc<dyn Peers>);

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

impl Exchange for Ranks {
    fn rank(&self) -> u32 {
        self.0.rank()
    }

    fn n_ranks(&self) -> u32 {
        self.0.n_ranks()
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        self.0.exchange(outgoing)
    }
}
