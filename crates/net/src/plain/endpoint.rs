//! Hosts and the transport of their messages, for all cards: program, matching, connections, and sending when the line is free.

mod arrivals;

use super::events::Kind;
use super::matching::{Entry, EntryId, Lists, Region};
use super::packet::{self, Begin, Pair};
use super::params::{MAX_MTU, PlainParams};
use super::receiver::{Answer, DataPacket, Incoming};
use super::sender::Outgoing;
use crate::NodeId;
use crate::address::Directory;
use crate::agenda::Agenda;
use crate::digest::{NumberMap, fold};
use crate::frame::Arrival;
use crate::host::{Action, CardEvent, CardMemory, Event, Host, MessageId, Payload, Program, Received, Reply, Served};
use crate::line::{Line, Slot};
use crate::node::{NodeFailure, Place, PortPlace};
use crate::observe::{MessageEvent, MessageKey, MessageKind, Tally, What};
use crate::pause::{Pause, Pauses};
use kernel::Time;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// Why a plain NIC cannot be built or cannot continue.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum PlainError {
    #[error("a plain NIC has {found} links, must have exactly one, at port 0")]
    Links { found: usize },
    #[error("the host sends a message to itself (tag {tag:#x})")]
    ToItself { tag: u64 },
    #[error("the host sends a message to node {found}, which does not exist (allowed: 0 to {})", n_nodes - 1)]
    NoNode { found: u32, n_nodes: u32 },
    #[error(
        "its packets have up to {needed} bytes, but its link carries at most {max_frame}; choose an mtu of at most {mtu}"
    )]
    Mtu { needed: usize, max_frame: usize, mtu: usize },
}

/// The card around an endpoint: it sends the endpoint's frames, and accounts for frames that arrived.
pub trait Exit {
    /// A frame leaves at `slot.start`. `class` overrides the class that its headers state. `message` is the message of which the
    /// frame carries a part. Returns the hash of its bytes.
    fn leave(&mut self, slot: Slot, bytes: Arc<[u8]>, class: Option<u8>, message: Option<MessageKey>) -> u64;

    /// A frame that arrived is handled. `is_used` is false if the frame was of no use.
    fn used(&mut self, now: Time, arrival: &Arrival, is_used: bool);
}

/// Maximum bytes of a packet besides its payload: the first packet of a message has all headers.
const OVERHEAD: usize = wire::roce::BTH_AT + wire::roce::BTH_LEN + wire::roce::RETH_LEN + wire::roce::ICRC_LEN;

/// The payload of a packet of zeros.
static ZEROS: [u8; MAX_MTU as usize] = [0; MAX_MTU as usize];

/// The purpose of a message that has arrived.
#[derive(Clone, Copy)]
enum Purpose {
    /// It is for the entry that it matches.
    Put,
    /// A request for memory of the entry that it matches.
    Request,
    /// The answer to a request of this host.
    Reply(MessageId),
}

/// A message that is arriving or waits for its entry.
struct Building {
    from: NodeId,
    number: u32,
    tag: u64,
    len: u32,
    received: u32,
    first: Time,
    bytes: Option<Vec<u8>>,
    purpose: Purpose,
    entry: Option<(EntryId, Entry)>,
    last: Option<Time>,
}

/// Counters of a plain NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainCounts {
    /// Messages posted.
    pub posted: u64,
    /// Messages received and matched.
    pub received: u64,
    /// Bytes of received messages.
    pub received_bytes: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// Packets that carried a congestion mark.
    pub marked: u64,
    /// Congestion notifications that arrived.
    pub notified: u64,
    /// Messages that matched no entry when they arrived.
    pub unexpected: u64,
}

/// A host and the transport of its messages: all of a plain NIC except the end of its line.
pub struct Endpoint {
    params: PlainParams,
    node: NodeId,
    directory: Arc<Directory>,
    line: Line,
    reaction: Time,
    pauses: Pauses,
    program: Box<dyn Program>,
    host: Host,
    events: Agenda<u8, Kind>,
    /// The time of the current event, and that of the program's last event.
    now: Time,
    told_at: Time,
    outgoing: NumberMap<NodeId, Outgoing>,
    /// Peers with packets to send, in the order of their turns.
    turns: VecDeque<NodeId>,
    /// Acknowledgments and congestion notifications, which leave first.
    answers: VecDeque<Arc<[u8]>>,
    /// Frames of the program.
    frames: VecDeque<Arc<[u8]>>,
    incoming: NumberMap<NodeId, Incoming>,
    building: NumberMap<u64, Building>,
    next_building: u64,
    /// Buffers, empty between calls: packets that are in order now, and answers to their sender.
    ready: (Vec<DataPacket>, Vec<Answer>),
    lists: Lists<u64>,
    /// Requests under way by the lower 24 bits of their numbers: peer, number, tag, length.
    requests: NumberMap<u32, (NodeId, MessageId, u64, u32)>,
    /// Answers to peers' requests that have not left.
    served: NumberMap<MessageId, Served>,
    wake: Option<Time>,
    /// Frames that arrived and are not handled yet.
    inside: Tally,
    /// The host's writes into memory that it shares with the card: time, address, bytes.
    written: Vec<(Time, u64, Box<[u8]>)>,
    /// Events of messages since the last call of `take_messages`.
    messages: Vec<MessageEvent>,
    hash: u64,
    counts: PlainCounts,
}

impl Endpoint {
    /// The host at `place`. Its messages leave through `port`, and it runs `program` from time 0 on. `card_memory` is host memory that it
    /// shares with a card.
    pub fn new(
        params: PlainParams,
        place: &Place,
        port: &PortPlace,
        program: Box<dyn Program>,
        card_memory: Option<Vec<CardMemory>>,
    ) -> Result<Self, NodeFailure> {
        params.check()?;
        let needed = params.mtu as usize + OVERHEAD;
        if needed > port.max_frame {
            let mtu = port.max_frame.saturating_sub(OVERHEAD);
            return Err(Box::new(PlainError::Mtu { needed, max_frame: port.max_frame, mtu }));
        }
        let mut host = Host::new(place, params.costs);
        if let Some(memory) = card_memory {
            host.set_card_memory(memory);
        }
        let mut endpoint = Endpoint {
            node: place.node,
            directory: Arc::clone(&place.directory),
            line: port.line(),
            reaction: port.pause_reaction,
            pauses: Pauses::default(),
            program,
            host,
            events: Agenda::default(),
            now: Time::ZERO,
            told_at: Time::ZERO,
            outgoing: NumberMap::default(),
            turns: VecDeque::new(),
            answers: VecDeque::new(),
            frames: VecDeque::new(),
            incoming: NumberMap::default(),
            building: NumberMap::default(),
            next_building: 0,
            ready: (Vec::new(), Vec::new()),
            lists: Lists::default(),
            requests: NumberMap::default(),
            served: NumberMap::default(),
            wake: None,
            inside: Tally::default(),
            written: Vec::new(),
            messages: Vec::new(),
            hash: 0,
            counts: PlainCounts::default(),
            params,
        };
        endpoint.program.start(&mut endpoint.host);
        endpoint.obey(Time::ZERO)?;
        Ok(endpoint)
    }

    /// A frame arrives.
    pub fn receive(&mut self, arrival: Arrival) {
        if arrival.frame.is_control {
            if let Some(pause) = Pause::parse(&arrival.frame.bytes) {
                self.pause(arrival.tail, pause);
            }
            return;
        }
        self.inside.add(&arrival.frame);
        self.schedule(arrival.tail, Kind::Tail(arrival));
    }

    /// A pause frame for the host's port has arrived at `tail`.
    pub fn pause(&mut self, tail: Time, pause: Pause) {
        self.schedule(tail + self.reaction, Kind::Order(pause));
    }

    /// The card has written host memory.
    pub fn card_wrote(&mut self, at: Time, addr: u64, bytes: Box<[u8]>) {
        self.schedule(at, Kind::Memory { addr, bytes });
    }

    /// An event of the card's driver.
    pub fn card_event(&mut self, at: Time, event: CardEvent) {
        self.schedule(at, Kind::Tell(Event::Card(event)));
    }

    /// Moves the host's writes since the last call to the end of `written`. Only writes into memory that the host shares with the
    /// card are kept.
    pub fn take_written(&mut self, written: &mut Vec<(Time, u64, Box<[u8]>)>) {
        written.append(&mut self.written);
    }

    /// Takes the events of its messages since the last call.
    pub fn take_messages(&mut self) -> std::vec::Drain<'_, MessageEvent> {
        self.messages.drain(..)
    }

    /// Simulates everything up to and including `until`.
    pub fn run_until(&mut self, until: Time, exit: &mut dyn Exit) -> Result<(), NodeFailure> {
        while let Some((at, kind)) = self.events.pop_until(until) {
            self.act(at, kind, exit)?;
        }
        Ok(())
    }

    /// Time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        self.events.next()
    }

    /// Time of the last event that its program got.
    pub fn told_at(&self) -> Time {
        self.told_at
    }

    /// Frames that arrived and are not handled yet.
    pub fn inside(&self) -> Tally {
        self.inside
    }

    /// Hash of all messages and frames for the host, and of all packets that it sent, with their times.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Describes what its program waits for, if anything.
    pub fn waits_for(&self) -> Option<String> {
        self.program.waits_for()
    }

    /// Peers that did not answer, so that nothing is sent to them any more, in order of their numbers.
    pub fn silent_peers(&self) -> Vec<NodeId> {
        let silent = self.outgoing.iter().filter(|(_, peer)| peer.has_given_up);
        let mut silent: Vec<NodeId> = silent.map(|(&peer, _)| peer).collect();
        silent.sort_unstable();
        silent
    }

    /// Returns true if events are left or its program waits for something.
    pub fn is_busy(&self) -> bool {
        !self.events.is_empty() || self.program.is_waiting()
    }

    /// Its counters.
    pub fn counts(&self) -> PlainCounts {
        PlainCounts { repeated: self.outgoing.values().map(|peer| peer.repeated).sum(), ..self.counts }
    }

    /// Its counters by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let PlainCounts { posted, received, received_bytes, repeated, marked, notified, unexpected } = self.counts();
        let list = [
            ("posted", posted),
            ("received", received),
            ("received_bytes", received_bytes),
            ("repeated", repeated),
            ("marked", marked),
            ("notified", notified),
            ("unexpected", unexpected),
        ];
        list.map(|(name, count)| (name.to_owned(), count)).to_vec()
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
        self.events.push(at, kind.rank(), kind);
    }

    /// Carries out the program's actions.
    fn obey(&mut self, now: Time) -> Result<(), NodeFailure> {
        self.written.extend(self.host.written.drain(..).map(|(addr, bytes)| (now, addr, bytes)));
        let mut actions = std::mem::take(&mut self.host.actions);
        for action in actions.drain(..) {
            match action {
                Action::Put { to, tag, .. } | Action::Get { to, tag, .. } if to == self.node => {
                    return Err(Box::new(PlainError::ToItself { tag }));
                }
                Action::Put { to, .. } | Action::Get { to, .. } if to.0 >= self.host.n_nodes() => {
                    return Err(Box::new(PlainError::NoNode { found: to.0, n_nodes: self.host.n_nodes() }));
                }
                Action::Put { at, id, to, tag, payload } => {
                    self.counts.posted += 1;
                    let begin = Begin::Write { tag, number: id.0, len: payload.len() };
                    self.note_posted(now, at, to, begin, tag, payload.len());
                    self.schedule(at + self.params.post(), Kind::Post { id, to, begin, payload });
                }
                Action::Get { at, id, to, tag, len } => {
                    self.counts.posted += 1;
                    self.requests.insert(id.0 & packet::REPLY_BITS, (to, id, tag, len));
                    let begin = Begin::Read { tag, number: id.0, len };
                    self.note_posted(now, at, to, begin, tag, 0);
                    self.schedule(at + self.params.post(), Kind::Post { id, to, begin, payload: Payload::Zeros(0) });
                }
                Action::Frame { bytes } => {
                    self.frames.push_back(bytes);
                    self.schedule(now, Kind::Wake);
                }
                Action::Wait { until, token } => self.schedule(until, Kind::Tell(Event::Timer(token))),
                Action::Append { id, entry } => {
                    for message in self.lists.append(id, entry) {
                        if let Some(building) = self.building.get_mut(&message) {
                            building.entry = Some((id, entry));
                        }
                        self.finish(message, now);
                    }
                }
                Action::Remove { id } => self.lists.remove(id),
                Action::Fail(failure) => return Err(failure),
            }
        }
        self.host.actions = actions;
        Ok(())
    }

    /// Passes on a message if all of it has arrived and it has its entry; replies need no entry.
    fn finish(&mut self, message: u64, at: Time) {
        let is_done = |building: &&Building| {
            building.last.is_some() && (building.entry.is_some() || matches!(building.purpose, Purpose::Reply(_)))
        };
        if self.building.get(&message).filter(is_done).is_none() {
            return;
        }
        let Some(building) = self.building.remove(&message) else { return };
        let Building { from, number, tag, len, first, mut bytes, purpose, entry, last: Some(last), .. } = building
        else {
            return;
        };
        let (kind, sent) = match purpose {
            Purpose::Put => (MessageKind::Put, number),
            Purpose::Request => (MessageKind::Get, number),
            Purpose::Reply(_) => (MessageKind::Reply, number & packet::REPLY_BITS),
        };
        let message = MessageKey { from, to: self.node, kind, number: sent };
        self.messages.push(MessageEvent { at: self.now, message, len, what: What::Received { kind, done: at } });
        let entry_id = entry.map_or(0, |(EntryId(id), _)| id);
        let words = [u64::from(from.0), tag, u64::from(len), first.fs(), last.fs(), entry_id];
        self.hash = words.into_iter().fold(self.hash, fold);
        let memory = entry.and_then(|(_, entry)| entry.memory);
        match (purpose, entry) {
            (Purpose::Reply(id), _) => {
                let event = Event::Reply(Reply { id, from, tag, len, first, last, bytes });
                self.schedule(at, Kind::Deliver { cpu: 0, len, event });
            }
            (Purpose::Request, Some((entry, _))) => {
                let id = self.host.message_id();
                self.served.insert(id, Served { entry, to: from, tag, len });
                let payload = match memory {
                    None => Payload::Zeros(len),
                    Some(Region { addr, bytes }) => {
                        let mut content = vec![0; len as usize];
                        let stored = u64::from(len).min(bytes) as usize;
                        self.host.memory.read(addr, &mut content[..stored]);
                        Payload::Bytes(content.into())
                    }
                };
                let begin = Begin::Response { number };
                self.note_posted(self.now, at, from, begin, tag, len);
                self.schedule(at, Kind::Post { id, to: from, begin, payload });
            }
            (Purpose::Put, Some((id, entry))) => {
                self.counts.received += 1;
                self.counts.received_bytes += u64::from(len);
                if let Some(Region { addr, bytes: room }) = memory {
                    let mut content = bytes.take().unwrap_or_else(|| vec![0; len as usize]);
                    content.truncate(room.min(u64::from(len)) as usize);
                    self.schedule(at, Kind::Memory { addr, bytes: content.into() });
                }
                let event = Event::Received(Received { entry: id, from, number, tag, len, first, last, bytes });
                self.schedule(
                    at,
                    match entry.cpu {
                        Some(cpu) => Kind::Deliver { cpu, len, event },
                        None => Kind::Tell(event),
                    },
                );
            }
            _ => {}
        }
    }

    /// Gives the program an event.
    fn tell(&mut self, now: Time, event: Event) -> Result<(), NodeFailure> {
        self.host.now = now;
        self.told_at = now;
        self.program.event(event, &mut self.host);
        self.obey(now)
    }

    fn act(&mut self, now: Time, kind: Kind, exit: &mut dyn Exit) -> Result<(), NodeFailure> {
        self.now = now;
        match kind {
            Kind::Order(pause) => self.pauses.apply(now, &pause, self.line.rate()),
            Kind::Memory { addr, bytes } => {
                self.host.memory.write(addr, &bytes);
                let bytes = bytes.len() as u64;
                if self.host.is_watched(addr, bytes) {
                    self.tell(now, Event::Written { addr, bytes })?;
                }
            }
            Kind::Tail(arrival) => self.arrive(now, arrival, exit)?,
            Kind::Post { id, to, begin, payload } => {
                self.outgoing.entry(to).or_default().post(id, begin, payload, self.params.mtu);
                self.enlist(to);
            }
            Kind::Deliver { cpu, len, event } => match self.host.charge_receive(now, cpu, len) {
                at if at <= now => self.tell(now, event)?,
                at => self.schedule(at, Kind::Tell(event)),
            },
            Kind::Tell(event) => self.tell(now, event)?,
            Kind::Timeout(to) => self.time_out(now, to),
            Kind::Pace(to) => {
                if let Some(peer) = self.outgoing.get_mut(&to) {
                    peer.has_pace = false;
                }
                self.enlist(to);
            }
            Kind::Wake => self.wake = self.wake.filter(|&at| at > now),
        }
        self.serve(now, exit);
        Ok(())
    }

    /// A message is complete: it has left, or all of it is acknowledged.
    fn finished(&mut self, at: Time, id: MessageId) {
        if let Some(served) = self.served.remove(&id) {
            self.schedule(at, Kind::Tell(Event::Served(served)));
        } else if self.requests.get(&(id.0 & packet::REPLY_BITS)).is_none_or(|&(_, request, ..)| request != id) {
            self.schedule(at, Kind::Tell(Event::Sent(id)));
        }
    }

    /// Gives a peer a turn if there are packets to send to it and it has no turn yet. Rate control can delay the turn.
    fn enlist(&mut self, to: NodeId) {
        let Some(peer) = self.outgoing.get_mut(&to) else { return };
        if peer.has_turn || peer.has_pace || !peer.is_ready(&self.params) {
            return;
        }
        match peer.limit.as_ref().map_or(Time::ZERO, |limit| limit.free) {
            free if free > self.now => {
                peer.has_pace = true;
                self.schedule(free, Kind::Pace(to));
            }
            _ => {
                peer.has_turn = true;
                self.turns.push_back(to);
            }
        }
    }

    fn time_out(&mut self, now: Time, to: NodeId) {
        let Some(peer) = self.outgoing.get_mut(&to) else { return };
        peer.has_event = false;
        match peer.timer {
            Some(at) if at <= now => {
                peer.time_out(&self.params);
                peer.timer = None;
                self.enlist(to);
            }
            Some(_) => self.arm(to),
            None => {}
        }
    }

    /// Schedules the event of a peer's timer, if it is not scheduled yet.
    fn arm(&mut self, to: NodeId) {
        let Some(peer) = self.outgoing.get_mut(&to) else { return };
        if let (Some(at), false) = (peer.timer, peer.has_event) {
            peer.has_event = true;
            self.schedule(at, Kind::Timeout(to));
        }
    }

    /// The identity of a message to a peer.
    fn key(&self, to: NodeId, begin: Begin) -> MessageKey {
        let (kind, number) = match begin {
            Begin::Write { number, .. } => (MessageKind::Put, number),
            Begin::Read { number, .. } => (MessageKind::Get, number),
            Begin::Response { number } => (MessageKind::Reply, number & packet::REPLY_BITS),
        };
        MessageKey { from: self.node, to, kind, number }
    }

    fn note_posted(&mut self, now: Time, posted: Time, to: NodeId, begin: Begin, tag: u64, len: u32) {
        let message = self.key(to, begin);
        let what = What::Posted { to, kind: message.kind, tag, posted };
        self.messages.push(MessageEvent { at: now, message, len, what });
    }

    fn pair(&self, to: NodeId) -> Pair {
        Pair { from: self.node, to, class: self.params.class }
    }

    /// Sends packets while the line is free.
    fn serve(&mut self, now: Time, exit: &mut dyn Exit) {
        while !(self.answers.is_empty() && self.frames.is_empty() && self.turns.is_empty()) {
            let free = self.line.free_at().max(self.pauses.until(self.params.class));
            if free > now {
                if free < Time::MAX && self.wake.is_none_or(|at| free < at) {
                    self.wake = Some(free);
                    self.schedule(free, Kind::Wake);
                }
                return;
            }
            let (bytes, class, message, finishes) = if let Some(bytes) = self.answers.pop_front() {
                (bytes, Some(self.params.class), None, None)
            } else if let Some(bytes) = self.frames.pop_front() {
                (bytes, None, None, None)
            } else {
                let Some((bytes, message, finishes)) = self.next_data(now) else { continue };
                (bytes, Some(self.params.class), Some(message), finishes)
            };
            let slot = self.line.send(now, bytes.len());
            let hash = exit.leave(slot, bytes, class, message);
            self.hash = fold(fold(self.hash, slot.start.fs()), hash);
            if let Some(id) = finishes {
                self.finished(slot.tail + self.params.deliver(), id);
            }
        }
    }

    /// The next data packet of the peer whose turn it is.
    fn next_data(&mut self, now: Time) -> Option<(Arc<[u8]>, MessageKey, Option<MessageId>)> {
        let to = self.turns.pop_front()?;
        let peer = self.outgoing.get_mut(&to)?;
        peer.has_turn = false;
        let part = peer.is_ready(&self.params).then(|| peer.take(&self.params)).flatten()?;
        if self.params.is_reliable() && peer.timer.is_none() {
            peer.timer = Some(now + self.params.timeout.time());
        }
        let payload = match &part.payload {
            Payload::Bytes(bytes) => &bytes[part.range],
            Payload::Zeros(_) => &ZEROS[..part.range.len()],
        };
        let kind = (part.stream, part.begin);
        let asks = part.is_last || part.is_repeat;
        let bytes = packet::data(self.pair(to), &self.directory, part.psn, kind, (part.is_last, asks), payload);
        if let (Some(limit), Some(dcqcn), Some(line)) = (
            self.outgoing.get_mut(&to).and_then(|peer| peer.limit.as_mut()),
            &self.params.dcqcn,
            self.line.rate().in_bps(),
        ) {
            limit.sent(now, self.line.framing().line_bits(bytes.len()), line, dcqcn);
        }
        self.arm(to);
        self.enlist(to);
        Some((bytes, self.key(to, part.message), part.finishes))
    }
}
