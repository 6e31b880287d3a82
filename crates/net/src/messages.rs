//! Messages between hosts, from the rows of an observer: their times, and where the time of each message was spent.

use crate::digest::NumberMap;
use crate::frame::FrameId;
use crate::observe::{MessageKey, Row, What};
use kernel::Time;

/// A place where a message spends time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// The sender's NIC: the message waits for its turn, its window or rate, and the line.
    Nic,
    /// A link: a frame is on the line.
    Link,
    /// A switch: its latency, and the wait in its queue.
    Queue,
    /// The receiver: its NIC or card handles the last frame, and the message waits for earlier frames and for its matching entry.
    Receiver,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [Part::Nic, Part::Link, Part::Queue, Part::Receiver];
}

/// A time that a message spends in one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The place.
    pub part: Part,
    /// Its start.
    pub start: Time,
    /// Its end.
    pub end: Time,
}

/// A message. Its times are `None` until they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its identity.
    pub key: MessageKey,
    /// Its tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: u32,
    /// When its sender's NIC may have it.
    pub posted: Option<Time>,
    /// Number of frames that were sent for it, repeated ones included.
    pub frames: u64,
    /// Number of these frames that were dropped.
    pub dropped: u64,
    /// When its first frame began on the sender's line.
    pub first_sent: Option<Time>,
    /// When the first bit arrived at the receiver.
    pub first_arrived: Option<Time>,
    /// When the last bit of its last frame arrived.
    pub last_arrived: Option<Time>,
    /// When the receiver's host got it.
    pub done: Option<Time>,
    /// From `posted` to `done`, without gaps: the path of the frame that arrived last. Empty until the message is done.
    pub segments: Vec<Segment>,
}

impl Message {
    fn new(key: MessageKey) -> Message {
        Message {
            key,
            tag: 0,
            len: 0,
            posted: None,
            frames: 0,
            dropped: 0,
            first_sent: None,
            first_arrived: None,
            last_arrived: None,
            done: None,
            segments: Vec::new(),
        }
    }

    /// The time in a part.
    pub fn time_in(&self, part: Part) -> Time {
        let of_part = self.segments.iter().filter(|segment| segment.part == part);
        of_part.fold(Time::ZERO, |sum, segment| sum + (segment.end - segment.start))
    }
}

/// A crossing of a link: start on the line, first bit and last bit at the other end.
type Crossing = (Time, Time, Time);

/// A frame on its way.
struct Trail {
    message: MessageKey,
    crossings: Vec<Crossing>,
}

struct Open {
    message: Message,
    /// Crossings of the frame that arrived last.
    last: Vec<Crossing>,
}

/// Collects messages from rows.
#[derive(Default)]
pub struct Messages {
    /// Messages that are not done. Only looked up and removed in the order of rows; `rest` sorts them.
    open: NumberMap<MessageKey, Open>,
    frames: NumberMap<FrameId, Trail>,
    done: Vec<Message>,
}

impl Messages {
    /// Adds rows, in order of time.
    pub fn add(&mut self, rows: &[Row]) {
        rows.iter().for_each(|row| self.row(row));
    }

    /// Takes the messages that are done, in the order of their ends.
    pub fn take(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.done)
    }

    /// Takes the messages that are not done, in the order of their identities.
    pub fn rest(&mut self) -> Vec<Message> {
        let mut rest: Vec<Message> = self.open.drain().map(|(_, open)| open.message).collect();
        rest.sort_by_key(|message| message.key);
        rest
    }

    fn open(&mut self, key: MessageKey) -> &mut Open {
        self.open.entry(key).or_insert_with(|| Open { message: Message::new(key), last: Vec::new() })
    }

    fn row(&mut self, row: &Row) {
        match row.what {
            What::Posted { to, kind, tag, posted } => {
                let key = MessageKey { from: row.node, to, kind, number: row.frame.number as u32 };
                let message = &mut self.open(key).message;
                (message.tag, message.len, message.posted) = (tag, row.bytes, Some(posted));
            }
            What::Carries { to, kind, number } => {
                let key = MessageKey { from: row.node, to, kind, number };
                self.frames.insert(row.frame, Trail { message: key, crossings: Vec::new() });
                self.open(key).message.frames += 1;
            }
            What::Crossed { head, tail, .. } => {
                let Some(trail) = self.frames.get_mut(&row.frame) else { return };
                // A second copy of the frame crosses links again, later than the first.
                if trail.crossings.len() == usize::from(row.hops) {
                    trail.crossings.push((row.at, head, tail));
                }
                if let (Some(open), 0) = (self.open.get_mut(&trail.message), row.hops) {
                    open.message.first_sent.get_or_insert(row.at);
                }
            }
            What::Delivered { tail } => {
                let Some(trail) = self.frames.remove(&row.frame) else { return };
                // A frame that comes after its message is done is a repeated one.
                let Some(open) = self.open.get_mut(&trail.message) else { return };
                let head = trail.crossings.last().map_or(row.at, |&(_, head, _)| head);
                let message = &mut open.message;
                message.first_arrived = Some(message.first_arrived.map_or(head, |first| first.min(head)));
                if message.last_arrived.is_none_or(|last| tail >= last) {
                    (message.last_arrived, open.last) = (Some(tail), trail.crossings);
                }
            }
            What::Dropped { .. } => {
                let Some(trail) = self.frames.remove(&row.frame) else { return };
                if let Some(open) = self.open.get_mut(&trail.message) {
                    open.message.dropped += 1;
                }
            }
            What::Received { kind, done } => {
                let key = MessageKey { from: row.frame.node, to: row.node, kind, number: row.frame.number as u32 };
                let Some(Open { mut message, last }) = self.open.remove(&key) else { return };
                let posted = message.posted.unwrap_or(done);
                (message.done, message.segments) = (Some(done), segments(posted, done, &last));
                self.done.push(message);
            }
            What::Entered | What::Copied { .. } | What::Marked | What::Depth { .. } | What::Paused { .. } => {}
        }
    }
}

/// The path from `posted` to `done` of a frame with these crossings. Times outside of this range are cut off.
fn segments(posted: Time, done: Time, crossings: &[Crossing]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut now = posted;
    let mut to = |part, end: Time| {
        let end = end.min(done);
        if end > now {
            segments.push(Segment { part, start: now, end });
            now = end;
        }
    };
    let mut part = Part::Nic;
    for (number, &(start, head, tail)) in crossings.iter().enumerate() {
        to(part, start);
        // The next node can begin to send the frame before it has all of the frame (cut-through).
        let is_cut_through = crossings.get(number + 1).is_some_and(|&(next, ..)| next < tail);
        to(Part::Link, if is_cut_through { head } else { tail });
        part = Part::Queue;
    }
    to(Part::Receiver, done);
    segments
}
