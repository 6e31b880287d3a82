//! Policies that depend only on the packet.

use super::{Arrival, Policy};

/// The lowest priority value goes first. Source: 7.6, Figure 11a.
pub struct StrictPriority;

impl Policy for StrictPriority {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        u64::from(arrival.priority)
    }
}

/// The packet with the earliest deadline (arrival plus slack) goes first.
pub struct LeastSlack;

impl Policy for LeastSlack {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        arrival.now.saturating_add(arrival.slack_cycles)
    }
}

/// Order of arrival.
pub struct Fifo;

impl Policy for Fifo {
    fn rank(&mut self, _arrival: &Arrival) -> u64 {
        0
    }
}
