//! Messages between the hosts of a network: their table, and their paths for the critical path of a schedule.

use super::setup::{Setup, keeps};
use crate::columns::{Columns, TableSpec, columns};
use crate::run::Wanted;
use kernel::Time;
use net::loggops::Paths;
use net::messages::{Message, Messages, Part};
use net::observe::{MessageKind, Row};

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

/// The messages of a run.
pub struct MessageLog {
    messages: Messages,
    /// The rows of the table, if it is wanted.
    table: Option<Columns>,
    /// Messages that were posted from the first of these times on and before the second one have rows.
    within: (Time, Time),
    /// True for nodes whose messages have rows.
    is_kept: Vec<bool>,
    /// The paths of all messages, if the hosts run a schedule.
    paths: Option<Paths>,
}

impl MessageLog {
    /// No messages yet. `None` if nothing of the run uses them.
    pub fn new(setup: &Setup, wanted: &Wanted, keeps_table: bool) -> Option<MessageLog> {
        let has_schedule = setup.ranks.is_some();
        (keeps_table || has_schedule).then(|| MessageLog {
            messages: Messages::default(),
            table: keeps_table.then(|| Columns::new(COLUMNS)),
            within: wanted.keep_time.unwrap_or_default().times(),
            is_kept: setup.nodes.iter().map(|node| keeps(wanted, &node.name)).collect(),
            paths: has_schedule.then(Paths::new),
        })
    }

    /// Adds events, which come in order of time.
    pub fn add(&mut self, rows: &[Row]) {
        self.messages.add(rows);
        for message in self.messages.take() {
            self.keep(&message);
            if let Some(paths) = &mut self.paths {
                paths.insert(message.key, message.segments);
            }
        }
    }

    /// The run has ended: messages that are not done get their rows.
    pub fn close(&mut self) {
        for message in self.messages.rest() {
            self.keep(&message);
        }
    }

    fn keep(&mut self, message: &Message) {
        let is_kept = |node: net::NodeId| self.is_kept.get(node.0 as usize).copied().unwrap_or(false);
        let is_within = message.posted.is_some_and(|at| self.within.0 <= at && at < self.within.1);
        if is_within && (is_kept(message.key.from) || is_kept(message.key.to)) {
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
