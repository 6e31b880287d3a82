//! A queue from which the least item is taken.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A queue from which the least item is taken.
///
/// Items are often added in ascending order. An item that is not less than the last item of the run is appended to the run, where
/// adding and taking are cheap. All other items are in a heap.
pub(crate) struct Ordered<T> {
    run: VecDeque<T>,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T> Default for Ordered<T>
where
    T: Ord,
{
    fn default() -> Self {
        Ordered { run: VecDeque::new(), heap: BinaryHeap::new() }
    }
}

impl<T: Ord + Copy> Ordered<T> {
    pub fn len(&self) -> usize {
        self.run.len() + self.heap.len()
    }

    pub fn push(&mut self, item: T) {
        match self.run.back() {
            Some(last) if item < *last => self.heap.push(Reverse(item)),
            _ => self.run.push_back(item),
        }
    }

    pub fn first(&self) -> Option<T> {
        match (self.run.front(), self.heap.peek()) {
            (Some(run), Some(Reverse(heap))) => Some(*run.min(heap)),
            (run, heap) => run.copied().or(heap.map(|Reverse(item)| *item)),
        }
    }

    pub fn pop(&mut self) -> Option<T> {
        let is_in_run = match (self.run.front(), self.heap.peek()) {
            (Some(run), Some(Reverse(heap))) => run <= heap,
            (run, _) => run.is_some(),
        };
        if is_in_run { self.run.pop_front() } else { self.heap.pop().map(|Reverse(item)| item) }
    }

    /// Adds all items of another queue.
    pub fn append(&mut self, other: Self) {
        other.run.into_iter().for_each(|item| self.push(item));
        other.heap.into_iter().for_each(|Reverse(item)| self.push(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::RandomStream;

    #[test]
    fn items_leave_in_order_wherever_they_were_added() {
        let seed = 7;
        let mut random = RandomStream::new(seed, "ordered");
        for spread in [1, 3, 10, 1000] {
            let (mut queue, mut sorted) = (Ordered::default(), Vec::new());
            for step in 0..2000 {
                let item = (step + random.next_u64() % spread, step);
                queue.push(item);
                sorted.push(item);
                if random.next_u64().is_multiple_of(2) {
                    sorted.sort_unstable();
                    let least = sorted.remove(0);
                    assert_eq!(
                        (queue.first(), queue.pop()),
                        (Some(least), Some(least)),
                        "seed {seed}, spread {spread}"
                    );
                }
                assert_eq!(queue.len(), sorted.len());
            }
            assert_eq!(spread == 1, queue.heap.capacity() == 0, "only items that are out of order are in the heap");
        }
    }
}
