//! Combines the results of a schedule's ranks.

use super::critical::{Step, StepKind};
use super::params::{Model, Params};
use super::rank::{Arrived, OpTimes, Rank, Why};
use super::record::{Cause, NO_OP, Outcome, Record, Times};
use super::stuck::Stuck;
use crate::NodeId;
use crate::digest::NumberMap;
use crate::goal::{Kind, Schedule};
use crate::messages::{Part, Segment};
use crate::observe::{MessageKey, MessageKind, REPLY_BITS};
use kernel::Time;
use std::collections::{BTreeMap, HashMap};

/// The results of a rank.
#[derive(Debug)]
pub struct RankResult {
    pub(super) times: Vec<OpTimes>,
    pub(super) messages: Vec<Arrived>,
    pub(super) numbers: BTreeMap<u32, u32>,
    pub(super) end: (Time, Why),
    pub(super) n_done: usize,
    pub(super) waiting: Vec<(u32, u32)>,
    pub(super) left_over: Vec<Arrived>,
}

impl Rank {
    /// Takes the results out of the rank.
    pub fn take(&mut self) -> RankResult {
        RankResult {
            waiting: self.waiting(),
            left_over: self.left_over(),
            times: std::mem::take(&mut self.times),
            messages: std::mem::take(&mut self.messages),
            numbers: std::mem::take(&mut self.numbers),
            end: self.end,
            n_done: self.n_done,
        }
    }
}

/// The index in the schedule of the send operation of a message.
fn send_of(schedule: &Schedule, ranks: &[RankResult], message: &Arrived) -> usize {
    let first = schedule.range(message.from).start;
    first + message.send(&ranks[message.from as usize].numbers) as usize
}

/// The places where each message spent its time, by identity of the message.
pub type Paths = NumberMap<MessageKey, Vec<Segment>>;

/// Combines the results of all ranks: the times of all operations, or the reason why the schedule cannot end. `paths` divide the steps of
/// the critical path that are messages on their way.
pub fn gather(
    schedule: &Schedule,
    params: Params,
    model: Model,
    ranks: &[RankResult],
    paths: &Paths,
) -> Result<Outcome, Stuck> {
    let n_done: usize = ranks.iter().map(|rank| rank.n_done).sum();
    let mut sent = Vec::new();
    for (host, rank) in (0..).zip(ranks) {
        let left = |message: &Arrived| (message.from, send_of(schedule, ranks, message) as u32, host);
        sent.extend(rank.left_over.iter().map(left));
    }
    if n_done < schedule.ops().len() || !sent.is_empty() {
        let first = |rank: u32| schedule.range(rank).start as u32;
        let global = |(rank, result): (u32, &RankResult)| {
            result.waiting.iter().map(|&(op, source)| (first(rank) + op, source)).collect::<Vec<_>>()
        };
        let waiting = (0..).zip(ranks).map(global).collect();
        let is_done = |op: u32| {
            let rank = schedule.rank_of(op as usize);
            ranks[rank as usize].times[(op - first(rank)) as usize].done.is_some()
        };
        return Err(Stuck::of_waits(schedule, waiting, &sent, is_done, n_done));
    }
    let hosts: Vec<Time> = ranks.iter().map(|rank| rank.end.0).collect();
    let last = (0..ranks.len()).max_by_key(|&rank| (hosts[rank], std::cmp::Reverse(rank))).unwrap_or(0);
    let messages = ranks.iter().map(|rank| rank.messages.len() as u64).sum();
    let mut times = vec![Times::NONE; schedule.ops().len()];
    for (rank, result) in (0..).zip(ranks) {
        let first = schedule.range(rank).start;
        for (op, own) in result.times.iter().enumerate() {
            let entry = &mut times[first + op];
            entry.posted = own.posted.fs();
            entry.started = own.started.fs();
            entry.left = own.left.fs();
            entry.done = own.done.unwrap_or(own.started).fs();
        }
        for message in &result.messages {
            let (send, recv) = (send_of(schedule, ranks, message), message.recv.map(|recv| first + recv as usize));
            (times[send].arrived, times[send].handled) = (message.arrived.fs(), message.begun.fs());
            times[send].partner = recv.map_or(NO_OP, |recv| recv as u32);
            if let Some(recv) = recv {
                (times[recv].started, times[recv].partner) = (message.begun.fs(), send as u32);
            }
        }
    }
    let path = path(schedule, params, ranks, last as u32, paths);
    let end = (hosts.iter().max().map_or(0, |end| end.fs()), Cause::START);
    let record = Record { times, params, model, end, path: Some(path) };
    Ok(Outcome { finish: Time::from_fs(end.0), hosts, messages, record: Some(record) })
}

/// The critical path of a rank: the chain of steps from time 0 to its end.
fn path(schedule: &Schedule, params: Params, ranks: &[RankResult], rank: u32, paths: &Paths) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rank = rank;
    let (mut now, mut why) = ranks[rank as usize].end;
    let reads = Reads::new(schedule, params, ranks);
    loop {
        let result = &ranks[rank as usize];
        let first = schedule.range(rank).start;
        let add = |steps: &mut Vec<Step>, kind, op: usize, at, start: Time, end: Time| {
            if start < end {
                steps.push(Step { kind, op: op as u32, rank: at, start, end });
            }
        };
        (now, why) = match why {
            Why::Start => break,
            Why::End(op) => {
                let (times, place) = (&result.times[op as usize], first + op as usize);
                let this = schedule.ops()[place];
                match (this.kind, times.message) {
                    (Kind::Recv, Some(message)) if result.messages[message as usize].ended == now => {
                        (now, Why::Handled(message))
                    }
                    (Kind::Recv, _) => (times.posted, times.freed),
                    (Kind::Send, _) if this.size > params.S && this.peer != rank => {
                        let keys = reads.of_send(rank, op, this.peer);
                        add_message(&mut steps, place, &keys, paths, (times.left, now));
                        add(&mut steps, StepKind::Send, place, rank, times.started, times.left);
                        (times.started, times.why)
                    }
                    _ => (now, Why::Held(op)),
                }
            }
            Why::Begin(op) => (result.times[op as usize].started, result.times[op as usize].why),
            Why::Held(op) | Why::SendGap(op) => {
                let (times, place) = (&result.times[op as usize], first + op as usize);
                let kind = match (why, schedule.ops()[place].kind) {
                    (Why::SendGap(_), _) => StepKind::Gap,
                    (_, Kind::Calc) => StepKind::Calc,
                    _ => StepKind::Send,
                };
                add(&mut steps, kind, place, rank, times.started, now);
                (times.started, times.why)
            }
            Why::Handled(message) | Why::RecvGap(message) => {
                let is_gap = matches!(why, Why::RecvGap(_));
                let message = &result.messages[message as usize];
                let kind = if is_gap { StepKind::Gap } else { StepKind::Receive };
                add(&mut steps, kind, send_of(schedule, ranks, message), rank, message.begun, now);
                (message.begun, message.why)
            }
            Why::Way(message) => {
                let message = &result.messages[message as usize];
                let send = send_of(schedule, ranks, message);
                match (message.read_at, message.recv) {
                    // The receive came after the announcement and started the read.
                    (Some((at, true)), Some(recv)) => {
                        let [_, get, reply] = reads.of_message(rank, message);
                        add_message(&mut steps, send, &[get, reply], paths, (at, now));
                        (at, Why::Begin(recv))
                    }
                    _ => {
                        let keys = reads.of_message(rank, message);
                        rank = message.from;
                        let times = &ranks[rank as usize].times[send - schedule.range(rank).start];
                        add_message(&mut steps, send, &keys, paths, (times.left, now));
                        add(&mut steps, StepKind::Send, send, rank, times.started, times.left);
                        (times.started, times.why)
                    }
                }
            }
        };
    }
    steps.reverse();
    steps
}

/// The messages of the network that move the message of a send: the message itself or its announcement, and the read with its reply.
type Moves = [Option<MessageKey>; 3];

/// The messages of the network that move the bytes of sends above the eager limit.
struct Reads {
    /// Number of the announcement, by rank and operation of the send.
    announcements: HashMap<(u32, u32), u32>,
    /// Number of the read, by rank and operation of the send.
    reads: HashMap<(u32, u32), u32>,
}

impl Reads {
    fn new(schedule: &Schedule, params: Params, ranks: &[RankResult]) -> Reads {
        let (mut announcements, mut reads) = (HashMap::new(), HashMap::new());
        for (rank, result) in (0..).zip(ranks) {
            let sizes = &schedule.ops()[schedule.range(rank)];
            let is_announced = |op: u32| sizes[op as usize].size > params.S;
            let long = result.numbers.iter().filter(|&(_, &op)| is_announced(op));
            announcements.extend(long.map(|(&number, &op)| ((rank, op), number)));
            let read = result.messages.iter().filter_map(|one| Some(((one.from, one.number), one.read?)));
            reads.extend(read);
        }
        Reads { announcements, reads }
    }

    /// The messages of a send above the eager limit.
    fn of_send(&self, rank: u32, op: u32, peer: u32) -> Moves {
        let (from, to) = (NodeId(rank), NodeId(peer));
        let put = |&number: &u32| MessageKey { from, to, kind: MessageKind::Put, number };
        let read = self.reads.get(&(rank, op));
        let get = |&number: &u32| MessageKey { from: to, to: from, kind: MessageKind::Get, number };
        let reply = |&number: &u32| MessageKey { from, to, kind: MessageKind::Reply, number: number & REPLY_BITS };
        [self.announcements.get(&(rank, op)).map(put), read.map(get), read.map(reply)]
    }

    /// The messages that moved a message to a rank.
    fn of_message(&self, rank: u32, message: &Arrived) -> Moves {
        if message.is_announced {
            return self.of_send(message.from, message.number, rank);
        }
        let (from, to, number) = (NodeId(message.from), NodeId(rank), message.number);
        // A message of a rank to itself takes no time in the network.
        [(from != to).then_some(MessageKey { from, to, kind: MessageKind::Put, number }), None, None]
    }
}

/// Adds the steps of messages on their way, the last one first. Times that belong to no known message are steps of the kind `Network`.
fn add_message(steps: &mut Vec<Step>, op: usize, keys: &[Option<MessageKey>], paths: &Paths, span: (Time, Time)) {
    let op = op as u32;
    let (mut now, end) = span;
    let first = steps.len();
    let sender = keys.iter().flatten().next().map_or(0, |key| key.from.0);
    let mut to = |kind, rank, until: Time| {
        let until = until.min(end);
        if until > now {
            steps.push(Step { kind, op, rank, start: now, end: until });
            now = until;
        }
    };
    for key in keys.iter().flatten() {
        for segment in paths.get(key).into_iter().flatten() {
            to(StepKind::Network, key.from.0, segment.start);
            let (kind, rank) = match segment.part {
                Part::Nic => (StepKind::Nic, key.from.0),
                Part::Link => (StepKind::Link, key.from.0),
                Part::Queue => (StepKind::Queue, key.from.0),
                Part::Receiver => (StepKind::Nic, key.to.0),
            };
            to(kind, rank, segment.end);
        }
    }
    to(StepKind::Network, sender, end);
    steps[first..].reverse();
}
