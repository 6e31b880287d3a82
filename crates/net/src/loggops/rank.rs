//! A rank of a schedule as a host program, for schedules whose messages travel as packets through a network.
//!
//! The rank charges o, g and O as the model does, and starts operations in the order in which they become ready. It does not use L and G:
//! links and NICs decide how long a message takes.
//!
//! - A computation occupies its processor for its duration.
//! - A send occupies its processor for o + (s-1) O. The next send with the same `nic` begins at least g later. The network gets the message
//!   o after the start (model 2010), or when the processor is done (atlahs).
//! - 2010: a message that has arrived occupies the processor with the same number as the sender's processor for o + (s-1) O, and
//!   its `nic` for g, even if no receive waits for it. atlahs: a message that has matched a receive occupies its `nic` for g,
//!   then the receive's processor for o + (s-1) O.
//! - A message of more than S bytes waits for its receive: the sender announces it with a small message, and the receiver reads it
//!   ([`Host::get`]) when the receive is posted. The send ends when its last packet has left.
//! - A message of a rank to itself arrives at the time at which the network would get it.

use super::matching::{Entry as Waiting, Queues};
use super::params::{Model, Params};
use crate::NodeId;
use crate::goal::{Kind, Op, Schedule};
use crate::host::{Entry, Event, Host, Payload, Program, Received};
use kernel::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The cause of a begin or an end. Operations and messages are numbered within their rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The start of the run.
    Start,
    /// An operation ended.
    End(u32),
    /// An operation began.
    Begin(u32),
    /// The processor finished its part of an operation.
    Held(u32),
    /// The gap of a send ended.
    SendGap(u32),
    /// A message arrived.
    Way(u32),
    /// The processor finished its part of a message.
    Handled(u32),
    /// The gap of a received message ended.
    RecvGap(u32),
}

/// Times of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpTimes {
    pub posted: Time,
    pub freed: Why,
    pub started: Time,
    pub why: Why,
    /// For a send: the time at which the network got its message.
    pub left: Time,
    pub done: Option<Time>,
    /// For a receive: its message.
    pub message: Option<u32>,
}

/// A message that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub from: u32,
    /// Its number at the sender, or that of its send operation if `has_operation`.
    pub number: u32,
    pub tag: u32,
    pub size: u64,
    pub cpu: u8,
    pub nic: u8,
    /// True if the message was announced; its bytes are read afterwards.
    pub is_announced: bool,
    /// True if `number` is that of the send operation.
    pub has_operation: bool,
    /// Arrival of the whole message; for an announced message, of its bytes.
    pub arrived: Time,
    /// For an announced message: start of the read, and true if the receive came after the announcement.
    pub read_at: Option<(Time, bool)>,
    /// Number of the read.
    pub read: Option<u32>,
    pub begun: Time,
    pub why: Why,
    pub ended: Time,
    pub recv: Option<u32>,
}

impl Arrived {
    /// The send operation. `numbers` maps the sender's messages to its operations.
    pub fn send(&self, numbers: &BTreeMap<u32, u32>) -> u32 {
        // Announced messages and messages of a rank to itself carry the number of the operation.
        numbers.get(&self.number).copied().filter(|_| !self.has_operation).unwrap_or(self.number)
    }
}

/// Tag bit of an announcement: the receiver reads the bytes when the receive is posted.
const ANNOUNCED: u64 = 1 << 48;
/// Tag bit of the memory from which an announced message is read.
const READ: u64 = 1 << 49;

fn tag_of(op: &Op) -> u64 {
    u64::from(op.tag) | u64::from(op.cpu) << 32 | u64::from(op.nic) << 40
}

/// The purpose of a timer. The timer's token also has the number of the operation or message.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Token {
    /// An operation ends.
    End = 0,
    /// An operation begins.
    Begin = 1,
    /// The processor begins to handle a message.
    Turn = 2,
    /// A message of the rank to itself arrives.
    Own = 3,
}

fn token(what: Token, number: u32) -> u64 {
    (what as u64) << 32 | u64::from(number)
}

/// A processor or card: the time from which it is free, and the cause.
type Slot = (Time, Why);

fn later(a: Slot, b: Slot) -> Slot {
    if b.0 > a.0 { b } else { a }
}

#[derive(Default)]
struct Slots(Vec<Option<Slot>>);

impl Slots {
    fn get(&self, number: u8) -> Slot {
        self.0.get(usize::from(number)).copied().flatten().unwrap_or((Time::ZERO, Why::Start))
    }

    fn set(&mut self, number: u8, slot: Slot) {
        let number = usize::from(number);
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some(slot);
    }
}

/// A send of more bytes than one message of the network can have.
#[derive(Debug, thiserror::Error)]
#[error("{at} of rank {rank} has {size} bytes, must have at most {}: a longer message needs several sends", u32::MAX)]
pub struct TooLarge {
    at: String,
    rank: u32,
    size: u64,
}

/// A time beyond the range of the simulator.
#[derive(Debug, thiserror::Error)]
#[error("the schedule takes more than five hours: {at} of rank {rank} ends after the last time that spinet can hold")]
pub struct TooLong {
    at: String,
    rank: u32,
}

/// A rank of a schedule. Rank r runs on node r.
pub struct Rank {
    schedule: Arc<Schedule>,
    params: Params,
    model: Model,
    rank: u32,
    /// Index of its first operation in the schedule.
    base: usize,
    open: Vec<u32>,
    cpus: Slots,
    send_gaps: Slots,
    recv_gaps: Slots,
    posted: Queues,
    unexpected: Queues,
    /// Operations that became ready in this event, with the cause.
    freed: Vec<(u32, Why)>,
    /// Messages whose bytes are being read, by number of the `get`.
    reads: BTreeMap<u32, u32>,
    pub(super) times: Vec<OpTimes>,
    pub(super) messages: Vec<Arrived>,
    /// Send operations, by number of the message.
    pub(super) numbers: BTreeMap<u32, u32>,
    pub(super) n_done: usize,
    n_unexpected: usize,
    /// The latest end so far, with its cause.
    pub(super) end: Slot,
}

impl Rank {
    /// The program of a rank.
    pub fn new(schedule: Arc<Schedule>, params: Params, model: Model, rank: u32) -> Result<Rank, TooLarge> {
        let range = schedule.range(rank);
        let ops = schedule.rank(rank);
        if let Some(at) = ops.iter().position(|op| op.kind == Kind::Send && op.size > u64::from(u32::MAX)) {
            return Err(TooLarge { at: schedule.describe(range.start + at), rank, size: ops[at].size });
        }
        let mut open = vec![0; ops.len()];
        for op in range.clone() {
            schedule.dependents(op).for_each(|dependent| open[dependent.op as usize] += 1);
        }
        let new = OpTimes {
            posted: Time::ZERO,
            freed: Why::Start,
            started: Time::ZERO,
            why: Why::Start,
            left: Time::ZERO,
            done: None,
            message: None,
        };
        Ok(Rank {
            params,
            model,
            rank,
            base: range.start,
            open,
            cpus: Slots::default(),
            send_gaps: Slots::default(),
            recv_gaps: Slots::default(),
            posted: Queues::new(1),
            unexpected: Queues::new(1),
            freed: Vec::new(),
            reads: BTreeMap::new(),
            times: vec![new; ops.len()],
            messages: Vec::new(),
            numbers: BTreeMap::new(),
            n_done: 0,
            n_unexpected: 0,
            end: (Time::ZERO, Why::Start),
            schedule,
        })
    }

    /// Receives that wait for a message: operation in the rank, and source.
    pub(super) fn waiting(&self) -> Vec<(u32, u32)> {
        self.posted.entries(0).map(|entry| (entry.op, entry.source)).collect()
    }

    /// Messages without a receive.
    pub(super) fn left_over(&self) -> Vec<Arrived> {
        self.unexpected.entries(0).map(|entry| self.messages[entry.op as usize]).collect()
    }

    fn op(&self, op: u32) -> Op {
        self.schedule.ops()[self.base + op as usize]
    }

    /// `at` + `base` + (`size` - 1) * `per_byte`. A result out of range ends the run.
    fn add(&self, host: &mut Host, op: u32, at: Time, base: Time, per_byte: Time, size: u64) -> Option<Time> {
        let bytes = per_byte.fs().checked_mul(size.saturating_sub(1));
        let end = bytes.and_then(|bytes| at.fs().checked_add(base.fs())?.checked_add(bytes)).map(Time::from_fs);
        if end.is_none() {
            let at = self.schedule.describe(self.base + op as usize);
            host.fail(TooLong { at, rank: self.rank });
        }
        end
    }

    /// Begins all operations that became ready.
    fn release(&mut self, host: &mut Host) {
        while !self.freed.is_empty() {
            let mut freed = std::mem::take(&mut self.freed);
            if self.model == Model::Loggopsim2010 {
                freed.sort_by_key(|&(op, _)| self.op(op).kind);
            }
            for (op, why) in freed {
                let times = &mut self.times[op as usize];
                (times.posted, times.freed) = (host.now(), why);
                let begun = match self.op(op).kind {
                    Kind::Calc => self.calc(op, why, host),
                    Kind::Send => self.send(op, why, host),
                    Kind::Recv => self.recv(op, host),
                };
                if begun.is_none() {
                    return; // The host has failed.
                }
            }
        }
    }

    /// An operation begins at a time.
    fn begin(&mut self, op: u32, (at, why): Slot, host: &mut Host) {
        (self.times[op as usize].started, self.times[op as usize].why) = (at, why);
        let has_dependents = self.schedule.dependents(self.base + op as usize).any(|dependent| dependent.on_start);
        if has_dependents && at > host.now() {
            host.wait_until(at, token(Token::Begin, op));
        } else if has_dependents {
            self.free_dependents(op, true);
        }
    }

    fn free_dependents(&mut self, op: u32, on_start: bool) {
        let why = if on_start { Why::Begin(op) } else { Why::End(op) };
        for dependent in self.schedule.dependents(self.base + op as usize).filter(|one| one.on_start == on_start) {
            let open = &mut self.open[dependent.op as usize];
            *open -= 1;
            if *open == 0 {
                self.freed.push((dependent.op, why));
            }
        }
    }

    fn calc(&mut self, op: u32, why: Why, host: &mut Host) -> Option<()> {
        let Op { size, cpu, .. } = self.op(op);
        let begin = later((host.now(), why), self.cpus.get(cpu));
        let end = self.add(host, op, begin.0, Time::ZERO, Time::from_fs(1_000_000), size.saturating_add(1))?;
        self.cpus.set(cpu, (end, Why::Held(op)));
        self.begin(op, begin, host);
        self.end_at(op, end, Why::Held(op), host);
        Some(())
    }

    fn send(&mut self, op: u32, why: Why, host: &mut Host) -> Option<()> {
        let this = self.op(op);
        let Op { size, cpu, nic, peer, .. } = this;
        let Params { o, g, O, S, .. } = self.params;
        let begin = later(later((host.now(), why), self.cpus.get(cpu)), self.send_gaps.get(nic));
        let cpu_end = self.add(host, op, begin.0, o, O, size)?;
        let left = match self.model {
            Model::Loggopsim2010 => self.add(host, op, begin.0, o, Time::ZERO, 0)?,
            Model::Atlahs => cpu_end,
        };
        let gap_end = self.add(host, op, begin.0, g, Time::ZERO, 0)?;
        self.cpus.set(cpu, (cpu_end, Why::Held(op)));
        self.send_gaps.set(nic, (gap_end, Why::SendGap(op)));
        self.note_end(cpu_end, Why::Held(op));
        self.begin(op, begin, host);
        self.times[op as usize].left = left;
        if peer == self.rank {
            let (is_announced, has_operation) = (false, true);
            let (arrived, why) = (left, Why::Way(self.messages.len() as u32));
            host.wait_until(left, token(Token::Own, self.messages.len() as u32));
            let (from, number) = (self.rank, op);
            let (tag, read_at, recv) = (this.tag, None, None);
            let (begun, ended) = (left, left);
            self.messages.push(Arrived {
                from,
                number,
                tag,
                size,
                cpu,
                nic,
                is_announced,
                has_operation,
                arrived,
                read_at,
                read: None,
                begun,
                why,
                ended,
                recv,
            });
            self.end_at(op, cpu_end, Why::Held(op), host);
            return Some(());
        }
        let to = NodeId(peer);
        let number = if size <= S {
            self.end_at(op, cpu_end, Why::Held(op), host);
            host.post(left, to, tag_of(&this), Payload::Zeros(size as u32))
        } else {
            host.append(Entry { cpu: None, ..Entry::one(Some(to), READ | u64::from(op)) });
            // The size fits into 32 bits: `new` has checked it.
            let words = [size as u32, op].map(u32::to_le_bytes).concat();
            host.post(left, to, tag_of(&this) | ANNOUNCED, Payload::Bytes(words.into()))
        };
        self.numbers.insert(number.0, op);
        Some(())
    }

    fn recv(&mut self, op: u32, host: &mut Host) -> Option<()> {
        let Op { peer, tag, .. } = self.op(op);
        self.begin(op, (host.now(), self.times[op as usize].freed), host);
        let Some(found) = self.unexpected.take(0, peer, tag) else {
            self.posted.push(0, Waiting { op, source: peer, tag, at: host.now().fs() });
            return Some(());
        };
        self.n_unexpected -= 1;
        let message = found.op;
        if self.messages[message as usize].is_announced {
            self.read(message, op, true, host);
            return Some(());
        }
        self.pair(message, op);
        if self.model == Model::Atlahs {
            return self.handle(message, self.op(op).cpu, host);
        }
        let ended = self.messages[message as usize].ended.max(host.now());
        self.end_at(op, ended, Why::Handled(message), host);
        Some(())
    }

    fn pair(&mut self, message: u32, recv: u32) {
        self.messages[message as usize].recv = Some(recv);
        self.times[recv as usize].message = Some(message);
    }

    /// Reads an announced message whose receive is posted.
    fn read(&mut self, message: u32, recv: u32, is_late: bool, host: &mut Host) {
        self.pair(message, recv);
        let Arrived { from, number, size, .. } = self.messages[message as usize];
        self.messages[message as usize].read_at = Some((host.now(), is_late));
        let id = host.post_get(host.now(), NodeId(from), READ | u64::from(number), size as u32);
        self.messages[message as usize].read = Some(id.0);
        self.reads.insert(id.0, message);
    }

    /// The processor handles a message: in the model 2010 when it arrives (`Token::Turn` follows), in the model atlahs when it has matched
    /// a receive.
    fn handle(&mut self, message: u32, cpu: u8, host: &mut Host) -> Option<()> {
        let Params { o, g, O, .. } = self.params;
        let Arrived { nic, size, recv, .. } = self.messages[message as usize];
        let op = recv.unwrap_or(0);
        // If a message waited for its receive, the receive is the cause.
        let came = match (self.messages[message as usize].arrived < host.now(), recv) {
            (true, Some(recv)) => Why::Begin(recv),
            _ => Why::Way(message),
        };
        let now = (host.now(), came);
        let (begin, start, gap_end) = match self.model {
            Model::Loggopsim2010 => {
                let begin = later(later(now, self.cpus.get(cpu)), self.recv_gaps.get(nic));
                (begin, begin.0, self.add(host, op, begin.0, g, Time::ZERO, 0)?)
            }
            Model::Atlahs => {
                let card = later(now, self.recv_gaps.get(nic));
                let gap_end = self.add(host, op, card.0, g, Time::ZERO, 0)?;
                match self.cpus.get(cpu) {
                    busy if busy.0 > gap_end => (busy, busy.0, gap_end),
                    _ => (card, gap_end, gap_end),
                }
            }
        };
        let end = self.add(host, op, start, o, O, size)?;
        self.cpus.set(cpu, (end, Why::Handled(message)));
        self.recv_gaps.set(nic, (gap_end, Why::RecvGap(message)));
        let entry = &mut self.messages[message as usize];
        (entry.begun, entry.why, entry.ended) = (begin.0, begin.1, end);
        self.note_end(end, Why::Handled(message));
        match recv {
            Some(recv) => self.end_at(recv, end, Why::Handled(message), host),
            None => host.wait_until(begin.0, token(Token::Turn, message)),
        }
        Some(())
    }

    /// A message has arrived.
    fn arrive(&mut self, message: u32, host: &mut Host) -> Option<()> {
        let Arrived { from, tag, cpu, is_announced, .. } = self.messages[message as usize];
        if !is_announced && self.model == Model::Loggopsim2010 {
            return self.handle(message, cpu, host);
        }
        let Some(found) = self.posted.take(0, from, tag) else {
            self.wait_for_receive(message, host);
            return Some(());
        };
        if is_announced {
            self.read(message, found.op, false, host);
            return Some(());
        }
        self.pair(message, found.op);
        self.handle(message, self.op(found.op).cpu, host)
    }

    fn wait_for_receive(&mut self, message: u32, host: &Host) {
        let Arrived { from, tag, .. } = self.messages[message as usize];
        self.n_unexpected += 1;
        self.unexpected.push(0, Waiting { op: message, source: from, tag, at: host.now().fs() });
    }

    /// Model 2010: the processor begins to handle a message, which is now matched with its receive.
    fn turn(&mut self, message: u32, host: &mut Host) {
        let Arrived { from, tag, ended, .. } = self.messages[message as usize];
        match self.posted.take(0, from, tag) {
            None => self.wait_for_receive(message, host),
            Some(found) => {
                self.pair(message, found.op);
                self.end_at(found.op, ended, Why::Handled(message), host);
            }
        }
    }

    /// Records a message from the network. Returns its index.
    fn received(&mut self, received: &Received) -> u32 {
        let tag = received.tag;
        let mut words = [0u32; 2];
        if let Some(bytes) = &received.bytes {
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        }
        let is_announced = tag & ANNOUNCED != 0;
        let message = self.messages.len() as u32;
        self.messages.push(Arrived {
            from: received.from.0,
            // The bytes of an announced message are read under the number of its send operation.
            number: if is_announced { words[1] } else { received.number },
            tag: tag as u32,
            size: if is_announced { words[0].into() } else { received.len.into() },
            cpu: (tag >> 32) as u8,
            nic: (tag >> 40) as u8,
            is_announced,
            has_operation: is_announced,
            arrived: received.last,
            read_at: None,
            read: None,
            begun: received.last,
            why: Why::Way(message),
            ended: received.last,
            recv: None,
        });
        message
    }

    fn end_at(&mut self, op: u32, at: Time, why: Why, host: &mut Host) {
        self.note_end(at, why);
        if at > host.now() {
            host.wait_until(at, token(Token::End, op));
        } else {
            self.ended(op, host.now());
        }
    }

    fn ended(&mut self, op: u32, now: Time) {
        self.times[op as usize].done = Some(now);
        self.n_done += 1;
        self.free_dependents(op, false);
    }

    fn note_end(&mut self, at: Time, why: Why) {
        self.end = later(self.end, (at, why));
    }
}

impl Program for Rank {
    fn start(&mut self, host: &mut Host) {
        // Takes all messages. Reads of announced messages have entries of their own.
        host.append(Entry { ignore: !READ, cpu: None, ..Entry::ALL });
        let roots = (0..self.open.len()).filter(|&op| self.open[op] == 0);
        self.freed = roots.map(|op| (op as u32, Why::Start)).collect();
        self.release(host);
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        match event {
            Event::Timer(token) => {
                let number = token as u32;
                match token >> 32 {
                    0 => self.ended(number, host.now()),
                    1 => self.free_dependents(number, true),
                    2 => self.turn(number, host),
                    _ => _ = self.arrive(number, host),
                }
            }
            Event::Received(received) => {
                let message = self.received(&received);
                _ = self.arrive(message, host);
            }
            Event::Reply(reply) => {
                if let Some(message) = self.reads.remove(&reply.id.0) {
                    let entry = &mut self.messages[message as usize];
                    entry.arrived = reply.last;
                    let cpu = match (self.model, entry.recv) {
                        (Model::Atlahs, Some(recv)) => self.op(recv).cpu,
                        _ => entry.cpu,
                    };
                    _ = self.handle(message, cpu, host);
                }
            }
            Event::Served(served) => {
                let op = served.tag as u32;
                self.note_end(host.now(), Why::End(op));
                self.ended(op, host.now());
            }
            _ => {}
        }
        self.release(host);
    }

    fn waits_for(&self) -> Option<String> {
        if self.n_done < self.times.len() {
            let op = self.times.iter().position(|times| times.done.is_none())?;
            return Some(format!("the end of {} of rank {}", self.schedule.describe(self.base + op), self.rank));
        }
        (self.n_unexpected > 0).then(|| format!("receives of {} messages to rank {}", self.n_unexpected, self.rank))
    }

    fn is_waiting(&self) -> bool {
        self.n_done < self.times.len() || self.n_unexpected > 0
    }
}
