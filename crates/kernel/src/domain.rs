//! A clock domain, and when its components tick.

use crate::time::{Clock, Cycle};
use crate::wheel::Wheel;
use std::cell::{Cell, OnceCell, RefCell};

/// A set of components: bit i of word w is component 64 w + i.
pub(crate) type Set = Vec<u64>;

/// A clock domain: one clock, and which of its components wants which edge.
pub(crate) struct Domain {
    pub clock: Clock,
    pub now: Cell<Cycle>,
    /// The first edge that some component wants, kept up to date by all that changes it; `NEVER` if none does.
    next: Cell<Cycle>,
    wheel: RefCell<Wheel>,
    /// Components that want the edge after `now`, by their own word; most edges know no others.
    busy: RefCell<Set>,
    is_busy: Cell<bool>,
    sleepers: RefCell<Vec<Sleeper>>,
    /// For each component, whether something changed at its ports since it last asked.
    mail: OnceCell<Box<[Cell<bool>]>>,
}

/// What the kernel remembers of a component between its ticks.
#[derive(Clone)]
struct Sleeper {
    /// The edge for which a port woke it last; saves a second entry for the same edge.
    woken: Cycle,
    /// The edge for which it asked itself.
    timer: Cycle,
    /// The edge of its one timer entry in the wheel's heap, which stays where it is while the component asks for later
    /// edges: a component may put off a far timer at every tick.
    far: Cycle,
}

/// No edge.
pub(crate) const NEVER: Cycle = Cycle::MAX;

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
            is_busy: Cell::new(false),
            sleepers: RefCell::default(),
            mail: OnceCell::new(),
        }
    }

    /// An empty set of its components.
    pub fn no_component(&self) -> Set {
        vec![0; self.busy.borrow().len()]
    }

    /// Makes place for this many components. Asked once, before anything else.
    pub fn expect(&self, n: usize) {
        *self.busy.borrow_mut() = vec![0; n.div_ceil(64)];
        *self.sleepers.borrow_mut() = vec![Sleeper { woken: NEVER, timer: NEVER, far: NEVER }; n];
        assert!(self.mail.set(vec![Cell::new(false); n].into()).is_ok(), "a domain is wired once");
    }

    /// The first edge that some component wants.
    #[inline]
    pub fn next(&self) -> Option<Cycle> {
        Some(self.next.get()).filter(|&cycle| cycle != NEVER)
    }

    /// An edge was lived through: looks for the next one.
    #[inline]
    pub fn look_ahead(&self) {
        let next = if self.is_busy.get() { self.now.get() + 1 } else { self.first_in_wheel().unwrap_or(NEVER) };
        self.next.set(next);
    }

    #[inline(never)]
    fn first_in_wheel(&self) -> Option<Cycle> {
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
        self.mailbox(index).take()
    }

    fn mailbox(&self, index: u32) -> &Cell<bool> {
        &self.mail.get().expect("a channel is used only once its system is built")[index as usize]
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

    /// The components of this word of their set want the next edge. One that asked for another edge before may still be
    /// ticked then; it would be anyway, or its next answer forgets that.
    #[inline]
    pub fn stay_busy(&self, word: usize, components: u64) {
        if components != 0 {
            self.is_busy.set(true);
            self.busy.borrow_mut()[word] |= components;
        }
    }

    /// The component that just ticked asks for `cycle`, or for [`NEVER`]; what it asked for before is forgotten.
    pub fn set_timer(&self, index: u32, cycle: Cycle) {
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

    /// Finds the components to tick at `cycle`: those that were busy, and those in the wheel. `due` is empty before, and
    /// becomes the set of those that stay busy.
    #[inline]
    pub fn collect(&self, cycle: Cycle, due: &mut Set) {
        std::mem::swap(due, &mut self.busy.borrow_mut());
        self.is_busy.set(false);
        self.now.set(cycle);
        let mut wheel = self.wheel.borrow_mut();
        if wheel.step(cycle) {
            self.collect_from(&mut wheel, cycle, due);
        }
    }

    #[inline(never)]
    fn collect_from(&self, wheel: &mut Wheel, cycle: Cycle, due: &mut Set) {
        let mut sleepers = self.sleepers.borrow_mut();
        while let Some(entry) = wheel.take(cycle) {
            let (index, from_timer) = (entry >> 1, entry & 1 == 1);
            let sleeper = &mut sleepers[index as usize];
            if from_timer {
                sleeper.put_off(wheel, cycle, entry);
            } else {
                self.mailbox(index).set(true);
            }
            // A timer's entry is stale if the component has asked for another edge since.
            if !from_timer || sleeper.timer == cycle {
                due[index as usize / 64] |= 1 << (index % 64);
            }
        }
    }
}
