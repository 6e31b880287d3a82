//! A queue of items with due times.

use kernel::Cycle;
use std::collections::VecDeque;

/// Items in order, each with the cycle from which it may be taken; the cycles never decrease.
pub struct Due<T>(VecDeque<(Cycle, T)>);

impl<T> Due<T> {
    /// An empty queue.
    pub fn new() -> Due<T> {
        Due(VecDeque::new())
    }

    /// Appends an item that may be taken from cycle `at` on.
    pub fn push(&mut self, at: Cycle, thing: T) {
        assert!(self.0.back().is_none_or(|&(last, _)| last <= at), "due cycles must not decrease");
        self.0.push_back((at, thing));
    }

    /// Takes the next item if it is due.
    pub fn take(&mut self, now: Cycle) -> Option<T> {
        self.next().filter(|&at| at <= now)?;
        self.0.pop_front().map(|(_, thing)| thing)
    }

    /// When the next item is due.
    pub fn next(&self) -> Option<Cycle> {
        self.0.front().map(|&(at, _)| at)
    }
}
