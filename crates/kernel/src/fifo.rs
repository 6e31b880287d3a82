//! Queue of the items in a channel.

/// First in, first out. It adds less code to each send than `VecDeque`, because growing is never inlined.
pub(crate) struct Fifo<T> {
    /// A power of two of slots, or none; those without an item are `None`.
    slots: Box<[Option<T>]>,
    head: usize,
    len: usize,
}

impl<T> Fifo<T> {
    pub fn new() -> Fifo<T> {
        Fifo { slots: Box::default(), head: 0, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the next push has to grow the queue.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.is_full() {
            self.grow();
        }
        let at = self.head.wrapping_add(self.len) & (self.slots.len() - 1);
        // The slot is empty, so nothing leaks.
        std::mem::forget(self.slots[at].replace(item));
        self.len += 1;
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let item = self.slots.get_mut(self.head)?.take()?;
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        Some(item)
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.slots.get(self.head)?.as_ref()
    }

    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots.get_mut(self.head)?.as_mut()
    }

    /// The item behind the front.
    pub fn second(&self) -> Option<&T> {
        self.slots.get((self.head + 1) & self.slots.len().wrapping_sub(1)).filter(|_| self.len > 1)?.as_ref()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let n_slots = (2 * self.len).max(2);
        let mut slots: Vec<Option<T>> = Vec::with_capacity(n_slots);
        while let Some(item) = self.pop() {
            slots.push(Some(item));
        }
        self.len = slots.len();
        slots.resize_with(n_slots, || None);
        (self.slots, self.head) = (slots.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_queue() {
        // Grows while its items wrap around, and becomes empty several times.
        let (mut fifo, mut want) = (Fifo::new(), VecDeque::new());
        for (round, n_pops) in [1, 0, 2, 1, 4, 0, 0, 9, 3, 0, 0, 0, 20].into_iter().enumerate() {
            for number in 0..4 {
                fifo.push((round, number));
                want.push_back((round, number));
            }
            for _ in 0..n_pops {
                assert_eq!(fifo.front(), want.front());
                assert_eq!(fifo.pop(), want.pop_front());
            }
            assert_eq!((fifo.len(), fifo.is_empty()), (want.len(), want.is_empty()));
        }
    }
}
