//! Bounded, typed channels with latency: the only way from one component to another.

use crate::domain::Domain;
use crate::fifo::Fifo;
use crate::time::{Clock, Cycle};
use crate::wiring::WiringError;
use std::any::Any;
use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::Rc;

mod runs;

/// The component at one end of a channel.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub domain: Rc<Domain>,
    /// Index of the component within its domain.
    pub index: u32,
    /// The word whose bit is set when a port changes; the component clears it.
    pub mail: Rc<Cell<u64>>,
    /// The word and the bit that wake the component at the next edge.
    pub soon: Rc<Cell<u64>>,
    pub bit: u64,
}

impl Endpoint {
    pub(crate) fn new(domain: Rc<Domain>, index: u32) -> Endpoint {
        let (mail, soon) = (domain.mail(index), domain.soon(index));
        Endpoint { domain, index, mail, soon, bit: 1 << (index % u64::BITS) }
    }

    fn now(&self) -> Cycle {
        self.domain.now.get()
    }

    #[inline(always)]
    fn wake(&self, cycle: Cycle) {
        self.domain.wake(self.index, cycle);
    }

    /// Like [`Endpoint::wake`], for a change that a component of the same domain makes.
    #[inline(always)]
    fn wake_from_within(&self, cycle: Cycle) {
        if cycle == self.now() + 1 {
            self.domain.wake_soon(&self.soon, self.bit);
        } else {
            self.wake(cycle);
        }
    }

    #[inline]
    fn take_mail(&self) -> bool {
        let mail = self.mail.get();
        let has_mail = mail & self.bit != 0;
        if has_mail {
            self.mail.set(mail & !self.bit);
        }
        has_mail
    }

    /// The first cycle of this end that is not earlier than `cycle` of the other.
    #[inline]
    fn cycle_of(&self, other: &Endpoint, cycle: Cycle) -> Cycle {
        if Rc::ptr_eq(&self.domain, &other.domain) { cycle } else { self.cycle_across(other, cycle) }
    }

    #[inline(never)]
    fn cycle_across(&self, other: &Endpoint, cycle: Cycle) -> Cycle {
        self.domain.clock.cycle_at_or_after(other.domain.clock.edge(cycle))
    }

    /// The first cycle of this end that is later than the current one of the other.
    #[inline]
    fn cycle_after(&self, other: &Endpoint) -> Cycle {
        if Rc::ptr_eq(&self.domain, &other.domain) { self.now() + 1 } else { self.cycle_after_across(other) }
    }

    #[inline(never)]
    fn cycle_after_across(&self, other: &Endpoint) -> Cycle {
        self.domain.clock.cycle_after(other.domain.clock.edge(other.now()))
    }
}

/// The sending end of a channel that is fed from outside the system, between two runs.
pub struct Inlet<T>(Rc<Channel<T>>);

/// State shared by both ends.
struct Channel<T> {
    name: String,
    capacity: usize,
    /// Latency, in cycles of the sender.
    latency: u64,
    sender: OnceCell<(Endpoint, String)>,
    receiver: OnceCell<(Endpoint, String)>,
    /// The receiver's cycle from which the first item is visible; `Cycle::MAX` if there is none. Read at every tick, so
    /// stored apart from the queue.
    first: Cell<Cycle>,
    /// The receiver's cycle from which the last item is visible. Later items cannot be visible earlier.
    last: Cell<Cycle>,
    items: RefCell<Fifo<Entry<T>>>,
    /// Room that was freed but is not usable yet. One value is enough, because all items taken earlier are usable by the
    /// sender's next edge.
    freed: Cell<Freed>,
    /// Items in the queue plus those in `freed`. While this is below the capacity, there is room in any cycle. It exceeds the
    /// capacity while a run is sent whose last items use room that is freed later.
    occupied: Cell<usize>,
    /// Additional work of the next take: [`SENDER_WAITS`], [`HAS_RUNS`]. Almost always 0.
    duties: Cell<u8>,
    /// The sender's cycle after its last run.
    run_end: Cell<Cycle>,
    /// Copies an item of a run; set by the first run.
    copy: Cell<Option<CopyOf<T>>>,
    /// The set to which each item that is sent adds a member.
    arrivals: OnceCell<(Rc<Cell<u64>>, u64)>,
    /// The receiver's offer to the sender.
    offer: OnceCell<Rc<dyn Any>>,
}

/// Makes an item that is equal to another.
type CopyOf<T> = fn(&T) -> T;

/// An item in the queue, or several equal ones that arrive one a cycle.
struct Entry<T> {
    /// The receiver's cycle from which it, or the first of them, is visible.
    seen: Cycle,
    item: T,
    /// Number of equal items behind it.
    more: u32,
}

/// The sender asked for room and found none.
const SENDER_WAITS: u8 = 1;
/// A run was sent. It wakes the receiver for its first item only, so each take must wake the receiver for the next item.
const HAS_RUNS: u8 = 2;

/// Room for `n` items: for `at_once` of them from the sender's cycle `usable` on, and for one more in each later cycle.
#[derive(Clone, Copy, Default)]
struct Freed {
    usable: Cycle,
    n: u32,
    at_once: u32,
}

impl<T> Channel<T> {
    fn sender(&self) -> &Endpoint {
        &self.sender.get().expect("a channel is used only once its system is built").0
    }

    fn receiver(&self) -> &Endpoint {
        &self.receiver.get().expect("a channel is used only once its system is built").0
    }

    /// Adds an item that becomes visible at `cycle`, or together with the item before it if that is later.
    #[inline]
    fn push(&self, receiver: &Endpoint, cycle: Cycle, item: T) {
        let seen = cycle.max(self.last.get());
        self.last.set(seen);
        self.first.set(self.first.get().min(seen));
        self.items.borrow_mut().push(Entry { seen, item, more: 0 });
        self.announce();
        self.occupied.set(self.occupied.get() + 1);
        receiver.wake(seen);
    }

    #[inline(always)]
    fn announce(&self) {
        if let Some((set, member)) = self.arrivals.get() {
            set.set(set.get() | member);
        }
    }

    /// Removes from `freed` the room that can be used by now. Returns the number of items that may be sent at this edge.
    fn reclaim(&self) -> usize {
        let Freed { usable, n, at_once } = self.freed.get();
        let now = self.sender().now();
        if let Some(cycles) = now.checked_sub(usable) {
            let usable_now = n.min(u32::try_from(cycles).unwrap_or(u32::MAX).saturating_add(at_once));
            self.freed.set(Freed { usable: now + 1, n: n - usable_now, at_once: 1 });
            self.occupied.set(self.occupied.get() - usable_now as usize);
        }
        self.capacity.saturating_sub(self.occupied.get())
    }

    /// An item is taken; the sender can use its room from its cycle `usable` on.
    #[inline(always)]
    fn free(&self, usable: Cycle) {
        let Freed { usable: before, n, at_once } = self.freed.get();
        if before == usable {
            self.freed.set(Freed { usable, n: n + 1, at_once: at_once + 1 });
        } else {
            self.occupied.set(self.occupied.get() - n as usize);
            self.freed.set(Freed { usable, n: 1, at_once: 1 });
        }
    }

    fn wake_sender(&self, usable: Cycle) {
        self.duties.set(self.duties.get() & !SENDER_WAITS);
        let sender = self.sender();
        if self.is_within() { sender.wake_from_within(usable) } else { sender.wake(usable) }
    }

    /// Returns true if both ends have the same clock.
    fn is_within(&self) -> bool {
        Rc::ptr_eq(&self.sender().domain, &self.receiver().domain)
    }
}

/// Makes a channel that is not attached to components yet. Public: [`crate::SystemBuilder::channel`].
pub(crate) fn channel<T: 'static>(name: &str, capacity: usize, latency: u64) -> (Tx<T>, Rx<T>) {
    let channel = Rc::new(Channel {
        name: name.to_owned(),
        capacity,
        latency,
        sender: OnceCell::new(),
        receiver: OnceCell::new(),
        first: Cell::new(Cycle::MAX),
        last: Cell::new(0),
        items: RefCell::new(Fifo::new()),
        freed: Cell::default(),
        occupied: Cell::new(0),
        duties: Cell::new(0),
        run_end: Cell::new(0),
        copy: Cell::new(None),
        arrivals: OnceCell::new(),
        offer: OnceCell::new(),
    });
    (Tx(channel.clone()), Rx(channel))
}

/// Makes a channel into `domain` that is fed from outside. Public: [`crate::SystemBuilder::inlet`].
pub(crate) fn inlet<T: 'static>(name: &str, domain: Rc<Domain>) -> (Inlet<T>, Rx<T>) {
    let (tx, rx) = channel(name, usize::MAX, 1);
    // No component has this index. An inlet never asks for room, so it wakes nothing.
    let outside = Endpoint { domain, index: u32::MAX, mail: Rc::default(), soon: Rc::default(), bit: 0 };
    tx.bind(outside, "outside").expect("the channel is new");
    (Inlet(tx.0), rx)
}

impl<T> Inlet<T> {
    /// Sends an item that becomes visible at `cycle`, or together with earlier items if those are later.
    ///
    /// Panics unless `cycle` is after the last simulated cycle of the inlet's clock domain.
    pub fn send_at(&self, cycle: Cycle, item: T) {
        let channel = &*self.0;
        let (sender, receiver) = (channel.sender(), channel.receiver());
        assert!(
            Rc::ptr_eq(&sender.domain, &receiver.domain),
            "inlet {} must be read in its own clock domain",
            channel.name
        );
        assert!(cycle > sender.now(), "inlet {}: cannot send at cycle {cycle}, it is already simulated", channel.name);
        channel.freed.set(Freed::default());
        channel.occupied.set(channel.items.borrow().len());
        channel.push(receiver, cycle, item);
    }

    pub(crate) fn end(&self) -> Tx<T> {
        Tx(self.0.clone())
    }
}

/// The sending end.
pub struct Tx<T>(Rc<Channel<T>>);

/// The receiving end.
pub struct Rx<T>(Rc<Channel<T>>);

impl<T> Tx<T> {
    /// Returns true if an item may be sent at this edge. If not, the component is woken when there is room.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.0.occupied.get() < self.0.capacity || self.finds_room()
    }

    fn finds_room(&self) -> bool {
        let room = self.room() > 0;
        if !room {
            match self.0.freed.get() {
                Freed { n: 0, .. } => self.0.duties.set(self.0.duties.get() | SENDER_WAITS),
                Freed { usable, .. } => self.0.sender().wake(usable),
            }
        }
        room
    }

    /// Number of items that may be sent at this edge.
    pub fn room(&self) -> usize {
        self.0.reclaim()
    }

    /// Sends an item, which becomes visible after the channel's latency. Panics if there is no room.
    pub fn send(&self, item: T) {
        self.send_late(item, 0);
    }

    /// Sends an item that takes `extra` sender cycles more than the channel's latency.
    ///
    /// Items still arrive in order: an item behind a delayed one is delayed too.
    pub fn send_late(&self, item: T, extra: u64) {
        let channel = &*self.0;
        debug_assert!(channel.sender().now() >= channel.run_end.get(), "channel {} still sends a run", channel.name);
        // The common case: one clock, and room that needs no look at `freed`. It calls nothing, so it saves no registers.
        if let (Some((sender, _)), Some((receiver, _))) = (channel.sender.get(), channel.receiver.get())
            && Rc::ptr_eq(&sender.domain, &receiver.domain)
            && channel.occupied.get() < channel.capacity
            && let Ok(mut items) = channel.items.try_borrow_mut()
            && !items.is_full()
        {
            let seen = (sender.now() + channel.latency + extra).max(channel.last.get());
            channel.last.set(seen);
            if items.is_empty() {
                channel.first.set(seen);
            }
            items.push(Entry { seen, item, more: 0 });
            drop(items);
            channel.announce();
            channel.occupied.set(channel.occupied.get() + 1);
            return receiver.wake_from_within(seen);
        }
        self.send_in_any_case(item, extra);
    }

    #[inline(never)]
    fn send_in_any_case(&self, item: T, extra: u64) {
        let channel = &*self.0;
        let has_room = channel.occupied.get() < channel.capacity || channel.reclaim() > 0;
        assert!(has_room, "channel {} is full", channel.name);
        let (sender, receiver) = (channel.sender(), channel.receiver());
        let arrival = sender.now() + channel.latency + extra;
        channel.push(receiver, receiver.cycle_of(sender, arrival), item);
    }

    /// The last cycle of the sender's clock in the current run of the system. A component that is ahead of its tick does nothing in
    /// later cycles, so that all state belongs to the end of the run.
    pub fn last_cycle(&self) -> Cycle {
        self.0.sender().domain.last.get()
    }

    /// Makes the receiver tick in a later cycle of its clock, although no item arrives then.
    pub fn wake_receiver(&self, cycle: Cycle) {
        self.0.receiver().wake(cycle);
    }

    /// Makes the sender tick in a later cycle of its clock.
    pub fn wake_sender(&self, cycle: Cycle) {
        self.0.sender().wake(cycle);
    }

    /// The object that the receiver has offered, if it is an `O` and both ends have the same clock. See [`Rx::offer`].
    pub fn offered<O: 'static>(&self) -> Option<Rc<O>> {
        let offer = self.0.offer.get().filter(|_| self.0.is_within())?;
        offer.clone().downcast().ok()
    }

    /// Capacity of the channel in items, and its latency.
    pub fn size(&self) -> (usize, u64) {
        (self.0.capacity, self.0.latency)
    }

    pub(crate) fn name(&self) -> String {
        self.0.name.clone()
    }

    pub(crate) fn bind(&self, endpoint: Endpoint, port: &str) -> Result<(), WiringError> {
        attach(&self.0.sender, endpoint, port, &self.0.name)
    }

    /// The port at this end, once attached.
    pub(crate) fn attached_to(&self) -> Option<&str> {
        self.0.sender.get().map(|(_, port)| port.as_str())
    }
}

impl<T> Rx<T> {
    /// Returns true if an item can be taken at this edge.
    #[inline]
    pub fn has_item(&self) -> bool {
        let first = self.0.first.get();
        first != Cycle::MAX && first <= self.0.receiver().now()
    }

    /// The same for a receiver that passes its own cycle; the cheapest form.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        self.0.first.get() <= now
    }

    /// The receiver's cycle from which the first item is visible; `Cycle::MAX` if there is none.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.0.first.get()
    }

    /// From now on, each item that is sent adds the bit `member` to `set`, so that a component with many ports need not look at all
    /// of them. The item may be visible later. The receiver removes the bit when no item is left: see [`Rx::due`].
    pub fn announce(&self, set: &Rc<Cell<u64>>, member: u64) {
        assert!(
            self.0.arrivals.set((set.clone(), member)).is_ok(),
            "channel {} announces its items twice",
            self.0.name
        );
    }

    /// Offers an object to the sending component, for example a faster connection that both components know. Its messages must have
    /// the times that they would have on this channel.
    pub fn offer(&self, offer: Rc<dyn Any>) {
        assert!(self.0.offer.set(offer).is_ok(), "channel {} has an offer", self.0.name);
    }

    /// Capacity of the channel in items, and its latency.
    pub fn size(&self) -> (usize, u64) {
        (self.0.capacity, self.0.latency)
    }

    /// The receiver's clock, once the system is built.
    pub fn clock(&self) -> Clock {
        self.0.receiver().domain.clock
    }

    /// The latency, in cycles of the sender.
    pub fn latency(&self) -> u64 {
        self.0.latency
    }

    /// Returns true if any port of the receiving component has changed since the last call: an item arrived, or room for
    /// an item that waits. A component that left no item at its ports can skip them if this is false.
    #[inline]
    pub fn take_mail(&self) -> bool {
        self.0.receiver().take_mail()
    }

    /// The item that [`Rx::take`] would return.
    #[inline]
    pub fn peek(&self) -> Option<Ref<'_, T>> {
        if !self.has_item() {
            return None;
        }
        Ref::filter_map(self.0.items.borrow(), |items| items.front().map(|entry| &entry.item)).ok()
    }

    /// Takes the oldest item that has arrived. The sender can use its room from the sender's next edge.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.has_item() { self.take_first() } else { None }
    }

    /// The same for a receiver that passes its own cycle; the cheapest form.
    #[inline]
    pub fn take_due(&self, now: Cycle) -> Option<T> {
        if self.is_due(now) { self.take_first() } else { None }
    }

    fn take_first(&self) -> Option<T> {
        let channel = &*self.0;
        let usable = channel.sender().cycle_after(channel.receiver());
        channel.free(usable);
        if channel.duties.get() != 0
            && let Some(item) = channel.do_duties(usable)
        {
            return Some(item);
        }
        // Taken last, so no code that may panic runs while the item is held.
        let mut items = channel.items.borrow_mut();
        let Entry { item, .. } = items.pop()?;
        channel.first.set(items.front().map_or(Cycle::MAX, |entry| entry.seen));
        Some(item)
    }

    /// The next item, even if it has not arrived yet, and the receiver's cycle from which it is visible. For observers
    /// between two runs.
    pub fn peek_ahead(&self) -> Option<(Cycle, Ref<'_, T>)> {
        let entry = Ref::filter_map(self.0.items.borrow(), Fifo::front).ok()?;
        Some((entry.seen, Ref::map(entry, |entry| &entry.item)))
    }

    pub(crate) fn name(&self) -> String {
        self.0.name.clone()
    }

    pub(crate) fn bind(&self, endpoint: Endpoint, port: &str) -> Result<(), WiringError> {
        attach(&self.0.receiver, endpoint, port, &self.0.name)
    }

    /// The port at this end, once attached.
    pub(crate) fn attached_to(&self) -> Option<&str> {
        self.0.receiver.get().map(|(_, port)| port.as_str())
    }
}

fn attach(
    end: &OnceCell<(Endpoint, String)>,
    endpoint: Endpoint,
    port: &str,
    channel: &str,
) -> Result<(), WiringError> {
    end.set((endpoint, port.to_owned())).map_err(|_| WiringError::Twice {
        channel: channel.to_owned(),
        port: port.to_owned(),
        other: end.get().map(|(_, other)| other.clone()).unwrap_or_default(),
    })
}

/// The builder's view of a channel, for checking that both ends are attached.
pub(crate) trait AnyChannel {
    fn check(&self) -> Result<(), WiringError>;
}

impl<T> AnyChannel for (Tx<T>, Rx<T>) {
    fn check(&self) -> Result<(), WiringError> {
        let Channel { name, capacity, latency, .. } = &*self.0.0;
        let name = name.clone();
        if *capacity == 0 || *latency == 0 {
            return Err(WiringError::Size { channel: name, capacity: *capacity, latency: *latency });
        }
        match (self.0.attached_to(), self.1.attached_to()) {
            (Some(_), Some(_)) => Ok(()),
            (Some(port), None) => Err(WiringError::Unread { channel: name, port: port.to_owned() }),
            (None, Some(port)) => Err(WiringError::Unwritten { channel: name, port: port.to_owned() }),
            (None, None) => Err(WiringError::Loose { channel: name }),
        }
    }
}

impl<T> Tx<T> {
    pub(crate) fn alias(&self) -> Tx<T> {
        Tx(self.0.clone())
    }
}

impl<T> Rx<T> {
    pub(crate) fn alias(&self) -> Rx<T> {
        Rx(self.0.clone())
    }
}
