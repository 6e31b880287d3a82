//! Timer wheel: which component of a clock domain wakes at which edge.

use crate::time::Cycle;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Edges ahead that have sets; edges further away are kept in a heap.
const NEAR: u64 = 64;

/// Cause of a wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// One of its ports changes.
    Port,
    /// It asked for the edge itself.
    Timer,
}

/// Wake-ups: for each of the next 64 edges one set of components per cause, and a heap for later edges.
pub(crate) struct Wheel {
    /// Edges before this one have no entries.
    next: Cell<Cycle>,
    /// Word w of the sets of edge e is at w * 64 + e % 64. It has one bit per component, for each cause.
    sets: Box<[[Cell<u64>; 2]]>,
    /// Bit e % 64 is set if a set of edge e may have components.
    occupied: Cell<u64>,
    far: RefCell<BinaryHeap<Reverse<(Cycle, u32, bool)>>>,
    /// The first edge of the heap; `Cycle::MAX` if it is empty.
    first_far: Cell<Cycle>,
}

impl Wheel {
    pub fn new(n_components: usize) -> Self {
        let n_words = n_components.div_ceil(64);
        let sets = (0..NEAR as usize * n_words).map(|_| Default::default()).collect();
        Wheel {
            next: Cell::new(0),
            sets,
            occupied: Cell::new(0),
            far: RefCell::default(),
            first_far: Cell::new(Cycle::MAX),
        }
    }

    /// Returns true if an entry for this edge belongs in the heap.
    #[inline]
    pub fn is_far(&self, cycle: Cycle) -> bool {
        cycle - self.next.get() >= NEAR
    }

    #[inline]
    fn set(&self, cycle: Cycle, component: u32, cause: Cause) -> &Cell<u64> {
        // The number of bits in a word and the number of edges ahead are both 64.
        &self.sets[component as usize / 64 * 64 + (cycle % NEAR) as usize][cause as usize]
    }

    #[inline(always)]
    pub fn insert(&self, cycle: Cycle, component: u32, cause: Cause) {
        debug_assert!(cycle >= self.next.get(), "a wake-up in the past");
        if self.is_far(cycle) {
            return self.insert_far(cycle, component, cause);
        }
        let set = self.set(cycle, component, cause);
        set.set(set.get() | 1 << (component % 64));
        self.occupied.set(self.occupied.get() | 1 << (cycle % NEAR));
    }

    #[cold]
    #[inline(never)]
    fn insert_far(&self, cycle: Cycle, component: u32, cause: Cause) {
        self.far.borrow_mut().push(Reverse((cycle, component, cause == Cause::Timer)));
        self.first_far.set(self.first_far.get().min(cycle));
    }

    /// Removes a timer from its set. The edge stays marked as occupied.
    pub fn remove(&self, cycle: Cycle, component: u32) {
        let set = self.set(cycle, component, Cause::Timer);
        set.set(set.get() & !(1 << (component % 64)));
    }

    /// The first edge at which a component may wake; `Cycle::MAX` if there is none.
    #[inline]
    pub fn first(&self) -> Cycle {
        self.first_near().min(self.first_far.get())
    }

    #[inline]
    fn first_near(&self) -> Cycle {
        let (next, occupied) = (self.next.get(), self.occupied.get());
        let ahead = u64::from(occupied.rotate_right((next % NEAR) as u32).trailing_zeros());
        if occupied == 0 { Cycle::MAX } else { next + ahead }
    }

    /// The first timer of the heap, if no set has an earlier edge.
    #[inline]
    pub fn first_far_timer(&self) -> Option<(Cycle, u32)> {
        if self.first_near() < self.first_far.get() { None } else { self.peek_far_timer() }
    }

    fn peek_far_timer(&self) -> Option<(Cycle, u32)> {
        let &Reverse((at, component, is_timer)) = self.far.borrow().peek()?;
        is_timer.then_some((at, component))
    }

    /// Returns true if the heap has an entry whose edge is at most `cycle`.
    #[inline]
    pub fn has_far(&self, cycle: Cycle) -> bool {
        self.first_far.get() <= cycle
    }

    /// Removes and returns the heap's first entry if its edge is at most `cycle`.
    pub fn take_far(&self, cycle: Cycle) -> Option<(u32, Cause)> {
        if !self.has_far(cycle) {
            return None;
        }
        let mut far = self.far.borrow_mut();
        let Reverse((_, component, is_timer)) = far.pop()?;
        self.first_far.set(far.peek().map_or(Cycle::MAX, |&Reverse((at, ..))| at));
        Some((component, if is_timer { Cause::Timer } else { Cause::Port }))
    }

    /// Advances to `cycle`; there are no entries before it. Returns true if there may be entries for it.
    #[inline]
    pub fn reach(&self, cycle: Cycle) -> bool {
        // A set belongs to `cycle` only if that edge was within reach. If it was not, all sets are empty.
        self.next.set(cycle);
        self.occupied.get() >> (cycle % NEAR) & 1 == 1 || self.first_far.get() <= cycle
    }

    /// Empties word `word` of the sets of `cycle` and returns the components woken by ports and by timers.
    #[inline]
    pub fn take(&self, cycle: Cycle, word: usize) -> [u64; 2] {
        let [ports, timers] = &self.sets[word * 64 + (cycle % NEAR) as usize];
        [ports.take(), timers.take()]
    }

    /// Marks the edge `cycle` as empty.
    pub fn pass(&self, cycle: Cycle) {
        self.occupied.set(self.occupied.get() & !(1 << (cycle % NEAR)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_entries_come_in_order() {
        let wheel = Wheel::new(66);
        for (cycle, component) in [(5, 1), (0, 2), (64, 3), (1000, 4), (5, 65), (63, 6)] {
            wheel.insert(cycle, component, Cause::Port);
        }
        let mut seen = Vec::new();
        while wheel.first() != Cycle::MAX {
            let cycle = wheel.first();
            assert!(wheel.reach(cycle), "there are entries for the first edge");
            let far: Vec<u32> = std::iter::from_fn(|| wheel.take_far(cycle)).map(|(component, _)| component).collect();
            let near = [0, 1].map(|word| wheel.take(cycle, word)[Cause::Port as usize]);
            seen.push((cycle, far, near));
            wheel.pass(cycle);
            if cycle == 5 {
                wheel.insert(68, 7, Cause::Port); // Reuses the sets of cycle 4.
            }
        }
        assert_eq!(
            seen,
            [
                (0, vec![], [1 << 2, 0]),
                (5, vec![], [1 << 1, 1 << 1]),
                (63, vec![], [1 << 6, 0]),
                (64, vec![3], [0, 0]),
                (68, vec![], [1 << 7, 0]),
                (1000, vec![4], [0, 0]),
            ]
        );
    }
}
