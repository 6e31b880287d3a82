//! A lane of an engine: processes packets.

use super::{Headers, Work, headers};
use crate::protocol::{Flit, Message, PacketStep};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Surroundings of a lane.
pub(super) struct Site {
    /// How it updates headers.
    pub headers: Headers,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Its own clock, and the NIC's.
    pub clocks: (Clock, Clock),
}

/// Takes packets in at the pace of its [`Work`] and outputs the results in order.
///
/// Timing:  the descriptor bypasses the work and takes no time. Bytes enter at the rate of [`Work::intake_cycles`], or later if
///          their flits arrive later. The packet leaves [`Work::finish_cycles`] after its last byte, at most one packet a
///          cycle.
/// Differs: hardware with a blocked output may stop completely; here packets inside proceed to the output and wait there.
pub(super) struct EngineLane<W> {
    work: W,
    site: Site,
    input: Rx<Flit>,
    output: Tx<Box<Message>>,
    /// The packet being taken in, and how many of its bytes are in.
    taking: Option<(Box<Message>, usize)>,
    /// Nothing enters before this cycle.
    free_at: Cycle,
    /// Packets inside, each with the cycle in which it is done.
    working: VecDeque<(Cycle, Box<Message>)>,
    packets: Counter,
    bytes: Counter,
    intake_cycles: Counter,
    headers_updated: Counter,
}

impl<W: Work> EngineLane<W> {
    pub(super) fn new(work: W, site: Site, input: Rx<Flit>, output: Tx<Box<Message>>) -> EngineLane<W> {
        EngineLane {
            work,
            site,
            input,
            output,
            taking: None,
            free_at: 0,
            working: VecDeque::new(),
            packets: Counter::default(),
            bytes: Counter::default(),
            intake_cycles: Counter::default(),
            headers_updated: Counter::default(),
        }
    }

    /// Outputs a packet if one is done and there is room.
    fn give(&mut self, now: Cycle) {
        if self.working.front().is_some_and(|&(done, _)| done <= now) && self.output.has_room() {
            let (_, message) = self.working.pop_front().expect("a packet must be there");
            self.output.send(message);
        }
    }

    /// Takes a flit if one is available and may enter.
    fn take(&mut self, now: Cycle) -> bool {
        if now < self.free_at || self.taking.is_none() && self.working.len() >= self.work.in_flight() {
            return false;
        }
        let Some(flit) = self.input.take() else { return false };
        match (flit, self.taking.take()) {
            (Flit::Head(mut message), None) => {
                self.mark(&mut message, now, PacketStep::Begun);
                self.taking = Some((message, 0));
            }
            (Flit::Body, Some((message, before))) => {
                self.absorb(now, before, before + self.site.flit_bytes);
                self.taking = Some((message, before + self.site.flit_bytes));
            }
            (Flit::Tail, Some((message, before))) => {
                self.absorb(now, before, message.data.len().max(1));
                self.begin(message);
            }
            (flit, _) => panic!("unexpected {flit:?}: a message is a descriptor followed by its packet"),
        }
        true
    }

    /// Records a step in a cycle of this lane, as the first cycle of the NIC from then on.
    fn mark(&self, message: &mut Message, at: Cycle, step: PacketStep) {
        let (own, nic) = self.site.clocks;
        message.descriptor.trail.mark(nic.cycle_at_or_after(own.edge(at)), step, message.to);
    }

    /// Takes in the bytes from `before` to `after`.
    fn absorb(&mut self, now: Cycle, before: usize, after: usize) {
        let cycles = self.work.intake_cycles(after) - self.work.intake_cycles(before);
        self.intake_cycles.add(cycles);
        self.free_at = now + cycles;
    }

    /// The whole packet is in.
    fn begin(&mut self, mut message: Box<Message>) {
        let len = message.data.len();
        self.packets.add(1);
        self.bytes.add(len as u64);
        if self.work.transform(&mut message)
            && self.site.headers == Headers::Update
            && headers::update(&mut message, len).is_some()
        {
            self.headers_updated.add(1);
        }
        let len_after = message.data.len();
        let done = self.free_at + self.work.finish_cycles(len, len_after);
        self.mark(&mut message, done, PacketStep::Finished);
        self.working.push_back((done, message));
        self.free_at += self.work.pause_cycles(len, len_after);
    }
}

impl<W: Work> Component for EngineLane<W> {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.give(now);
        while self.take(now) {}
        let done = match self.working.front() {
            None => None,
            Some(&(done, _)) if done > now => Some(done),
            // One packet leaves per cycle; without room, `output` wakes this lane.
            Some(_) => self.output.has_room().then_some(now + 1),
        };
        let free = (self.free_at > now).then_some(self.free_at);
        match done.into_iter().chain(free).min() {
            Some(next) => Activity::Until(next),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
        ports.output("out", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
        counters.busy("intake_cycles", self.intake_cycles.total(), 1, "one packet at a time takes the engine's input");
        counters.add("headers_updated", self.headers_updated.total());
        self.work.counters(counters);
    }
}
