//! A clock domain, and when its components tick.

use crate::time::{Clock, Cycle};
use crate::wheel::Wheel;
use std::cell::{Cell, RefCell};

/// A clock domain: one clock, and which of its components wants which edge.
pub(crate) struct Domain {
    pub clock: Clock,
    pub now: Cell<Cycle>,
    wheel: RefCell<Wheel>,
    sleepers: RefCell<Vec<Sleeper>>,
}

/// What the kernel remembers of a component between its ticks.
#[derive(Clone)]
struct Sleeper {
    /// The edge of its last tick.
    ticked: Cycle,
    /// The edge for which a port woke it last; saves a second entry for the same edge.
    woken: Cycle,
    /// The edge for which it asked itself.
    timer: Cycle,
}

/// No edge.
const NEVER: Cycle = Cycle::MAX;

impl Domain {
    pub fn new(clock: Clock) -> Self {
        Domain { clock, now: Cell::new(0), wheel: RefCell::new(Wheel::new()), sleepers: RefCell::default() }
    }

    /// Makes place for this many components.
    pub fn expect(&self, n: usize) {
        *self.sleepers.borrow_mut() = vec![Sleeper { ticked: NEVER, woken: NEVER, timer: NEVER }; n];
    }

    /// The first edge that some component wants.
    pub fn first(&self) -> Option<Cycle> {
        self.wheel.borrow().first()
    }

    /// A port of the component changes at `cycle`.
    pub fn wake(&self, index: u32, cycle: Cycle) {
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.woken != cycle {
            sleeper.woken = cycle;
            self.wheel.borrow_mut().insert(cycle, index << 1);
        }
    }

    /// The component asks for `cycle` itself, or for nothing; what it asked for before is forgotten.
    pub fn set_timer(&self, index: u32, cycle: Option<Cycle>) {
        let cycle = cycle.unwrap_or(NEVER);
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.timer != cycle {
            sleeper.timer = cycle;
            if cycle != NEVER {
                self.wheel.borrow_mut().insert(cycle, index << 1 | 1);
            }
        }
    }

    /// Turns the wheel's entries for `cycle` into the components to tick, each once.
    pub fn collect(&self, cycle: Cycle, due: &mut Vec<u32>) {
        self.wheel.borrow_mut().take(cycle, due);
        let mut sleepers = self.sleepers.borrow_mut();
        let mut kept = 0;
        for position in 0..due.len() {
            let (index, from_timer) = (due[position] >> 1, due[position] & 1 == 1);
            let sleeper = &mut sleepers[index as usize];
            // A timer's entry is stale if the component has asked for another edge since.
            if (from_timer && sleeper.timer != cycle) || sleeper.ticked == cycle {
                continue;
            }
            sleeper.ticked = cycle;
            due[kept] = index;
            kept += 1;
        }
        due.truncate(kept);
    }
}
