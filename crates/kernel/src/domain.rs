//! A clock domain: decides when its components tick.

use crate::component::{Activity, Component};
use crate::random::RandomStream;
use crate::set::members;
use crate::system::Mode;
use crate::time::{Clock, Cycle};
use crate::wheel::{Cause, Wheel};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// A clock domain: one clock, and the edge that each of its components wants next.
pub(crate) struct Domain {
    pub clock: Clock,
    pub now: Cell<Cycle>,
    /// The first edge that any component wants; `NEVER` if none. Updated at every change.
    next: Cell<Cycle>,
    /// The last edge of the current run.
    pub last: Cell<Cycle>,
    /// Set when a domain is woken earlier than it wanted; shared by all domains.
    is_woken: Rc<Cell<bool>>,
    /// True if a word of `Plan::soon` has a bit.
    has_soon: Cell<bool>,
    plan: OnceCell<Plan>,
}

/// State of the components between ticks. Sets of components are stored as 64-bit words.
struct Plan {
    wheel: Wheel,
    /// Components that asked for the edge after `now`.
    busy: Box<[Cell<u64>]>,
    /// Components whose ports change at the edge after `now`, as in most cases. The ports share these words.
    soon: Box<[Rc<Cell<u64>>]>,
    /// Components whose ports changed since they last asked. The ports share these words.
    mail: Box<[Rc<Cell<u64>>]>,
    timers: Box<[Timer]>,
}

/// A component of a domain.
pub(crate) struct Slot {
    pub path: Rc<str>,
    /// Number of its clock, by which reports are sorted.
    pub clock: usize,
    pub component: Box<dyn Component>,
}

/// Number of components in a word.
const WORD: usize = u64::BITS as usize;

/// The edge that a component asked for.
struct Timer {
    at: Cell<Cycle>,
    /// True if it is in the wheel's set for `at`.
    is_near: Cell<bool>,
    /// The edge of its only entry in the wheel's heap. The entry stays there while the component asks for later
    /// edges, because a component may postpone a far timer at every tick.
    far: Cell<Cycle>,
}

/// No edge.
pub(crate) const NEVER: Cycle = Cycle::MAX;

impl Domain {
    pub fn new(clock: Clock, is_woken: Rc<Cell<bool>>) -> Self {
        Domain {
            clock,
            now: Cell::new(0),
            next: Cell::new(NEVER),
            last: Cell::new(0),
            is_woken,
            has_soon: Cell::new(false),
            plan: OnceCell::new(),
        }
    }

    /// Allocates this many components, once.
    pub fn expect(&self, n: usize) {
        let words = || 0..n.div_ceil(WORD);
        let shared = || words().map(|_| Rc::default()).collect();
        let (busy, soon, mail) = (words().map(|_| Cell::new(0)).collect(), shared(), shared());
        let timer = |_| Timer { at: Cell::new(NEVER), is_near: Cell::new(false), far: Cell::new(NEVER) };
        let plan = Plan { busy, soon, mail, timers: (0..n).map(timer).collect(), wheel: Wheel::new(n) };
        assert!(self.plan.set(plan).is_ok(), "a domain is built once");
    }

    #[inline]
    fn plan(&self) -> &Plan {
        self.plan.get().expect("a domain is used only once its system is built")
    }

    /// The first edge that some component wants, or [`NEVER`].
    #[inline(always)]
    pub fn next_or_never(&self) -> Cycle {
        self.next.get()
    }

    /// The first edge that some component wants.
    #[inline]
    pub fn next(&self) -> Option<Cycle> {
        Some(self.next.get()).filter(|&cycle| cycle != NEVER)
    }

    /// The word with the component's bit (its index modulo 64), which is set when one of its ports changes.
    pub fn mail(&self, index: u32) -> Rc<Cell<u64>> {
        self.plan().mail[index as usize / WORD].clone()
    }

    /// The word in which the component's bit (its index modulo 64) wakes the component at the edge after `now`. Set the bit
    /// with [`Domain::wake_soon`].
    pub fn soon(&self, index: u32) -> Rc<Cell<u64>> {
        self.plan().soon[index as usize / WORD].clone()
    }

    /// Wakes components at the edge after `now`, when their ports change. `bits` are theirs in `soon`, a word from
    /// [`Domain::soon`].
    #[inline(always)]
    pub fn wake_soon(&self, soon: &Cell<u64>, bits: u64) {
        soon.set(soon.get() | bits);
        self.has_soon.set(true);
        self.next.set(self.next.get().min(self.now.get() + 1));
    }

    /// A port of the component changes at `cycle`.
    #[inline(always)]
    pub fn wake(&self, index: u32, cycle: Cycle) {
        if cycle < self.next.get() {
            self.next.set(cycle);
            self.is_woken.set(true);
        }
        self.plan().wheel.insert(cycle, index, Cause::Port);
    }

    /// Simulates edge `cycle`, and then the next edges before `end`, as long as only busy components are due: those whose last
    /// tick asked for the next edge. Such edges are cheaper to simulate.
    #[inline]
    pub fn simulate_busy(&self, cycle: Cycle, end: Cycle, mode: Mode, slots: &mut [Slot]) {
        self.simulate(cycle, mode, slots);
        if mode == Mode::Normal {
            self.continue_busy(cycle + 1, end, slots);
        }
    }

    /// Simulates the edges from `cycle` on, as long as only busy components are due.
    fn continue_busy(&self, mut cycle: Cycle, end: Cycle, slots: &mut [Slot]) {
        let plan = self.plan();
        while self.next.get() == cycle && cycle < end && !self.has_soon.get() && !plan.wheel.reach(cycle) {
            self.now.set(cycle);
            let is_busy = plan.tick_busy(cycle, slots);
            cycle += 1;
            self.next.set(if is_busy || self.has_soon.get() { cycle } else { plan.first() });
        }
    }

    /// Simulates edge `cycle`: ticks each due component once, and records when it wants to tick next.
    #[inline]
    pub fn simulate(&self, cycle: Cycle, mode: Mode, slots: &mut [Slot]) {
        self.now.set(cycle);
        let plan = self.plan();
        if self.has_soon.take() {
            plan.take_soon();
        }
        let has_wheel_entries = plan.wheel.reach(cycle);
        if has_wheel_entries && plan.wheel.has_far(cycle) {
            plan.take_far(cycle);
        }
        let is_busy = match mode {
            Mode::Normal => plan.tick_due(cycle, has_wheel_entries, slots),
            _ => plan.tick_in_mode(cycle, mode, has_wheel_entries, slots),
        };
        if has_wheel_entries {
            plan.wheel.pass(cycle);
        }
        self.next.set(if is_busy || self.has_soon.get() { cycle + 1 } else { plan.first() });
    }
}

impl Plan {
    /// Marks the components whose ports change at this edge as due. It takes all words before the first tick, because a tick
    /// sets bits for the next edge.
    #[inline]
    fn take_soon(&self) {
        for (word, soon) in self.soon.iter().enumerate() {
            let ports = soon.take();
            self.busy[word].set(self.busy[word].get() | ports);
            self.mail[word].set(self.mail[word].get() | ports);
        }
    }

    /// Removes the due components of this word from the sets and returns them.
    #[inline]
    fn take_due(&self, cycle: Cycle, word: usize, has_wheel_entries: bool) -> u64 {
        let mut due = self.busy[word].take();
        if has_wheel_entries {
            let [ports, timers] = self.wheel.take(cycle, word);
            self.mail[word].set(self.mail[word].get() | ports);
            members_of(word, timers).for_each(|index| self.timers[index as usize].ring());
            due |= ports | timers;
        }
        due
    }

    /// Ticks a component. Returns true if it wants the next edge.
    #[inline(always)]
    fn tick(&self, index: u32, slot: &mut Slot, cycle: Cycle) -> bool {
        let activity = slot.component.tick(cycle);
        self.note(index, slot, cycle, activity)
    }

    /// Notes a component's answer to a tick. Returns true if it wants the next edge.
    #[inline(always)]
    fn note(&self, index: u32, slot: &Slot, cycle: Cycle, activity: Activity) -> bool {
        match activity {
            // A timer that the component set earlier may still fire. That tick changes nothing, or the next answer
            // removes it.
            Activity::Busy => return true,
            Activity::Until(later) if later == cycle + 1 => return true,
            Activity::Until(later) => {
                assert!(later > cycle, "{}: asked for a tick at cycle {later}, but it is cycle {cycle}", slot.path);
                self.set_timer(index, later);
            }
            Activity::Idle => self.set_timer(index, NEVER),
        }
        false
    }

    /// Ticks the due components. Returns true if any of them wants the next edge.
    #[inline(always)]
    fn tick_due(&self, cycle: Cycle, has_wheel_entries: bool, slots: &mut [Slot]) -> bool {
        let mut is_busy = false;
        for (word, set) in self.busy.iter().enumerate() {
            let due = self.take_due(cycle, word, has_wheel_entries);
            let mut busy = due;
            for bit in members(due) {
                let index = (word * WORD) as u32 + bit;
                if !self.tick(index, &mut slots[index as usize], cycle) {
                    busy &= !(1 << bit);
                }
            }
            set.set(busy);
            is_busy |= busy != 0;
        }
        is_busy
    }

    /// Ticks the busy components, when no others are due. Returns true if a component wants the next edge.
    #[inline(always)]
    fn tick_busy(&self, cycle: Cycle, slots: &mut [Slot]) -> bool {
        let mut is_busy = false;
        for (word, busy) in self.busy.iter().enumerate() {
            for bit in members(busy.get()) {
                let index = (word * WORD) as u32 + bit;
                let slot = &mut slots[index as usize];
                let activity = slot.component.tick_again(cycle);
                if !self.note(index, slot, cycle, activity) {
                    busy.set(busy.get() & !(1 << bit));
                }
            }
            is_busy |= busy.get() != 0;
        }
        is_busy
    }

    /// Ticks the due components in random order, or all components. Tests use these modes.
    #[cold]
    fn tick_in_mode(&self, cycle: Cycle, mode: Mode, has_wheel_entries: bool, slots: &mut [Slot]) -> bool {
        let words = 0..self.busy.len();
        let mut order: Vec<u32> =
            words.flat_map(|word| members_of(word, self.take_due(cycle, word, has_wheel_entries))).collect();
        match mode {
            Mode::Shuffled(seed) => shuffle(&mut order, seed, cycle),
            _ => order = (0..slots.len() as u32).collect(),
        }
        for index in order {
            let wants_next = self.tick(index, &mut slots[index as usize], cycle);
            let word = &self.busy[index as usize / WORD];
            word.set(word.get() | u64::from(wants_next) << (index % u64::BITS));
        }
        self.busy.iter().any(|word| word.get() != 0)
    }

    /// Replaces the edge that the component asked for by `cycle`, or by none.
    fn set_timer(&self, index: u32, cycle: Cycle) {
        let timer = &self.timers[index as usize];
        let before = timer.at.replace(cycle);
        if before == cycle {
            return;
        }
        if timer.is_near.replace(false) {
            self.wheel.remove(before, index);
        }
        self.enter(index, timer);
    }

    /// Inserts a timer into the wheel, unless the heap already holds an earlier entry for it.
    fn enter(&self, index: u32, timer: &Timer) {
        let at = timer.at.get();
        if at == NEVER {
            return;
        }
        let is_far = self.wheel.is_far(at);
        if is_far && timer.far.get() <= at {
            return;
        }
        if is_far {
            timer.far.set(at);
        }
        timer.is_near.set(!is_far);
        self.wheel.insert(at, index, Cause::Timer);
    }

    /// Removes the timer's heap entry for `cycle`. If the timer was postponed, inserts it at its later edge.
    fn postpone(&self, index: u32, cycle: Cycle) {
        let timer = &self.timers[index as usize];
        if timer.far.get() == cycle {
            timer.far.set(NEVER);
        }
        if !timer.is_near.get() {
            self.enter(index, timer);
        }
    }

    /// Moves the heap's entries for `cycle` into its sets.
    fn take_far(&self, cycle: Cycle) {
        while let Some((index, cause)) = self.wheel.take_far(cycle) {
            match cause {
                Cause::Port => self.wheel.insert(cycle, index, cause),
                Cause::Timer => self.postpone(index, cycle),
            }
        }
    }

    /// The first edge that any component wants, or `NEVER`. Moves postponed timers to their later edge.
    #[inline]
    fn first(&self) -> Cycle {
        while let Some((at, index)) = self.wheel.first_far_timer()
            && self.timers[index as usize].at.get() != at
        {
            self.wheel.take_far(at);
            self.postpone(index, at);
        }
        self.wheel.first()
    }
}

impl Timer {
    fn ring(&self) {
        self.at.set(NEVER);
        self.is_near.set(false);
    }
}

/// Indices of the components in word `word` of a set.
#[inline]
fn members_of(word: usize, bits: u64) -> impl Iterator<Item = u32> {
    members(bits).map(move |bit| (word * WORD) as u32 + bit)
}

fn shuffle(items: &mut [u32], seed: u64, cycle: Cycle) {
    let mut stream = RandomStream::new(seed ^ cycle.rotate_left(32), "order");
    for last in (1..items.len()).rev() {
        items.swap(last, stream.below(last as u64 + 1) as usize);
    }
}
