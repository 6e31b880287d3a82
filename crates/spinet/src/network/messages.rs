//! Messages between the hosts of a network: their table, and their paths for the critical path of a schedule.

use super::select::Kept;
use super::setup::Setup;
use crate::columns::{Columns, TableSpec, columns};
use crate::goal::Ns;
use crate::run::Wanted;
use crate::summary::LatencySummary;
use kernel::Time;
use net::NodeId;
use net::loggops::Paths;
use net::messages::{Message, Messages, Part};
use net::observe::{MessageKind, Row};
use schemars::JsonSchema;
use serde::Serialize;

/// The table of messages.
pub const MESSAGES: TableSpec = TableSpec { name: "messages", columns: COLUMNS, words };

fn words(column: &str) -> Vec<&'static str> {
    match column {
        "kind" => MessageKind::ALL.map(MessageKind::name).to_vec(),
        _ => Vec::new(),
    }
}

fn ps(time: Option<Time>) -> i64 {
    time.map_or(-1, |time| time.ps() as i64)
}

/// The time in a part of the message's path, in picoseconds; -1 if the message is not done. It is a sum of differences of rounded times, so
/// all parts add up to the rounded total.
fn part_ps(message: &Message, part: Part) -> i64 {
    let of_part = message.segments.iter().filter(|segment| segment.part == part);
    let sum = of_part.map(|segment| (segment.end.ps() - segment.start.ps()) as i64).sum();
    if message.done.is_some() { sum } else { -1 }
}

columns! {
    /// Columns of the table of messages: one row for each message.
    COLUMNS, values(message: &Message):
    "from" U32 "node that sent it" => i64::from(message.key.from.0);
    "to" U32 "node that received it" => i64::from(message.key.to.0);
    "kind" U8 "`put` has bytes for the receiver, `get` asks for bytes, `reply` has the bytes of a `get`" => message.key.kind as i64;
    "number" U32 "number that the sender gave it; of a `reply`, the lower 24 bits of the number of its `get`" => i64::from(message.key.number);
    "tag" U64 "its tag" => message.tag as i64;
    "bytes" U32 "its length" => i64::from(message.len);
    "frames" U64 "frames that were sent for it, repeated ones included" => message.frames as i64;
    "dropped" U64 "frames of these that were dropped" => message.dropped as i64;
    "posted_ps" I64 "when its sender's NIC could have it" => ps(message.posted);
    "first_sent_ps" I64 "when its first frame began on the line" => ps(message.first_sent);
    "first_arrived_ps" I64 "when its first bit arrived" => ps(message.first_arrived);
    "last_arrived_ps" I64 "when the last bit of the frame that arrived last had arrived" => ps(message.last_arrived);
    "done_ps" I64 "when the receiver's host got it; null if the run ended before" => ps(message.done);
    "nic_ps" I64 "time in the sender's NIC, on the path of the frame that arrived last: turn, window, rate, line" => part_ps(message, Part::Nic);
    "link_ps" I64 "time of that frame on links" => part_ps(message, Part::Link);
    "queue_ps" I64 "time of that frame in switches" => part_ps(message, Part::Queue);
    "receiver_ps" I64 "time at the receiver: its NIC or card, and waits for earlier frames and for a matching entry" => part_ps(message, Part::Receiver);
}

/// A summary of the messages between hosts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MessagesSummary {
    /// Messages that a host got.
    pub done: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that no host has got. They are known when the run has ended.
    pub unfinished: u64,
    /// Times from the post of a message until the receiver's host gets it; null without messages.
    pub latency_ns: Option<LatencySummary>,
    /// The messages with the longest of these times, the longest first.
    pub slowest: Vec<SlowMessage>,
}

/// A slow message, with its time in each part of its path. The parts add up to the whole time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlowMessage {
    /// Name of the node that sent it.
    pub from: String,
    /// Name of the node that received it.
    pub to: String,
    /// `put`, `get` or `reply`.
    pub kind: &'static str,
    /// Number that the sender gave it.
    pub number: u32,
    /// Its length.
    pub bytes: u32,
    /// When its sender's NIC could have it.
    pub posted_ns: Ns,
    /// Time until the receiver's host got it.
    pub latency_ns: Ns,
    /// Time in the sender's NIC.
    pub nic_ns: Ns,
    /// Time on links.
    pub link_ns: Ns,
    /// Time in switches.
    pub queue_ns: Ns,
    /// Time at the receiver.
    pub receiver_ns: Ns,
}

/// Number of slow messages in a summary.
const N_SLOWEST: usize = 5;

/// The messages of a run.
pub struct MessageLog {
    messages: Messages,
    /// The rows of the table, if it is wanted.
    table: Option<Columns>,
    /// The paths of all messages, if the hosts run a schedule.
    paths: Option<Paths>,
    /// Times from post to end, in femtoseconds.
    latencies: Vec<u64>,
    bytes: u64,
    unfinished: u64,
    /// The slowest messages, the slowest first.
    slowest: Vec<(Time, Message)>,
}

impl MessageLog {
    /// No messages yet.
    pub fn new(setup: &Setup, wanted: &Wanted) -> MessageLog {
        MessageLog {
            messages: Messages::default(),
            table: wanted.tables.then(|| Columns::new(COLUMNS)),
            paths: setup.ranks.is_some().then(Paths::default),
            latencies: Vec::new(),
            bytes: 0,
            unfinished: 0,
            slowest: Vec::new(),
        }
    }

    /// Adds events, which come in order of time. `kept` has seen them before, and decides which messages have rows.
    pub fn add(&mut self, rows: &[Row], kept: &Kept) {
        self.messages.add(rows);
        for message in self.messages.take() {
            self.keep(&message, kept);
            self.count(&message);
            if let Some(paths) = &mut self.paths {
                paths.insert(message.key, message.segments);
            }
        }
    }

    fn count(&mut self, message: &Message) {
        let (Some(posted), Some(done)) = (message.posted, message.done) else { return };
        let latency = done - posted;
        self.latencies.push(latency.fs());
        self.bytes += u64::from(message.len);
        // Of equally slow messages, the first is kept.
        let at = self.slowest.partition_point(|&(other, _)| other >= latency);
        if at < N_SLOWEST {
            self.slowest.insert(at, (latency, message.clone()));
            self.slowest.truncate(N_SLOWEST);
        }
    }

    /// The messages so far in short. `name` is the name of a node.
    pub fn summary(&self, name: impl Fn(NodeId) -> String) -> MessagesSummary {
        let slow = |(latency, message): &(Time, Message)| SlowMessage {
            from: name(message.key.from),
            to: name(message.key.to),
            kind: message.key.kind.name(),
            number: message.key.number,
            bytes: message.len,
            posted_ns: Ns(message.posted.unwrap_or_default()),
            latency_ns: Ns(*latency),
            nic_ns: Ns(message.time_in(Part::Nic)),
            link_ns: Ns(message.time_in(Part::Link)),
            queue_ns: Ns(message.time_in(Part::Queue)),
            receiver_ns: Ns(message.time_in(Part::Receiver)),
        };
        MessagesSummary {
            done: self.latencies.len() as u64,
            bytes: self.bytes,
            unfinished: self.unfinished,
            latency_ns: LatencySummary::exact(self.latencies.clone()),
            slowest: self.slowest.iter().map(slow).collect(),
        }
    }

    /// The run has ended: messages that are not done get their rows.
    pub fn close(&mut self, kept: &Kept) {
        for message in self.messages.rest() {
            // A frame that was repeated after its message was done belongs to no message that was posted.
            self.unfinished += u64::from(message.posted.is_some());
            self.keep(&message, kept);
        }
    }

    fn keep(&mut self, message: &Message, kept: &Kept) {
        if message.posted.is_some_and(|posted| kept.has_message(message.key, posted)) {
            self.table.iter_mut().for_each(|table| table.push(&values(message)));
        }
    }

    /// Rows since the last call, by column; `None` if the table is not wanted.
    pub fn take(&mut self) -> Option<Vec<(&'static str, Vec<u8>)>> {
        self.table.as_mut().map(Columns::take)
    }

    /// The paths of all messages that are done.
    pub fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }
}
