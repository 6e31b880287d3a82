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
    ticked: Option<Cycle>,
    /// The edge for which a port woke it last; saves a second entry for the same edge.
    woken: Option<Cycle>,
    /// The edge for which it asked itself.
    timer: Option<Cycle>,
}

impl Domain {
    pub fn new(clock: Clock) -> Self {
        Domain { clock, now: Cell::new(0), wheel: RefCell::new(Wheel::new()), sleepers: RefCell::default() }
    }

    /// Makes place for this many components.
    pub fn expect(&self, n: usize) {
        *self.sleepers.borrow_mut() = vec![Sleeper { ticked: None, woken: None, timer: None }; n];
    }

    /// The first edge that some component wants.
    pub fn first(&self) -> Option<Cycle> {
        self.wheel.borrow().first()
    }

    /// A port of the component changes at `cycle`.
    pub fn wake(&self, index: u32, cycle: Cycle) {
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.woken != Some(cycle) {
            sleeper.woken = Some(cycle);
            self.wheel.borrow_mut().insert(cycle, index << 1);
        }
    }

    /// The component asks for `cycle` itself, or for nothing; what it asked for before is forgotten.
    pub fn set_timer(&self, index: u32, cycle: Option<Cycle>) {
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.timer != cycle {
            sleeper.timer = cycle;
            if let Some(cycle) = cycle {
                self.wheel.borrow_mut().insert(cycle, index << 1 | 1);
            }
        }
    }

    /// Turns the wheel's entries for `cycle` into the components to tick, each once.
    pub fn collect(&self, cycle: Cycle, due: &mut Vec<u32>) {
        self.wheel.borrow_mut().take(cycle, due);
        let mut sleepers = self.sleepers.borrow_mut();
        due.retain_mut(|entry| {
            let sleeper = &mut sleepers[(*entry >> 1) as usize];
            let stale = *entry & 1 == 1 && sleeper.timer != Some(cycle);
            let live = !stale && sleeper.ticked != Some(cycle);
            if live {
                sleeper.ticked = Some(cycle);
            }
            *entry >>= 1;
            live
        });
    }
}
