//! Simulated time goes on in slices, each so long that a call takes about the wall time that it may.

use kernel::{Cycle, Time};
use std::time::{Duration, Instant};

/// Simulated time ends here whatever happens: 64 bits of femtoseconds reach little further.
pub const HORIZON: Time = Time::from_ns(18_400_000_000_000);

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// It has ended.
    pub is_done: bool,
    /// Packets taken from the traffic.
    pub packets_in: u64,
    /// Packets that are finished: ordinary ones and those that were dropped too.
    pub packets_done: u64,
    /// Packets in all, where the traffic says so.
    pub packets_total: Option<u64>,
    /// Part of the traffic that is taken, where it can be said.
    pub fraction: Option<f64>,
    /// Simulated time.
    pub simulated: Time,
    /// Simulated cycles.
    pub cycles: Cycle,
}

/// How long slices are, in a unit of the run's.
#[derive(Clone, Debug)]
pub struct Slices {
    next: u64,
    shortest: u64,
    wall: Duration,
}

impl Slices {
    /// Slices of which the first is so long; the next are longer or shorter, by how long it took.
    pub const fn new(first: u64, shortest: u64) -> Slices {
        Slices { next: first, shortest, wall: Duration::ZERO }
    }

    /// Wall time that slices have taken.
    pub fn wall(&self) -> Duration {
        self.wall
    }
}

/// A run that goes on in slices. How it is sliced changes no result.
pub trait Sliced {
    /// Why it cannot go on.
    type Error;

    /// How long slices are.
    fn slices(&mut self) -> &mut Slices;

    /// Whether it has ended.
    fn is_over(&self) -> bool;

    /// Lets about so much simulated time go on; less, if it ends.
    fn slice(&mut self, length: u64) -> Result<(), Self::Error>;

    /// Runs for about `budget` of wall time, or to the end.
    fn run_for(&mut self, budget: Duration) -> Result<(), Self::Error> {
        let begun = Instant::now();
        while !self.is_over() && begun.elapsed() < budget {
            let slice_begun = Instant::now();
            let length = self.slices().next;
            self.slice(length)?;
            let (took, slices) = (slice_begun.elapsed(), self.slices());
            if took < budget / 16 {
                slices.next = slices.next.saturating_mul(2);
            } else if took > budget / 4 {
                slices.next = (slices.next / 2).max(slices.shortest);
            }
        }
        self.slices().wall += begun.elapsed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Sliced, Slices};
    use std::convert::Infallible;
    use std::time::Duration;

    struct Counted(Slices, Vec<u64>);

    impl Sliced for Counted {
        type Error = Infallible;

        fn slices(&mut self) -> &mut Slices {
            &mut self.0
        }

        fn is_over(&self) -> bool {
            self.1.len() == 6
        }

        fn slice(&mut self, length: u64) -> Result<(), Infallible> {
            self.1.push(length);
            Ok(())
        }
    }

    #[test]
    fn slices_grow_while_they_take_next_to_nothing() {
        let mut run = Counted(Slices::new(3, 2), Vec::new());
        let Ok(()) = run.run_for(Duration::from_secs(3600));
        assert_eq!(run.1, [3, 6, 12, 24, 48, 96]);
    }

    #[test]
    fn no_time_is_no_slice() {
        let mut run = Counted(Slices::new(3, 2), Vec::new());
        let Ok(()) = run.run_for(Duration::ZERO);
        assert_eq!(run.1, [0; 0]);
    }
}
