//! A clock domain, and when its components tick.

use crate::component::Activity;
use crate::time::{Clock, Cycle};
use crate::wheel::Wheel;
use std::cell::{Cell, RefCell};

/// A clock domain: one clock, and which of its components wants which edge.
pub(crate) struct Domain {
    pub clock: Clock,
    pub now: Cell<Cycle>,
    /// The first edge that some component wants, kept up to date by all that changes it; `NEVER` if none does.
    next: Cell<Cycle>,
    wheel: RefCell<Wheel>,
    /// Components that want the edge after `now`, by their own word; most edges know no others.
    busy: RefCell<Vec<u32>>,
    sleepers: RefCell<Vec<Sleeper>>,
    /// Components at whose ports something changed since they last asked.
    mail: RefCell<Vec<bool>>,
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
    /// The edge of its one timer entry in the wheel's heap, which stays where it is while the component asks for later
    /// edges: a component may put off a far timer at every tick.
    far: Cycle,
}

/// No edge.
const NEVER: Cycle = Cycle::MAX;

impl Sleeper {
    /// A timer entry for edge `at` is out of the wheel. If it was the one that stood for a later edge, that one gets an
    /// entry of its own.
    fn put_off(&mut self, wheel: &mut Wheel, at: Cycle, entry: u32) {
        if self.far != at {
            return;
        }
        self.far = NEVER;
        if self.timer != NEVER && self.timer > at {
            self.far = if wheel.is_far(self.timer) { self.timer } else { NEVER };
            wheel.insert(self.timer, entry);
        }
    }
}

impl Domain {
    pub fn new(clock: Clock) -> Self {
        Domain {
            clock,
            now: Cell::new(0),
            next: Cell::new(NEVER),
            wheel: RefCell::new(Wheel::new()),
            busy: RefCell::default(),
            sleepers: RefCell::default(),
            mail: RefCell::default(),
        }
    }

    /// Makes place for this many components.
    pub fn expect(&self, n: usize) {
        *self.mail.borrow_mut() = vec![false; n];
        *self.sleepers.borrow_mut() = vec![Sleeper { ticked: NEVER, woken: NEVER, timer: NEVER, far: NEVER }; n];
    }

    /// The first edge that some component wants.
    #[inline]
    pub fn next(&self) -> Option<Cycle> {
        Some(self.next.get()).filter(|&cycle| cycle != NEVER)
    }

    /// An edge was lived through: looks for the next one.
    pub fn look_ahead(&self) {
        self.next.set(self.first().unwrap_or(NEVER));
    }

    fn first(&self) -> Option<Cycle> {
        if !self.busy.borrow().is_empty() {
            return Some(self.now.get() + 1);
        }
        let mut wheel = self.wheel.borrow_mut();
        while let Some((at, entry)) = wheel.first_far()
            && entry & 1 == 1
            && self.sleepers.borrow()[(entry >> 1) as usize].timer != at
        {
            wheel.drop_far();
            self.sleepers.borrow_mut()[(entry >> 1) as usize].put_off(&mut wheel, at, entry);
        }
        wheel.first()
    }

    /// Whether a port of the component has changed, an item having come or room, since this was asked last.
    #[inline]
    pub fn take_mail(&self, index: u32) -> bool {
        std::mem::take(&mut self.mail.borrow_mut()[index as usize])
    }

    /// A port of the component changes at `cycle`.
    pub fn wake(&self, index: u32, cycle: Cycle) {
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.woken != cycle {
            sleeper.woken = cycle;
            self.next.set(self.next.get().min(cycle));
            self.wheel.borrow_mut().insert(cycle, index << 1);
        }
    }

    /// The component that just ticked says when it wants to tick next, if no port wakes it before.
    #[inline]
    pub fn ask(&self, index: u32, activity: Activity) {
        match activity {
            // An edge it asked for before may still come; it would tick then anyway, or the next answer forgets it.
            Activity::Busy => self.busy.borrow_mut().push(index),
            Activity::Until(later) => self.set_timer(index, later),
            Activity::Idle => self.set_timer(index, NEVER),
        }
    }

    /// The component asks for `cycle` itself, or for nothing; what it asked for before is forgotten.
    fn set_timer(&self, index: u32, cycle: Cycle) {
        let sleeper = &mut self.sleepers.borrow_mut()[index as usize];
        if sleeper.timer != cycle {
            sleeper.timer = cycle;
            let mut wheel = self.wheel.borrow_mut();
            if cycle == NEVER || wheel.is_far(cycle) && sleeper.far <= cycle {
                return;
            }
            if wheel.is_far(cycle) {
                sleeper.far = cycle;
            }
            wheel.insert(cycle, index << 1 | 1);
        }
    }

    /// Finds the components to tick at `cycle`, each once: those that were busy, then those in the wheel.
    pub fn collect(&self, cycle: Cycle, due: &mut Vec<u32>) {
        due.clear();
        if self.now.get() + 1 == cycle {
            std::mem::swap(due, &mut self.busy.borrow_mut());
        }
        self.now.set(cycle);
        let mut wheel = self.wheel.borrow_mut();
        if wheel.step(cycle) {
            self.collect_from(&mut wheel, cycle, due);
        }
    }

    fn collect_from(&self, wheel: &mut Wheel, cycle: Cycle, due: &mut Vec<u32>) {
        let mut sleepers = self.sleepers.borrow_mut();
        due.iter().for_each(|&index| sleepers[index as usize].ticked = cycle);
        while let Some(entry) = wheel.take(cycle) {
            let (index, from_timer) = (entry >> 1, entry & 1 == 1);
            let sleeper = &mut sleepers[index as usize];
            if from_timer {
                sleeper.put_off(wheel, cycle, entry);
            } else {
                self.mail.borrow_mut()[index as usize] = true;
            }
            // A timer's entry is stale if the component has asked for another edge since.
            if (from_timer && sleeper.timer != cycle) || sleeper.ticked == cycle {
                continue;
            }
            sleeper.ticked = cycle;
            due.push(index);
        }
    }
}
