//! What every assist has on the card's side: orders, progress, and memories for bytes and descriptors.

use super::asked::{Answer, Asked};
use super::pieces::piece;
use super::protocol::Attention;
use crate::bus::{Access, Data, Requester};
use crate::netlist::{Memory, OneWay, PortSpec, Site, Wire};
use kernel::{Activity, Clock, Cycle, Ports, Rx, Time, Tx};
use std::collections::VecDeque;

/// The ports that every assist has.
pub struct CardPorts<O, P> {
    /// What it is told.
    pub orders: Rx<O>,
    /// What it tells.
    pub progress: Tx<P>,
    /// Where the bytes stand that it moves.
    pub memory: Requester,
    /// Where descriptors stand, if not in `memory`.
    pub descriptors: Option<Requester>,
}

impl<O: Wire, P: Wire> CardPorts<O, P> {
    /// What a wiring says of them.
    pub(super) fn specs() -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<O>>("orders").about("what it is told"),
            PortSpec::from::<OneWay<P>>("progress").about("what it tells"),
            PortSpec::from::<Memory>("memory").about("where the bytes are"),
            PortSpec::from::<Memory>("descriptors").about("where descriptors are, if elsewhere").optional(),
        ]
    }

    /// What a wiring connects them to.
    pub(super) fn of(site: &mut Site) -> CardPorts<O, P> {
        CardPorts {
            orders: site.to::<OneWay<O>>("orders"),
            progress: site.from::<OneWay<P>>("progress"),
            memory: site.from::<Memory>("memory"),
            descriptors: site.try_from::<Memory>("descriptors"),
        }
    }
}

/// The same at work; `T` is what a reference is for.
pub(super) struct CardSide<O, P, T> {
    pub orders: Rx<O>,
    pub progress: Tx<P>,
    pub memory: Asked<T>,
    /// None if they stand in `memory`.
    descriptors: Option<Asked<T>>,
}

impl<O, P, T> CardSide<O, P, T> {
    /// With up to `references` under way on each port to memory.
    pub fn new(ports: CardPorts<O, P>, references: usize) -> CardSide<O, P, T> {
        let CardPorts { orders, progress, memory, descriptors } = ports;
        let descriptors = descriptors.map(|port| Asked::new(port, references));
        CardSide { orders, progress, memory: Asked::new(memory, references), descriptors }
    }

    /// The port to where descriptors stand.
    pub fn descriptors(&mut self) -> &mut Asked<T> {
        self.descriptors.as_mut().unwrap_or(&mut self.memory)
    }

    /// Whether descriptors have a memory of their own, where they are not behind the bytes that went before.
    pub fn is_split(&self) -> bool {
        self.descriptors.is_some()
    }

    /// The next reply.
    pub fn answer(&mut self) -> Option<Answer<T>> {
        self.descriptors.as_mut().and_then(Asked::answer).or_else(|| self.memory.answer())
    }

    /// The assist is reset.
    pub fn forget(&mut self) {
        self.memory.forget();
        self.descriptors.iter_mut().for_each(Asked::forget);
    }

    /// Tells what needs attention, as far as there is room. The result is whether anything was told.
    pub fn tell(&self, attentions: &mut VecDeque<Attention>, say: fn(Attention) -> P) -> bool {
        let n_waiting = attentions.len();
        while self.progress.has_room() {
            let Some(attention) = attentions.pop_front() else { break };
            self.progress.send(say(attention));
        }
        attentions.len() < n_waiting
    }

    /// Whether a reference went out in cycle `now`.
    pub fn has_asked(&self, now: Cycle) -> bool {
        self.memory.has_asked(now) || self.descriptors.as_ref().is_some_and(|port| port.has_asked(now))
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

/// What an assist does next that acted or did not, and has something to do at `due`.
pub(super) fn next_activity(clock: Clock, now: Cycle, has_acted: bool, due: Option<Time>) -> Activity {
    match due {
        _ if has_acted => Activity::Busy,
        Some(time) => Activity::Until(clock.cycle_at_or_after(time).max(now + 1)),
        None => Activity::Idle,
    }
}

/// A descriptor that is being read in pieces.
pub(super) struct Reading<E> {
    /// Which one.
    pub entry: E,
    addr: u64,
    bytes: u32,
    asked: u32,
    /// What has come of it.
    pub data: Data,
}

impl<E> Reading<E> {
    /// `bytes` bytes at `addr`.
    pub fn new(entry: E, addr: u64, bytes: u32) -> Reading<E> {
        Reading { entry, addr, bytes, asked: 0, data: Data::new() }
    }

    /// Asks for the next piece, which ends at a multiple of `limit`, if there is one and `port` is free.
    pub fn ask<T>(&mut self, now: Cycle, port: &mut Asked<T>, limit: u32, what: T) {
        if self.asked < self.bytes && port.is_free(now) {
            let addr = self.addr.wrapping_add(u64::from(self.asked));
            let bytes = piece(addr, self.bytes - self.asked, limit);
            port.ask(now, addr, Access::Read(bytes), what);
            self.asked += bytes;
        }
    }

    /// Takes what has come; the result is whether that is all.
    pub fn take(&mut self, data: &[u8]) -> bool {
        self.data.extend_from_slice(data);
        self.data.len() >= self.bytes as usize
    }
}
