//! A plain NIC: it moves messages of its host's program, and nothing else.
//!
//! Messages are cut into packets of RoCE version 2. A packet leaves when the line is free; connections to several peers take turns, a packet
//! each. A receiver matches a message when it has the first packet, and tells the host when it has all of them.

mod events;
pub mod matching;
mod packet;
pub mod params;
pub mod program;
mod receiver;
mod sender;

use crate::digest::fold;
use crate::frame::{Arrival, Frame};
use crate::line::Line;
use crate::node::{Node, NodeFailure, Origin, Output, Place};
use crate::observe::{DropReason, Tally};
use crate::pause::{Pause, Pauses};
use crate::{NodeId, PortId};
use events::{Entry, Kind};
use kernel::Time;
use matching::{EntryId, Lists};
use packet::{Body, Packet, Pair};
use params::{PlainParams, Transport};
use program::{Action, Event, Host, MessageId, Payload, Program, Received};
use receiver::{Answer, DataPacket, Incoming};
use sender::Outgoing;
use std::any::Any;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Why a plain NIC cannot be built or go on.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum PlainError {
    #[error("a plain NIC has {found} links, must have exactly one, at port 0")]
    Links { found: usize },
    #[error("the host sends a message to itself (tag {tag:#x})")]
    ToItself { tag: u64 },
    #[error(
        "its packets have up to {needed} bytes, but its link carries at most {max_frame}; choose an mtu of at most {mtu}"
    )]
    Mtu { needed: usize, max_frame: usize, mtu: usize },
}

/// Bytes of a packet besides its payload: the first packet of a message has all headers.
const OVERHEAD: usize = wire::roce::BTH_AT + wire::roce::BTH_LEN + wire::roce::RETH_LEN + wire::roce::ICRC_LEN;

/// A message that arrives, or waits for its entry.
struct Building {
    from: NodeId,
    tag: u64,
    len: u32,
    received: u32,
    first: Time,
    bytes: Option<Vec<u8>>,
    entry: Option<EntryId>,
    last: Option<Time>,
}

/// Counters of a plain NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainCounts {
    /// Messages posted.
    pub posted: u64,
    /// Messages received and matched.
    pub received: u64,
    /// Bytes of these.
    pub received_bytes: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// Packets that carried a congestion mark.
    pub marked: u64,
    /// Messages without an entry so far.
    pub unexpected: u64,
}

/// A plain NIC with its host.
pub struct PlainNic {
    params: PlainParams,
    node: NodeId,
    origin: Origin,
    directory: Arc<crate::address::Directory>,
    line: Line,
    reaction: Time,
    pauses: Pauses,
    program: Box<dyn Program>,
    host: Host,
    events: BinaryHeap<Reverse<Entry>>,
    next_event: u64,
    outgoing: BTreeMap<NodeId, Outgoing>,
    /// Peers with packets to send, in the order of their turns.
    turns: VecDeque<NodeId>,
    /// Acknowledgments, which go first.
    answers: VecDeque<Vec<u8>>,
    incoming: BTreeMap<NodeId, Incoming>,
    building: BTreeMap<u64, Building>,
    next_building: u64,
    lists: Lists<u64>,
    wake: Option<Time>,
    inside: Tally,
    hash: u64,
    counts: PlainCounts,
}

impl PlainNic {
    /// A NIC at its place, whose host runs `program` from time 0 on.
    pub fn new(params: PlainParams, place: &Place, program: Box<dyn Program>) -> Result<Self, NodeFailure> {
        params.check()?;
        let n_links = place.ports.iter().flatten().count();
        let Some(Some(port)) = place.ports.first().filter(|_| n_links == 1) else {
            return Err(Box::new(PlainError::Links { found: n_links }));
        };
        let needed = params.mtu as usize + OVERHEAD;
        if needed > port.max_frame {
            let mtu = port.max_frame.saturating_sub(OVERHEAD);
            return Err(Box::new(PlainError::Mtu { needed, max_frame: port.max_frame, mtu }));
        }
        let host = Host { now: Time::ZERO, node: place.node, next_message: 0, next_entry: 0, actions: Vec::new() };
        let mut nic = PlainNic {
            node: place.node,
            origin: place.origin(),
            directory: Arc::clone(&place.directory),
            line: port.line(),
            reaction: port.pause_reaction,
            pauses: Pauses::default(),
            program,
            host,
            events: BinaryHeap::new(),
            next_event: 0,
            outgoing: BTreeMap::new(),
            turns: VecDeque::new(),
            answers: VecDeque::new(),
            incoming: BTreeMap::new(),
            building: BTreeMap::new(),
            next_building: 0,
            lists: Lists::default(),
            wake: None,
            inside: Tally::default(),
            hash: 0,
            counts: PlainCounts::default(),
            params,
        };
        nic.program.start(&mut nic.host);
        nic.obey(Time::ZERO)?;
        Ok(nic)
    }

    /// Its counters.
    pub fn counts(&self) -> PlainCounts {
        PlainCounts { repeated: self.outgoing.values().map(|peer| peer.repeated).sum(), ..self.counts }
    }

    /// The host's program.
    pub fn program(&mut self) -> &mut dyn Program {
        &mut *self.program
    }

    /// The host's program, if it has this type.
    pub fn program_as<P: Program>(&mut self) -> Option<&mut P> {
        let program: &mut dyn Any = &mut *self.program;
        program.downcast_mut()
    }

    fn schedule(&mut self, at: Time, kind: Kind) {
        let key = (at, kind.rank(), self.next_event);
        self.next_event += 1;
        self.events.push(Reverse(Entry { key, kind }));
    }

    /// Does what the program wants.
    fn obey(&mut self, now: Time) -> Result<(), NodeFailure> {
        for action in std::mem::take(&mut self.host.actions) {
            match action {
                Action::Put { to, tag, .. } if to == self.node => return Err(Box::new(PlainError::ToItself { tag })),
                Action::Put { id, to, tag, payload } => {
                    self.counts.posted += 1;
                    self.schedule(now + self.params.post(), Kind::Post { id, to, tag, payload });
                }
                Action::Wait { until, token } => self.schedule(until, Kind::Tell(Event::Timer(token))),
                Action::Append { id, entry } => {
                    for message in self.lists.append(id, entry) {
                        if let Some(building) = self.building.get_mut(&message) {
                            building.entry = Some(id);
                        }
                        self.finish(message, now);
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells the host of a message that has arrived and has its entry.
    fn finish(&mut self, message: u64, at: Time) {
        let is_done = |building: &&Building| building.last.is_some() && building.entry.is_some();
        if self.building.get(&message).filter(is_done).is_none() {
            return;
        }
        let Some(Building { from, tag, len, first, bytes, entry: Some(entry), last: Some(last), .. }) =
            self.building.remove(&message)
        else {
            return;
        };
        self.counts.received += 1;
        self.counts.received_bytes += u64::from(len);
        let words = [u64::from(from.0), tag, u64::from(len), first.fs(), last.fs(), entry.0];
        self.hash = words.into_iter().fold(self.hash, fold);
        self.schedule(at, Kind::Tell(Event::Received(Received { entry, from, tag, len, first, last, bytes })));
    }

    fn act(&mut self, now: Time, kind: Kind, out: &mut Output) -> Result<(), NodeFailure> {
        match kind {
            Kind::Order(pause) => self.pauses.apply(now, &pause, self.line.rate()),
            Kind::Tail(arrival) => self.arrive(now, arrival, out),
            Kind::Post { id, to, tag, payload } => {
                self.outgoing.entry(to).or_default().post(id, tag, payload, self.params.mtu);
                self.enlist(to);
            }
            Kind::Tell(event) => {
                self.host.now = now;
                self.program.event(event, &mut self.host);
                self.obey(now)?;
            }
            Kind::Timeout(to) => self.time_out(now, to),
            Kind::Wake => self.wake = self.wake.filter(|&at| at > now),
        }
        self.serve(now, out);
        Ok(())
    }

    /// Gives a peer a turn, if it has packets to send and has none.
    fn enlist(&mut self, to: NodeId) {
        let is_ready = self.outgoing.get(&to).is_some_and(|peer| peer.is_ready(&self.params));
        if is_ready && !self.turns.contains(&to) {
            self.turns.push_back(to);
        }
    }

    fn time_out(&mut self, now: Time, to: NodeId) {
        let Some(peer) = self.outgoing.get_mut(&to) else { return };
        peer.has_event = false;
        match peer.timer {
            Some(at) if at <= now => {
                peer.time_out(self.params.transport);
                peer.timer = None;
                self.enlist(to);
            }
            Some(_) => self.arm(to),
            None => {}
        }
    }

    /// Makes an event for a peer's timer, if it has none.
    fn arm(&mut self, to: NodeId) {
        let Some(peer) = self.outgoing.get_mut(&to) else { return };
        if let (Some(at), false) = (peer.timer, peer.has_event) {
            peer.has_event = true;
            self.schedule(at, Kind::Timeout(to));
        }
    }

    /// A whole packet is here.
    fn arrive(&mut self, now: Time, arrival: Arrival, out: &mut Output) {
        let Arrival { head, tail, frame } = arrival;
        self.inside.frames -= 1;
        self.inside.bytes -= frame.len() as u64;
        let packet = if frame.dest == Some(self.node) { packet::parse(&frame.bytes) } else { None };
        let is_used = packet.is_some_and(|packet| self.take(now, head, packet, &frame));
        if is_used {
            out.delivered(now, tail, &frame);
        } else {
            out.dropped(now, &frame, DropReason::Unwanted);
        }
    }

    /// Uses a packet. Returns false if it is useless, for example a repeated one.
    fn take(&mut self, now: Time, head: Time, packet: Packet, frame: &Frame) -> bool {
        let Packet { from, psn, body } = packet;
        self.counts.marked += u64::from(frame.bytes[wire::eth::HEADER_LEN + wire::ipv4::DSCP_ECN] & 3 == 3);
        match body {
            Body::Data { begin, is_last, payload_len } => {
                let incoming = self.incoming.entry(from).or_default();
                let psn = packet::unwrap(psn, incoming.expected);
                let data = DataPacket { head, begin, is_last, payload_len, bytes: Arc::clone(&frame.bytes) };
                let (mut ready, mut answers) = (Vec::new(), Vec::new());
                let is_used = incoming.arrive(psn, data, &self.params, &mut ready, &mut answers);
                ready.into_iter().for_each(|packet| self.assemble(now, from, packet));
                answers.into_iter().for_each(|answer| self.answer(from, answer));
                is_used
            }
            Body::Ack => self.progress(now, from, psn.wrapping_add(1), None),
            Body::Missing { below } => self.progress(now, from, below, Some(psn)),
        }
    }

    /// A peer acknowledges all packets below `below`, and may miss one.
    fn progress(&mut self, now: Time, from: NodeId, below: u32, missing: Option<u32>) -> bool {
        let Some(peer) = self.outgoing.get_mut(&from) else { return false };
        let near = peer.done();
        let Some(below) = packet::unwrap(below & 0xff_ffff, near) else { return false };
        let (finished, has_progress) = peer.acknowledge(below);
        if let Some(missing) = missing.and_then(|missing| packet::unwrap(missing, near)) {
            peer.repeat(missing, self.params.transport);
        }
        if has_progress {
            peer.timer = peer.is_waiting().then(|| now + self.params.timeout.time());
        }
        self.arm(from);
        self.enlist(from);
        let at = now + self.params.deliver();
        finished.into_iter().for_each(|id| self.schedule(at, Kind::Tell(Event::Sent(id))));
        true
    }

    /// Adds a packet that is in order to its message.
    fn assemble(&mut self, now: Time, from: NodeId, packet: DataPacket) {
        let DataPacket { head, begin, is_last, payload_len, bytes } = packet;
        let Some(incoming) = self.incoming.get_mut(&from) else { return };
        if let Some((tag, _, len)) = begin {
            let number = self.next_building;
            self.next_building += 1;
            incoming.building = Some(number);
            let entry = self.lists.arrive(from, tag, number);
            self.counts.unexpected += u64::from(entry.is_none());
            let building = Building { from, tag, len, received: 0, first: head, bytes: None, entry, last: None };
            self.building.insert(number, building);
        }
        let Some(number) = incoming.building else { return };
        if is_last {
            incoming.building = None;
        }
        if let Some(building) = self.building.get_mut(&number) {
            let payload = packet::payload(&bytes, begin.is_some(), payload_len);
            if building.bytes.is_none() && payload.iter().any(|&byte| byte != 0) {
                building.bytes = Some(vec![0; building.received as usize]);
            }
            if let Some(bytes) = &mut building.bytes {
                bytes.extend_from_slice(payload);
            }
            building.received += payload_len;
            if is_last {
                building.last = Some(now);
            }
        }
        if is_last {
            self.finish(number, now + self.params.deliver());
        }
    }

    fn answer(&mut self, to: NodeId, answer: Answer) {
        let below = self.incoming.get(&to).map_or(0, |incoming| incoming.expected);
        let missing = match answer {
            Answer::Acknowledge => None,
            Answer::Missing(psn) => Some(psn),
        };
        self.answers.push_back(packet::acknowledge(self.pair(to), &self.directory, below, missing));
    }

    fn pair(&self, to: NodeId) -> Pair {
        Pair { from: self.node, to, class: self.params.class }
    }

    /// Sends packets while the line is free.
    fn serve(&mut self, now: Time, out: &mut Output) {
        while !self.answers.is_empty() || !self.turns.is_empty() {
            let free = self.line.free_at().max(self.pauses.until(self.params.class));
            if free > now {
                if free < Time::MAX && self.wake.is_none_or(|at| free < at) {
                    self.wake = Some(free);
                    self.schedule(free, Kind::Wake);
                }
                return;
            }
            let (bytes, finishes) = match self.answers.pop_front() {
                Some(bytes) => (bytes, None),
                None => match self.next_data(now) {
                    Some(data) => data,
                    None => continue,
                },
            };
            let frame = self.origin.frame(bytes, Some(self.params.class));
            out.entered(now, &frame);
            let slot = self.line.send(now, frame.len());
            self.hash = fold(fold(self.hash, slot.start.fs()), frame.hash);
            out.transmit(PortId(0), slot, frame);
            if let Some(id) = finishes {
                self.schedule(slot.tail + self.params.deliver(), Kind::Tell(Event::Sent(id)));
            }
        }
    }

    /// The next data packet of the peer whose turn it is.
    fn next_data(&mut self, now: Time) -> Option<(Vec<u8>, Option<MessageId>)> {
        let to = self.turns.pop_front()?;
        let peer = self.outgoing.get_mut(&to).filter(|peer| peer.is_ready(&self.params))?;
        let part = peer.take(&self.params)?;
        if self.params.transport != Transport::Lossless && peer.timer.is_none() {
            peer.timer = Some(now + self.params.timeout.time());
        }
        let zeros;
        let payload = match &part.payload {
            Payload::Bytes(bytes) => &bytes[part.range],
            Payload::Zeros(_) => {
                zeros = vec![0; part.range.len()];
                &zeros[..]
            }
        };
        let bytes = packet::data(self.pair(to), &self.directory, part.psn, part.begin, part.is_last, payload);
        self.arm(to);
        self.enlist(to);
        Some((bytes, part.finishes))
    }
}

impl Node for PlainNic {
    fn receive(&mut self, _port: PortId, arrival: Arrival, _out: &mut Output) {
        if arrival.frame.is_control {
            if let Some(pause) = Pause::parse(&arrival.frame.bytes) {
                self.schedule(arrival.tail + self.reaction, Kind::Order(pause));
            }
            return;
        }
        self.inside.add(&arrival.frame);
        self.schedule(arrival.tail, Kind::Tail(arrival));
    }

    fn run_until(&mut self, until: Time, out: &mut Output) -> Result<(), NodeFailure> {
        while self.events.peek().is_some_and(|Reverse(entry)| entry.key.0 <= until) {
            if let Some(Reverse(entry)) = self.events.pop() {
                self.act(entry.key.0, entry.kind, out)?;
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(entry)| entry.key.0)
    }

    fn inside(&self) -> Tally {
        self.inside
    }

    fn digest(&self) -> String {
        format!("{:016x}", self.hash)
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let PlainCounts { posted, received, received_bytes, repeated, marked, unexpected } = self.counts();
        let list = [
            ("posted", posted),
            ("received", received),
            ("received_bytes", received_bytes),
            ("repeated", repeated),
            ("marked", marked),
            ("unexpected", unexpected),
        ];
        list.map(|(name, count)| (name.to_owned(), count)).to_vec()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
