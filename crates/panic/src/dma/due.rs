//! Things that happen at known times, in order.

use kernel::Cycle;
use std::collections::VecDeque;

/// A queue of things with the cycle from which on each may be taken; the cycles never descend.
pub struct Due<T>(VecDeque<(Cycle, T)>);

impl<T> Due<T> {
    /// One in which nothing is.
    pub fn new() -> Due<T> {
        Due(VecDeque::new())
    }

    /// Puts a thing in that may be taken from cycle `at` on.
    pub fn push(&mut self, at: Cycle, thing: T) {
        assert!(self.0.back().is_none_or(|&(last, _)| last <= at), "things come in order");
        self.0.push_back((at, thing));
    }

    /// The next thing, if it is time.
    pub fn take(&mut self, now: Cycle) -> Option<T> {
        self.next().filter(|&at| at <= now)?;
        self.0.pop_front().map(|(_, thing)| thing)
    }

    /// When the next thing may be taken.
    pub fn next(&self) -> Option<Cycle> {
        self.0.front().map(|&(at, _)| at)
    }
}
