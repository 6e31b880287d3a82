//! The return paths of references in flight.

use std::collections::VecDeque;

/// The return paths of forwarded references, in order.
///
/// Responders answer in order, so a forwarder needs no IDs: the next reply belongs to the oldest entry.
#[derive(Clone, Debug)]
pub struct ReturnPaths<T> {
    under_way: VecDeque<T>,
    room: usize,
}

impl<T> ReturnPaths<T> {
    /// Holds up to `room` references in flight.
    pub fn new(room: u32) -> ReturnPaths<T> {
        assert!(room > 0, "a reference needs a way back");
        ReturnPaths { under_way: VecDeque::with_capacity(room.min(64) as usize), room: room as usize }
    }

    /// Returns true if one more reference may be forwarded.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.under_way.len() < self.room
    }

    /// Records a forwarded reference.
    #[inline]
    pub fn push(&mut self, back: T) {
        assert!(self.has_room(), "a forwarder checks for room before it sends");
        self.under_way.push_back(back);
    }

    /// The return path of the next reply.
    #[inline]
    pub fn next(&self) -> Option<&T> {
        self.under_way.front()
    }

    /// Removes the return path of the reply just returned.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.under_way.pop_front()
    }

    /// Returns true if no reference is in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
