//! An offload of the pipeline.

use super::Unneeded;
use super::fifo::onward;
use crate::protocol::{Flit, Hop, Leg, Message, NodeId, PacketStep, n_flits};
use crate::world::SharedOutlet;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The ports of a [`Stage`].
pub(super) struct StageWiring {
    /// From the queue or the previous offload.
    pub input: Rx<Flit>,
    /// To the next offload or to the exits.
    pub output: Tx<Flit>,
    pub to_engine: Tx<Flit>,
    pub from_engine: Rx<Flit>,
    /// Receives packets that the engine drops.
    pub outlet: SharedOutlet,
}

/// Passes packets to an engine or around it, and forwards the results to the next offload.
///
/// Ports:    `in` and `out`, one flit a cycle each; `to_engine`, `from_engine`.
/// Timing:   adds 0 cycles.
/// Fairness: bypassing packets and those from the engine take turns at the output.
/// Source:   2.2.1, 7.3. For a packet that goes through without needing the engine, the engine sees a hop without metadata, and
///           its changes to the packet are discarded.
pub(super) struct Stage {
    node: NodeId,
    service: u8,
    flit_bytes: usize,
    unneeded: Unneeded,
    wires: StageWiring,
    receiving: Path,
    sending: Sending,
    /// For each packet in the engine: a copy of the original if it does not need the engine.
    within: VecDeque<Option<Box<Message>>>,
    /// Flits of bypassing packets.
    beside: VecDeque<Flit>,
    /// Next source at the output.
    turn: Path,
    served: Counter,
    unserved: Counter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Nothing,
    Engine,
    Beside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Nothing,
    Beside,
    /// Discards the engine's output up to the tail: the packet is dropped.
    Away,
    /// Forwards the engine's output up to the tail.
    Served,
    /// Number of flits left to send of the original packet, independent of the engine's output; the flag says whether the
    /// engine's tail has arrived.
    Restored(usize, bool),
}

impl Stage {
    /// An empty offload.
    pub fn new(node: NodeId, service: u8, flit_bytes: usize, unneeded: Unneeded, wires: StageWiring) -> Stage {
        Stage {
            node,
            service,
            flit_bytes,
            unneeded,
            wires,
            receiving: Path::Nothing,
            sending: Sending::Nothing,
            within: VecDeque::new(),
            beside: VecDeque::new(),
            turn: Path::Engine,
            served: Counter::default(),
            unserved: Counter::default(),
        }
    }

    fn is_needed(&self, message: &Message) -> bool {
        message.descriptor.hop().is_some_and(|hop| hop.service == self.service)
    }

    /// Takes a flit from the input if possible. Returns true if it did.
    fn receive(&mut self, now: Cycle) -> bool {
        if !self.wires.input.has_item() {
            return false;
        }
        if self.receiving == Path::Nothing {
            let is_needed = match self.wires.input.peek().as_deref() {
                Some(Flit::Head(message)) => self.is_needed(message),
                _ => panic!("a message must begin with its descriptor"),
            };
            let goes_by = !is_needed && self.unneeded != Unneeded::Through {};
            self.receiving = if goes_by { Path::Beside } else { Path::Engine };
        }
        let has_room = match (self.receiving, self.unneeded) {
            (Path::Beside, Unneeded::Bypass { flits }) => self.beside.len() < flits as usize,
            _ => self.wires.to_engine.has_room(),
        };
        if !has_room {
            return false;
        }
        let mut flit = self.wires.input.take().expect("a flit must be there");
        let path = self.receiving;
        match &mut flit {
            Flit::Head(message) if path == Path::Engine => self.enter(now, message),
            Flit::Tail => self.receiving = Path::Nothing,
            _ => {}
        }
        match path {
            Path::Beside => self.beside.push_back(flit),
            _ => self.wires.to_engine.send(flit),
        }
        true
    }

    /// A packet enters the engine.
    fn enter(&mut self, now: Cycle, message: &mut Message) {
        message.to = self.node;
        message.descriptor.trail.mark(now, PacketStep::Taken, self.node);
        if self.is_needed(message) {
            self.within.push_back(None);
            return;
        }
        self.within.push_back(Some(Box::new(message.clone())));
        let (service, class, next) = (self.service, message.descriptor.class, message.descriptor.next);
        let hop = Hop { service, class, priority: 0, metadata: 0, push_to: None };
        message.descriptor.chain.insert(next, hop);
    }

    /// A packet leaves the engine. Returns how to send its flits.
    fn leave(&mut self, now: Cycle, message: &mut Box<Message>) -> Sending {
        message.descriptor.trail.mark(now, PacketStep::Done, self.node);
        let was = self.within.pop_front().expect("an engine must output each packet that it takes");
        let sending = match was {
            None => {
                self.served.add(1);
                if matches!(message.leg, Leg::Dropped(_)) {
                    return Sending::Away;
                }
                message.descriptor.advance();
                Sending::Served
            }
            Some(mut was) => {
                self.unserved.add(1);
                was.descriptor.trail = std::mem::take(&mut message.descriptor.trail);
                *message = was;
                Sending::Restored(n_flits(message.data.len(), self.flit_bytes) - 1, false)
            }
        };
        (message.to, message.leg) = onward(&message.descriptor);
        sending
    }

    /// Sends a flit if possible. Returns true if it did.
    fn send(&mut self, now: Cycle) -> bool {
        if !self.wires.output.has_room() {
            return false;
        }
        match self.sending {
            Sending::Nothing => {
                let goes_by =
                    !self.beside.is_empty() && (self.turn == Path::Beside || !self.wires.from_engine.has_item());
                if goes_by {
                    self.sending = Sending::Beside;
                    self.turn = Path::Engine;
                    return self.send_beside();
                }
                let Some(mut flit) = self.wires.from_engine.take() else { return false };
                let Flit::Head(message) = &mut flit else { panic!("a message must begin with its descriptor") };
                self.turn = Path::Beside;
                self.sending = self.leave(now, message);
                match flit {
                    Flit::Head(message) if self.sending == Sending::Away => self.drop(now, *message),
                    flit => self.wires.output.send(flit),
                }
                true
            }
            Sending::Away => {
                let Some(flit) = self.wires.from_engine.take() else { return false };
                self.end(flit == Flit::Tail);
                true
            }
            Sending::Beside => self.send_beside(),
            Sending::Served => {
                let Some(flit) = self.wires.from_engine.take() else { return false };
                self.end(flit == Flit::Tail);
                self.wires.output.send(flit);
                true
            }
            Sending::Restored(rest, is_over) => self.send_restored(rest, is_over),
        }
    }

    fn drop(&mut self, now: Cycle, message: Message) {
        let Leg::Dropped(reason) = message.leg else { unreachable!("only a dropped packet is discarded") };
        self.wires.outlet.borrow_mut().drop(now, message, reason);
    }

    fn send_beside(&mut self) -> bool {
        let Some(flit) = self.beside.pop_front() else { return false };
        self.end(flit == Flit::Tail);
        self.wires.output.send(flit);
        true
    }

    /// Sends a flit of an unchanged packet, which keeps its original length.
    fn send_restored(&mut self, rest: usize, was_over: bool) -> bool {
        let taken = if was_over { None } else { self.wires.from_engine.take() };
        let is_over = was_over || taken == Some(Flit::Tail);
        if !was_over && taken.is_none() {
            return false;
        }
        let is_last = rest == 1;
        if is_last && !is_over {
            return true; // The engine's output is longer than the original packet.
        }
        self.sending = Sending::Restored(rest - 1, is_over);
        self.end(is_last);
        self.wires.output.send(if is_last { Flit::Tail } else { Flit::Body });
        true
    }

    fn end(&mut self, is_last: bool) {
        if is_last {
            self.sending = Sending::Nothing;
        }
    }
}

impl Component for Stage {
    fn tick(&mut self, now: Cycle) -> Activity {
        let has_sent = self.send(now);
        let has_received = self.receive(now);
        if has_sent || has_received { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        let StageWiring { input, output, to_engine, from_engine, .. } = &self.wires;
        ports.input("in", input);
        ports.output("out", output);
        ports.output("to_engine", to_engine);
        ports.input("from_engine", from_engine);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("served", self.served.total());
        counters.add("unserved", self.unserved.total());
    }
}
