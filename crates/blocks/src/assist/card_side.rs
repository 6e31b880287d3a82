//! The card-side ports of every assist: orders, progress, data memory and descriptor memory.

use super::pieces::piece;
use super::protocol::Attention;
use super::tracked_port::{TrackedPort, TrackedReply};
use crate::bus::{Access, Data, Planned, Requester};
use crate::netlist::{Memory, OneWay, PortSpec, Site, Wire};
use kernel::{Activity, Clock, Cycle, Ports, Rx, Time, Tx};
use std::collections::VecDeque;

/// The ports that all assists have.
pub struct CardPorts<O, P> {
    /// Orders to the assist.
    pub orders: Rx<O>,
    /// Progress of the assist.
    pub progress: Tx<P>,
    /// The memory of the data.
    pub memory: Requester,
    /// The memory of the descriptors, if they are not in `memory`.
    pub descriptors: Option<Requester>,
}

impl<O: Wire, P: Wire> CardPorts<O, P> {
    /// The port declarations.
    pub(super) fn specs() -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<O>>("orders").about("orders to the assist"),
            PortSpec::from::<OneWay<P>>("progress").about("progress of the assist"),
            PortSpec::from::<Memory>("memory").about("memory of the data"),
            PortSpec::from::<Memory>("descriptors").about("memory of the descriptors, if separate").optional(),
        ]
    }

    /// Takes the connected ends of the ports.
    pub(super) fn of(site: &mut Site) -> CardPorts<O, P> {
        CardPorts {
            orders: site.to::<OneWay<O>>("orders"),
            progress: site.from::<OneWay<P>>("progress"),
            memory: site.from::<Memory>("memory"),
            descriptors: site.try_from::<Memory>("descriptors"),
        }
    }
}

/// The card side of a running assist; `T` is the purpose of a reference.
pub(super) struct CardSide<O, P, T> {
    pub orders: Rx<O>,
    pub progress: Tx<P>,
    pub memory: TrackedPort<T>,
    /// `None` if descriptors are in `memory`.
    descriptors: Option<TrackedPort<T>>,
}

impl<O, P, T> CardSide<O, P, T> {
    /// Allows `references` outstanding references at each memory port.
    pub fn new(ports: CardPorts<O, P>, references: usize) -> CardSide<O, P, T> {
        let CardPorts { orders, progress, memory, descriptors } = ports;
        let descriptors = descriptors.map(|port| TrackedPort::new(port, references));
        CardSide { orders, progress, memory: TrackedPort::new(memory, references), descriptors }
    }

    /// The port to the memory of the descriptors.
    pub fn descriptors(&mut self) -> &mut TrackedPort<T> {
        self.descriptors.as_mut().unwrap_or(&mut self.memory)
    }

    /// Returns true if descriptors have a separate memory; accesses to it are not ordered with accesses to the data.
    pub fn is_split(&self) -> bool {
        self.descriptors.is_some()
    }

    /// The next reply that has arrived by cycle `now`.
    #[inline(always)]
    pub fn answer(&mut self, now: Cycle) -> Option<TrackedReply<T>> {
        self.descriptors.as_mut().and_then(|port| port.answer(now)).or_else(|| self.memory.answer(now))
    }

    /// Resets the assist.
    pub fn reset(&mut self) {
        self.memory.reset();
        self.descriptors.iter_mut().for_each(TrackedPort::reset);
    }

    /// Reports attentions while there is room. Returns true if any was sent.
    pub fn report(&self, attentions: &mut VecDeque<Attention>, say: fn(Attention) -> P) -> bool {
        let n_waiting = attentions.len();
        while self.progress.has_room() {
            let Some(attention) = attentions.pop_front() else { break };
            self.progress.send(say(attention));
        }
        attentions.len() < n_waiting
    }

    /// Returns true if a reference was sent in cycle `now` and another may follow in the next one, before any reply.
    pub fn may_follow(&self, now: Cycle) -> bool {
        self.memory.may_follow(now) || self.descriptors.as_ref().is_some_and(|port| port.may_follow(now))
    }

    /// Returns true if a reference was sent in cycle `now`.
    pub fn has_sent(&self, now: Cycle) -> bool {
        self.memory.has_sent(now) || self.descriptors.as_ref().is_some_and(|port| port.has_sent(now))
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.input("orders", &self.orders);
        ports.output("progress", &self.progress);
        self.memory.port("memory", ports);
        if let Some(descriptors) = &self.descriptors {
            descriptors.port("descriptors", ports);
        }
    }
}

/// The next activity of an assist: `has_acted` says that it acted in this cycle, `due` when it has something to do.
pub(super) fn next_activity(clock: Clock, now: Cycle, has_acted: bool, due: Option<Time>) -> Activity {
    match due {
        _ if has_acted => Activity::Busy,
        Some(time) => Activity::Until(clock.cycle_at_or_after(time).max(now + 1)),
        None => Activity::Idle,
    }
}

/// A descriptor that is being read, possibly in several references.
pub(super) struct Reading<E> {
    /// The descriptor.
    pub entry: E,
    addr: u64,
    bytes: u32,
    requested: u32,
    /// The bytes received so far.
    pub data: Data,
}

impl<E> Reading<E> {
    /// Reads `bytes` bytes at `addr`.
    pub fn new(entry: E, addr: u64, bytes: u32) -> Reading<E> {
        Reading { entry, addr, bytes, requested: 0, data: Data::new() }
    }

    /// Requests the next piece, if `port` is free. A port that plans takes all remaining pieces. A piece ends at a multiple of
    /// `limit`. `what` returns the purpose of a request, given its number of bytes.
    pub fn ask<T>(&mut self, now: Cycle, port: &mut TrackedPort<T>, limit: u32, what: impl Fn(u32) -> T) {
        while self.requested < self.bytes && port.is_free(now) {
            let addr = self.addr.wrapping_add(u64::from(self.requested));
            let bytes = piece(addr, self.bytes - self.requested, limit);
            self.requested += bytes;
            let is_quiet = self.requested < self.bytes;
            port.plan(now, Planned::new(now, addr, Access::Read(bytes)).quiet(is_quiet), what(bytes));
        }
    }

    /// Returns true if some pieces are not requested.
    pub fn is_asking(&self) -> bool {
        self.requested < self.bytes
    }

    /// The last request, for this number of `bytes`, was taken back.
    pub fn take_back(&mut self, bytes: u32) {
        self.requested -= bytes;
    }

    /// Adds received bytes. Returns true if the descriptor is complete.
    pub fn take(&mut self, data: &[u8]) -> bool {
        self.data.extend_from_slice(data);
        self.data.len() >= self.bytes as usize
    }
}
