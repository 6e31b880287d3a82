//! Which component of a clock domain wants which edge.

use crate::time::Cycle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Edges ahead that are kept in buckets; what is further away waits in a heap.
const NEAR: u64 = 64;

/// A calendar of wake-ups: a bucket for each of the next 64 edges, a heap for the rest.
///
/// An entry may be stale (its component has since been woken earlier); whoever takes a bucket checks.
pub(crate) struct Wheel {
    /// Edges before this one are over.
    next: Cycle,
    buckets: Vec<Vec<u32>>,
    /// Bit `c % 64` is set where bucket `c % 64` holds entries.
    occupied: u64,
    far: BinaryHeap<Reverse<(Cycle, u32)>>,
}

impl Wheel {
    pub fn new() -> Self {
        Wheel { next: 0, buckets: vec![Vec::new(); NEAR as usize], occupied: 0, far: BinaryHeap::new() }
    }

    /// Whether an entry for this edge would wait in the heap.
    pub fn is_far(&self, cycle: Cycle) -> bool {
        cycle - self.next >= NEAR
    }

    pub fn insert(&mut self, cycle: Cycle, component: u32) {
        debug_assert!(cycle >= self.next, "a wake-up in the past");
        if !self.is_far(cycle) {
            self.buckets[(cycle % NEAR) as usize].push(component);
            self.occupied |= 1 << (cycle % NEAR);
        } else {
            self.far.push(Reverse((cycle, component)));
        }
    }

    /// The first edge that some component wants.
    pub fn first(&self) -> Option<Cycle> {
        let near = (self.occupied != 0).then(|| {
            let turned = self.occupied.rotate_right((self.next % NEAR) as u32);
            self.next + u64::from(turned.trailing_zeros())
        });
        let far = self.far.peek().map(|Reverse((cycle, _))| *cycle);
        match (near, far) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The first entry of the heap, if no bucket comes before it.
    pub fn first_far(&self) -> Option<(Cycle, u32)> {
        let &Reverse((at, component)) = self.far.peek()?;
        (self.first() == Some(at)).then_some((at, component))
    }

    /// Takes it out.
    pub fn drop_far(&mut self) {
        self.far.pop();
    }

    /// Steps past `cycle`, before which there are no entries. Whether there are entries for it, which must be taken then.
    #[inline]
    pub fn step(&mut self, cycle: Cycle) -> bool {
        // A bucket belongs to `cycle` only while that is within reach of `next`; if it is not, all are empty.
        let near = self.occupied >> (cycle % NEAR) & 1 == 1;
        self.next = cycle + 1;
        near || self.far.peek().is_some_and(|&Reverse((at, _))| at <= cycle)
    }

    /// Takes an entry of `cycle`, which was just stepped past.
    pub fn take(&mut self, cycle: Cycle) -> Option<u32> {
        let bucket = (cycle % NEAR) as usize;
        if self.occupied >> bucket & 1 == 1 {
            if let Some(component) = self.buckets[bucket].pop() {
                return Some(component);
            }
            self.occupied &= !(1 << bucket);
        }
        let &Reverse((at, component)) = self.far.peek()?;
        (at <= cycle).then(|| self.far.pop()).map(|_| component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_entries_come_in_order() {
        let mut wheel = Wheel::new();
        for (cycle, component) in [(5, 1), (0, 2), (64, 3), (1000, 4), (5, 5), (63, 6)] {
            wheel.insert(cycle, component);
        }
        let mut seen = Vec::new();
        while let Some(cycle) = wheel.first() {
            assert!(wheel.step(cycle), "there are entries for the first edge");
            seen.push((cycle, std::iter::from_fn(|| wheel.take(cycle)).collect::<Vec<u32>>()));
            if cycle == 5 {
                wheel.insert(69, 7); // Reuses the bucket of cycle 5.
            }
        }
        assert_eq!(seen, [(0, vec![2]), (5, vec![5, 1]), (63, vec![6]), (64, vec![3]), (69, vec![7]), (1000, vec![4])]);
    }
}
