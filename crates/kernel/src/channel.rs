//! Bounded, typed channels with latency: the only way from one component to another.

use crate::domain::Domain;
use crate::time::{Clock, Cycle};
use crate::wiring::WiringError;
use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The component at one end of a channel.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub domain: Rc<Domain>,
    /// Index of the component within its domain.
    pub index: u32,
    /// Where its bit says that something changed at its ports since it last asked.
    pub mail: Rc<Cell<u64>>,
}

impl Endpoint {
    fn now(&self) -> Cycle {
        self.domain.now.get()
    }

    #[inline(always)]
    fn wake(&self, cycle: Cycle) {
        self.domain.wake(self.index, cycle);
    }

    #[inline]
    fn take_mail(&self) -> bool {
        let (mail, bit) = (self.mail.get(), 1 << (self.index % u64::BITS));
        self.mail.set(mail & !bit);
        mail & bit != 0
    }

    /// The first cycle of this end that is no earlier than `cycle` of the other.
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

/// Where somebody outside the system sends from, between two runs.
pub struct Inlet<T>(Rc<Channel<T>>);

/// What both ends share.
struct Channel<T> {
    name: String,
    capacity: usize,
    /// Cycles of the sender from sending to being seen.
    latency: u64,
    sender: OnceCell<(Endpoint, String)>,
    receiver: OnceCell<(Endpoint, String)>,
    /// The receiver's cycle from which the first item is seen; `Cycle::MAX` while there is none. Asked at every tick, so
    /// kept apart.
    first: Cell<Cycle>,
    /// The receiver's cycle from which the item that was sent last is seen, for none behind it is seen before.
    last: Cell<Cycle>,
    /// Items, each with the receiver's cycle from which it is seen.
    items: RefCell<VecDeque<(Cycle, T)>>,
    /// Room of taken items that was not usable when last asked: from which cycle of the sender it is, and for how many items.
    /// One pair is enough, for what was taken before the sender's last edge is usable by now.
    freed: Cell<(Cycle, usize)>,
    /// Items there are, and those of `freed`: while they are fewer than the capacity, there is room whatever the cycle.
    occupied: Cell<usize>,
    /// The sender asked for room and found none.
    sender_waits: Cell<bool>,
}

impl<T> Channel<T> {
    fn sender(&self) -> &Endpoint {
        &self.sender.get().expect("a channel is used only once its system is built").0
    }

    fn receiver(&self) -> &Endpoint {
        &self.receiver.get().expect("a channel is used only once its system is built").0
    }

    /// Adds an item that the receiver sees at `cycle`, or with the one before it if that is later.
    #[inline]
    fn push(&self, receiver: &Endpoint, cycle: Cycle, item: T) {
        let seen = cycle.max(self.last.get());
        self.last.set(seen);
        self.first.set(self.first.get().min(seen));
        self.items.borrow_mut().push_back((seen, item));
        self.occupied.set(self.occupied.get() + 1);
        receiver.wake(seen);
    }

    /// Forgets room that is usable by now. Says how much of it there is.
    fn reclaim(&self) -> usize {
        let (usable, n) = self.freed.get();
        if usable <= self.sender().now() {
            self.freed.set((usable, 0));
            self.occupied.set(self.occupied.get() - n);
        }
        self.capacity - self.occupied.get()
    }
}

/// Makes a channel that is not yet attached to components; [`crate::SystemBuilder::channel`] is the public way.
pub(crate) fn channel<T: 'static>(name: &str, capacity: usize, latency: u64) -> (Tx<T>, Rx<T>) {
    let channel = Rc::new(Channel {
        name: name.to_owned(),
        capacity,
        latency,
        sender: OnceCell::new(),
        receiver: OnceCell::new(),
        first: Cell::new(Cycle::MAX),
        last: Cell::new(0),
        items: RefCell::new(VecDeque::new()),
        freed: Cell::new((0, 0)),
        occupied: Cell::new(0),
        sender_waits: Cell::new(false),
    });
    (Tx(channel.clone()), Rx(channel))
}

/// Makes a channel into a system in `domain` that somebody outside feeds; [`crate::SystemBuilder::inlet`] is the public way.
pub(crate) fn inlet<T: 'static>(name: &str, domain: Rc<Domain>) -> (Inlet<T>, Rx<T>) {
    let (tx, rx) = channel(name, usize::MAX, 1);
    // No component has this index; room is never asked for, so nobody is woken.
    let outside = Endpoint { domain, index: u32::MAX, mail: Rc::default() };
    tx.bind(outside, "outside").expect("the channel is new");
    (Inlet(tx.0), rx)
}

impl<T> Inlet<T> {
    /// Sends an item that is seen at `cycle`, or with those before it if that is later.
    ///
    /// Panics unless `cycle` is after all that was lived through, in the clock domain of the inlet.
    pub fn send_at(&self, cycle: Cycle, item: T) {
        let channel = &*self.0;
        let (sender, receiver) = (channel.sender(), channel.receiver());
        assert!(Rc::ptr_eq(&sender.domain, &receiver.domain), "inlet {} is read in its own domain", channel.name);
        assert!(cycle > sender.now(), "inlet {}: cycle {cycle} is over", channel.name);
        channel.freed.set((0, 0));
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
    /// Whether an item may be sent at this edge. If not, the component is woken when that changes.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.0.occupied.get() < self.0.capacity || self.finds_room()
    }

    fn finds_room(&self) -> bool {
        let room = self.room() > 0;
        if !room {
            match self.0.freed.get() {
                (_, 0) => self.0.sender_waits.set(true),
                (usable, _) => self.0.sender().wake(usable),
            }
        }
        room
    }

    /// How many items may be sent at this edge.
    pub fn room(&self) -> usize {
        self.0.reclaim()
    }

    /// Sends an item; it is seen after the channel's latency. Panics when there is no room: ask first.
    pub fn send(&self, item: T) {
        self.send_late(item, 0);
    }

    /// Sends an item that takes `extra` cycles of the sender longer than the channel's latency.
    ///
    /// Items still arrive in the order in which they were sent: one that follows a late one is late too.
    pub fn send_late(&self, item: T, extra: u64) {
        let channel = &*self.0;
        let has_room = channel.occupied.get() < channel.capacity || channel.reclaim() > 0;
        assert!(has_room, "channel {} is full", channel.name);
        let (sender, receiver) = (channel.sender(), channel.receiver());
        let arrival = sender.now() + channel.latency + extra;
        channel.push(receiver, receiver.cycle_of(sender, arrival), item);
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
    /// Whether an item is there to take at this edge.
    #[inline]
    pub fn has_item(&self) -> bool {
        let first = self.0.first.get();
        first != Cycle::MAX && first <= self.0.receiver().now()
    }

    /// The same for a receiver that knows its cycle: the cheapest way to ask, once for every port at every edge.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        self.0.first.get() <= now
    }

    /// The receiver's cycle from which the first item is seen; `Cycle::MAX` while there is none.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.0.first.get()
    }

    /// The clock of the receiver, in a system that was built.
    pub fn clock(&self) -> Clock {
        self.0.receiver().domain.clock
    }

    /// Whether any port of the receiving component has changed since this was asked last: an item has come, or room for
    /// one that waits to be sent. A component that has left nothing lying at its ports need not look at them otherwise.
    #[inline]
    pub fn take_mail(&self) -> bool {
        self.0.receiver().take_mail()
    }

    /// A look at the item that [`Rx::take`] would give.
    #[inline]
    pub fn peek(&self) -> Option<Ref<'_, T>> {
        if !self.has_item() {
            return None;
        }
        Ref::filter_map(self.0.items.borrow(), |items| items.front().map(|(_, item)| item)).ok()
    }

    /// Takes the oldest item that has arrived. Its room is usable for the sender from the sender's next edge on.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.has_item() { self.take_first() } else { None }
    }

    fn take_first(&self) -> Option<T> {
        let channel = &*self.0;
        let mut items = channel.items.borrow_mut();
        let (_, item) = items.pop_front()?;
        channel.first.set(items.front().map_or(Cycle::MAX, |&(seen, _)| seen));
        drop(items);
        let (sender, receiver) = (channel.sender(), channel.receiver());
        let usable = sender.cycle_after(receiver);
        let (before, n) = channel.freed.get();
        if before == usable {
            channel.freed.set((usable, n + 1));
        } else {
            channel.occupied.set(channel.occupied.get() - n);
            channel.freed.set((usable, 1));
        }
        if channel.sender_waits.replace(false) {
            sender.wake(usable);
        }
        Some(item)
    }

    /// The item that is taken next, even if it has not arrived, with the receiver's cycle from which it is seen: for those who
    /// watch between two runs.
    pub fn peek_ahead(&self) -> Option<Ref<'_, (Cycle, T)>> {
        Ref::filter_map(self.0.items.borrow(), VecDeque::front).ok()
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

/// A channel, as the builder keeps it to check that both ends are attached.
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
