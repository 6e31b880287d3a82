//! Host programs: one interface for all cards.
//!
//! A host program is a [`Program`]: the node calls [`Program::start`] at time 0 and [`Program::event`] for each [`Event`]. In both calls the
//! program may act through its [`Host`]: post messages ([`Host::put`], [`Host::get`]), append matching entries ([`Host::append`]), send
//! frames of its own ([`Host::send`]), compute ([`Host::compute`]), set timers ([`Host::wait`]), read and write host memory ([`Host::read`],
//! [`Host::write`]). Calls take no simulated time by themselves; time passes between events.
//!
//! To implement one:
//!
//! 1. Keep the program's state in a type, and implement [`Program`] for it. The type need not be `Send`: a program lives on its node's
//!    thread.
//! 2. Act in `start`, then on events. Each event identifies its cause: [`Event::Sent`] and [`Event::Reply`] by the [`MessageId`] that `put`
//!    or `get` returned, [`Event::Received`] by the [`EntryId`], [`Event::Timer`] by the token.
//! 3. Describe in [`Program::waits_for`] what the program still waits for. If hosts wait but no event is left, the run has stalled.
//! 4. Call [`Host::fail`] if the program cannot continue; the run then ends with this error and the name of the node.
//! 5. Give the network a [`BuildProgram`], which makes the program on the node's thread: [`crate::plain::PlainNic::new`] takes the program
//!    itself, and the facade's `Wanted::hosts` takes a builder for each node.
//!
//! **Processors.** `put`, `get` and messages that arrive take processor time ([`Costs`], as in LogGOPS). The program gets the event of an
//! arrived message when the processor is done with the message. [`Host::take_cpu`] and [`Host::post`] are for programs that charge
//! processors themselves.
//!
//! **Cards.** On a plain NIC, messages leave and arrive through the NIC. On a card that runs handlers, messages and the frames of `send`
//! bypass the handlers when they leave, and share the line with the card's own packets. Packets that arrive go to the card first: the host
//! gets the packets that no context takes, and those that handlers copy to host memory as a whole. [`Host::watch`] reports other writes of
//! handlers to host memory, and [`Event::Card`] reports the events of the card's driver.
//!
//! ```
//! use kernel::Time;
//! use net::host::{Entry, Event, Host, Payload, Program};
//! use net::NodeId;
//!
//! /// Sends a message back and forth, 100 times.
//! struct PingPong {
//!     peer: NodeId,
//!     left: u32,
//! }
//!
//! impl Program for PingPong {
//!     fn start(&mut self, host: &mut Host) {
//!         host.append(Entry::ALL);
//!         if host.node() < self.peer {
//!             host.put(self.peer, 0, Payload::Zeros(64));
//!         }
//!     }
//!
//!     fn event(&mut self, event: Event, host: &mut Host) {
//!         let Event::Received(_) = event else { return };
//!         self.left -= 1;
//!         if self.left > 0 || host.node() > self.peer {
//!             host.put(self.peer, 0, Payload::Zeros(64));
//!         }
//!     }
//!
//!     fn waits_for(&self) -> Option<String> {
//!         (self.left > 0).then(|| format!("{} messages of node {}", self.left, self.peer.0))
//!     }
//! }
//! ```

mod costs;
mod memory;

pub use crate::plain::matching::{Entry, EntryId, Region};
pub use costs::Costs;
pub use memory::Pages;

use crate::NodeId;
use crate::node::{NodeFailure, Place};
use kernel::Time;
use std::any::Any;
use std::fmt;
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

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The entry that it matched.
    pub entry: EntryId,
    /// Its sender.
    pub from: NodeId,
    /// Its number at the sender, which `put` returned there.
    pub number: u32,
    /// Its tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: u32,
    /// Arrival of its first bit.
    pub first: Time,
    /// Time at which the whole message has arrived.
    pub last: Time,
    /// Its bytes; `None` if all of them are 0, or if the entry has memory, into which they were written.
    pub bytes: Option<Vec<u8>>,
}

/// The answer to a `get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number that [`Host::get`] returned.
    pub id: MessageId,
    /// The peer whose memory was read.
    pub from: NodeId,
    /// Tag of the `get`.
    pub tag: u64,
    /// Length in bytes.
    pub len: u32,
    /// Arrival of the first bit of the answer.
    pub first: Time,
    /// Time at which the whole answer has arrived.
    pub last: Time,
    /// The bytes; `None` if all of them are 0.
    pub bytes: Option<Vec<u8>>,
}

/// A peer has read memory of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The entry that the read matched.
    pub entry: EntryId,
    /// The peer.
    pub to: NodeId,
    /// Tag of the read.
    pub tag: u64,
    /// Number of bytes.
    pub len: u32,
}

/// An event of the card's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardEvent {
    /// Position of the context in the node's experiment.
    pub context: u32,
    /// Name, such as `message_done`.
    pub name: &'static str,
    /// Values by name.
    pub values: Vec<(&'static str, u64)>,
}

/// An event of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message of `put` is complete: its last bit has left if the transport is lossless, else its last acknowledgment has arrived.
    Sent(MessageId),
    /// A message has arrived and matched an entry.
    Received(Received),
    /// The bytes of a `get` have arrived.
    Reply(Reply),
    /// The answer to a peer's `get` is complete, as in [`Event::Sent`].
    Served(Served),
    /// A timer or a computation ended.
    Timer(u64),
    /// A frame that belongs to no message, if the program has called [`Host::take_frames`].
    Frame(Arc<[u8]>),
    /// The card wrote host memory that the program watches.
    Written {
        /// First byte.
        addr: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// An event of the card's driver.
    Card(CardEvent),
}

/// Host memory that a context of the card may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardMemory {
    /// Name of the context.
    pub context: String,
    /// Address of the first byte, as handlers see it.
    pub addr: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// An action of a host.
pub(crate) enum Action {
    Put { at: Time, id: MessageId, to: NodeId, tag: u64, payload: Payload },
    Get { at: Time, id: MessageId, to: NodeId, tag: u64, len: u32 },
    Frame { bytes: Arc<[u8]> },
    Append { id: EntryId, entry: Entry },
    Remove { id: EntryId },
    Wait { until: Time, token: u64 },
    Fail(NodeFailure),
}

/// The time from which each processor is free, by number of the processor.
#[derive(Clone, Debug, Default)]
struct Slots(Vec<Time>);

impl Slots {
    fn free(&self, number: u8) -> Time {
        self.0.get(usize::from(number)).copied().unwrap_or(Time::ZERO)
    }

    fn set(&mut self, number: u8, free: Time) {
        let number = usize::from(number);
        if self.0.len() <= number {
            self.0.resize(number + 1, Time::ZERO);
        }
        self.0[number] = free;
    }
}

/// The host, as its program sees it while handling an event.
pub struct Host {
    pub(crate) now: Time,
    pub(crate) node: NodeId,
    n_nodes: u32,
    costs: Costs,
    cpus: Slots,
    /// End of the gap after the last message: sent, received.
    gaps: [Time; 2],
    next_message: u32,
    next_entry: u64,
    pub(crate) actions: Vec<Action>,
    pub(crate) memory: Pages,
    /// The host's writes that the card has not got yet.
    pub(crate) written: Vec<(u64, Box<[u8]>)>,
    pub(crate) shares_memory: bool,
    watched: Vec<(u64, u64)>,
    pub(crate) takes_frames: bool,
    card_memory: Vec<CardMemory>,
}

impl Host {
    pub(crate) fn new(place: &Place, costs: Costs) -> Self {
        Host {
            now: Time::ZERO,
            node: place.node,
            n_nodes: place.directory.n_nodes(),
            costs,
            cpus: Slots::default(),
            gaps: [Time::ZERO; 2],
            next_message: 0,
            next_entry: 0,
            actions: Vec::new(),
            memory: Pages::default(),
            written: Vec::new(),
            shares_memory: false,
            watched: Vec::new(),
            takes_frames: false,
            card_memory: Vec::new(),
        }
    }

    pub(crate) fn set_card_memory(&mut self, memory: Vec<CardMemory>) {
        (self.card_memory, self.shares_memory) = (memory, true);
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of this node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Number of nodes with addresses; switches have none.
    pub fn n_nodes(&self) -> u32 {
        self.n_nodes
    }

    /// Sends a message and charges its costs to processor 0. Messages to one peer arrive in the order of the calls.
    pub fn put(&mut self, to: NodeId, tag: u64, payload: Payload) -> MessageId {
        let at = self.charge_send(payload.len());
        self.post(at, to, tag, payload)
    }

    /// Gives the NIC a message at time `at` without costs, for programs that charge processors themselves. A time in the past counts as
    /// now.
    pub fn post(&mut self, at: Time, to: NodeId, tag: u64, payload: Payload) -> MessageId {
        let (id, at) = (self.message_id(), at.max(self.now));
        self.actions.push(Action::Put { at, id, to, tag, payload });
        id
    }

    /// Reads the first `len` bytes of the memory of a peer's entry, at the cost of sending an empty message. The read uses the first entry
    /// that fits the tag, and waits until there is one. Bytes outside of the entry's memory read as zeros.
    pub fn get(&mut self, to: NodeId, tag: u64, len: u32) -> MessageId {
        let at = self.charge_send(0);
        self.post_get(at, to, tag, len)
    }

    /// Gives the NIC a `get` at time `at` without costs.
    pub fn post_get(&mut self, at: Time, to: NodeId, tag: u64, len: u32) -> MessageId {
        let (id, at) = (self.message_id(), at.max(self.now));
        self.actions.push(Action::Get { at, id, to, tag, len });
        id
    }

    pub(crate) fn message_id(&mut self) -> MessageId {
        let id = MessageId(self.next_message);
        self.next_message = self.next_message.wrapping_add(1);
        id
    }

    /// Sends a frame unchanged, without matching and without costs. `frame` has no FCS; its addresses decide where it goes.
    pub fn send(&mut self, frame: impl Into<Arc<[u8]>>) {
        self.actions.push(Action::Frame { bytes: frame.into() });
    }

    /// From now on, frames that belong to no message become [`Event::Frame`]s. Without this call they are dropped as unwanted.
    pub fn take_frames(&mut self) {
        self.takes_frames = true;
    }

    /// Appends an entry to the matching list.
    pub fn append(&mut self, entry: Entry) -> EntryId {
        let id = EntryId(self.next_entry);
        self.next_entry += 1;
        self.actions.push(Action::Append { id, entry });
        id
    }

    /// Removes an entry from the matching list, if it is still there.
    pub fn remove(&mut self, id: EntryId) {
        self.actions.push(Action::Remove { id });
    }

    /// Asks for [`Event::Timer`] with this token after `span`.
    pub fn wait(&mut self, span: Time, token: u64) {
        let until = self.now.checked_add(span).unwrap_or(Time::MAX);
        self.wait_until(until, token);
    }

    /// Asks for [`Event::Timer`] with this token at `until`; a time in the past counts as now.
    pub fn wait_until(&mut self, until: Time, token: u64) {
        let until = until.max(self.now);
        self.actions.push(Action::Wait { until, token });
    }

    /// Computes for `span` on a processor as soon as the processor is free. [`Event::Timer`] with this token marks the end.
    pub fn compute(&mut self, cpu: u8, span: Time, token: u64) {
        let (_, end) = self.take_cpu(cpu, span);
        self.actions.push(Action::Wait { until: end, token });
    }

    /// Takes a processor for `span` as soon as the processor is free. Returns begin and end.
    pub fn take_cpu(&mut self, cpu: u8, span: Time) -> (Time, Time) {
        let begin = self.cpus.free(cpu).max(self.now);
        let end = begin.checked_add(span).unwrap_or(Time::MAX);
        self.cpus.set(cpu, end);
        (begin, end)
    }

    /// The earliest time, from now on, at which a processor is free.
    pub fn cpu_free(&self, cpu: u8) -> Time {
        self.cpus.free(cpu).max(self.now)
    }

    /// Reads host memory. Unwritten bytes are 0.
    pub fn read(&self, addr: u64, data: &mut [u8]) {
        self.memory.read(addr, data);
    }

    /// Writes host memory. A card that reads it sees the bytes after the host's latency to the card.
    pub fn write(&mut self, addr: u64, data: &[u8]) {
        self.memory.write(addr, data);
        if self.shares_memory {
            self.written.push((addr, data.into()));
        }
    }

    /// Asks for [`Event::Written`] whenever the card writes bytes of this range.
    pub fn watch(&mut self, addr: u64, bytes: u64) {
        self.watched.push((addr, bytes));
    }

    /// Host memory that the contexts of the card may reach. Empty on cards without contexts.
    pub fn card_memory(&self) -> &[CardMemory] {
        &self.card_memory
    }

    /// Ends the run with an error.
    pub fn fail(&mut self, failure: impl Into<NodeFailure>) {
        self.actions.push(Action::Fail(failure.into()));
    }

    /// Charges a message that leaves. Returns the time at which the NIC gets it.
    fn charge_send(&mut self, len: u32) -> Time {
        if self.costs.are_zero() {
            return self.now.max(self.cpus.free(0));
        }
        let begin = self.now.max(self.cpus.free(0)).max(self.gaps[0]);
        let more = u64::from(len.saturating_sub(1));
        self.cpus.set(0, self.costs.end(begin, self.costs.o(), self.costs.per_byte().1, more));
        self.gaps[0] = self.costs.end(begin, self.costs.g(), self.costs.per_byte().0, more);
        begin.checked_add(self.costs.o()).unwrap_or(Time::MAX)
    }

    /// Charges a message that has arrived. Returns the time at which the program gets its event.
    pub(crate) fn charge_receive(&mut self, now: Time, cpu: u8, len: u32) -> Time {
        let begin = now.max(self.cpus.free(cpu));
        if self.costs.are_zero() {
            return begin;
        }
        let begin = begin.max(self.gaps[1]);
        let more = u64::from(len.saturating_sub(1));
        let (card, processor) = self.costs.per_byte();
        let end = self.costs.end(begin, self.costs.o(), card.max(processor), more);
        self.cpus.set(cpu, end);
        self.gaps[1] = self.costs.end(begin, self.costs.g(), card, more);
        end
    }

    /// Returns true if the program watches bytes of this range.
    pub(crate) fn is_watched(&self, addr: u64, bytes: u64) -> bool {
        let meets = |&(first, len): &(u64, u64)| addr.wrapping_sub(first) < len || first.wrapping_sub(addr) < bytes;
        self.watched.iter().any(meets)
    }
}

/// A program of a host. [The module](self) says how to implement one.
pub trait Program: Any {
    /// Called at time 0.
    fn start(&mut self, host: &mut Host);

    /// Called for each event.
    fn event(&mut self, event: Event, host: &mut Host);

    /// Describes what the program still waits for; `None` if it is done. An error about a stalled run contains the text.
    fn waits_for(&self) -> Option<String> {
        None
    }

    /// Returns true if [`Program::waits_for`] would return a text. The run calls this often.
    fn is_waiting(&self) -> bool {
        self.waits_for().is_some()
    }
}

/// The program of a host that has none of its own: it takes all messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sink;

impl Program for Sink {
    fn start(&mut self, host: &mut Host) {
        host.append(Entry::ALL);
    }

    fn event(&mut self, _: Event, _: &mut Host) {}
}

/// Makes programs, each on the thread of its node. One builder can serve several nodes.
#[derive(Clone)]
pub struct BuildProgram(Arc<Make>);

type Make = dyn Fn(&Place) -> Result<Box<dyn Program>, NodeFailure> + Send + Sync;

impl BuildProgram {
    /// A builder that calls `make` with the place of each node.
    pub fn new(make: impl Fn(&Place) -> Result<Box<dyn Program>, NodeFailure> + Send + Sync + 'static) -> Self {
        BuildProgram(Arc::new(make))
    }

    /// Makes the program of a node.
    pub fn build(&self, place: &Place) -> Result<Box<dyn Program>, NodeFailure> {
        (self.0)(place)
    }
}

impl fmt::Debug for BuildProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BuildProgram")
    }
}
