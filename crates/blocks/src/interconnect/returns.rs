//! Who gets the next answer: what a forwarder keeps of references under way.

use std::collections::VecDeque;

/// The ways back of references that went onward on one connection, in their order.
///
/// A responder answers in order, so a forwarder needs no names: the next reply belongs to the oldest entry.
#[derive(Clone, Debug)]
pub struct Returns<T> {
    under_way: VecDeque<T>,
    room: usize,
}

impl<T> Returns<T> {
    /// For up to `room` references under way.
    pub fn new(room: u32) -> Returns<T> {
        assert!(room > 0, "a reference needs a way back");
        Returns { under_way: VecDeque::with_capacity(room.min(64) as usize), room: room as usize }
    }

    /// Whether one more may go onward.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.under_way.len() < self.room
    }

    /// One more went onward.
    #[inline]
    pub fn push(&mut self, back: T) {
        assert!(self.has_room(), "a forwarder asks for room before it sends");
        self.under_way.push_back(back);
    }

    /// Whose the next reply is.
    #[inline]
    pub fn next(&self) -> Option<&T> {
        self.under_way.front()
    }

    /// The next reply was passed back.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.under_way.pop_front()
    }

    /// Whether nothing is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
