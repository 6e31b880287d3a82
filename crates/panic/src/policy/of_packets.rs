//! Policies that go by what is said of the packet alone.

use super::{Arrival, Policy};

/// The lowest priority value goes first. Source: 7.6, Figure 11a.
pub struct StrictPriority;

impl Policy for StrictPriority {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        u64::from(arrival.priority)
    }
}

/// The packet that can wait least goes first: what counts is when its slack will be used up, if it waits.
pub struct LeastSlack;

impl Policy for LeastSlack {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        arrival.now.saturating_add(arrival.slack_cycles)
    }
}

/// In order of arrival.
pub struct Fifo;

impl Policy for Fifo {
    fn rank(&mut self, _arrival: &Arrival) -> u64 {
        0
    }
}
