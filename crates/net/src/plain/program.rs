//! Programs of hosts: events of the NIC and the host's timers come in, actions go out.

use super::matching::{Entry, EntryId};
use crate::NodeId;
use kernel::Time;
use std::any::Any;
use std::sync::Arc;

/// Number of a message that a host posted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(pub u32);

/// Content of a message.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Zeros, of this length. Receivers get no bytes.
    Zeros(u32),
    /// Bytes.
    Bytes(Arc<[u8]>),
}

impl Payload {
    /// Length in bytes.
    pub fn len(&self) -> u32 {
        match self {
            Payload::Zeros(len) => *len,
            Payload::Bytes(bytes) => bytes.len() as u32,
        }
    }

    /// Returns true for a message without bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The entry that it matched.
    pub entry: EntryId,
    /// Its sender.
    pub from: NodeId,
    /// Its tag.
    pub tag: u64,
    /// Its length.
    pub len: u32,
    /// Arrival of its first bit.
    pub first: Time,
    /// Arrival of its last bit, with all others before it.
    pub last: Time,
    /// Its bytes; `None` if all of them are 0.
    pub bytes: Option<Vec<u8>>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has left: its last bit on a lossless network, its last acknowledgment on another one.
    Sent(MessageId),
    /// A message has arrived and matched an entry.
    Received(Received),
    /// A timer ended.
    Timer(u64),
}

/// An action of a host.
pub(super) enum Action {
    Put { id: MessageId, to: NodeId, tag: u64, payload: Payload },
    Append { id: EntryId, entry: Entry },
    Wait { until: Time, token: u64 },
}

/// The actions of a program, while it handles an event.
pub struct Host {
    pub(super) now: Time,
    pub(super) node: NodeId,
    pub(super) next_message: u32,
    pub(super) next_entry: u64,
    pub(super) actions: Vec<Action>,
}

impl Host {
    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The own number.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Sends a message.
    pub fn put(&mut self, to: NodeId, tag: u64, payload: Payload) -> MessageId {
        let id = MessageId(self.next_message);
        self.next_message = self.next_message.wrapping_add(1);
        self.actions.push(Action::Put { id, to, tag, payload });
        id
    }

    /// Appends an entry to the matching list.
    pub fn append(&mut self, entry: Entry) -> EntryId {
        let id = EntryId(self.next_entry);
        self.next_entry += 1;
        self.actions.push(Action::Append { id, entry });
        id
    }

    /// Asks for [`Event::Timer`] with this token after `span`, for example the end of a computation.
    pub fn wait(&mut self, span: Time, token: u64) {
        let until = self.now.checked_add(span).unwrap_or(Time::MAX);
        self.actions.push(Action::Wait { until, token });
    }
}

/// A program of a host.
pub trait Program: Any {
    /// Time 0.
    fn start(&mut self, host: &mut Host);

    /// An event.
    fn event(&mut self, event: Event, host: &mut Host);
}
