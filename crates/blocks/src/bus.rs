//! The protocol between those who refer to memory and those who hold it; docs/concepts/protocols.md shows an exchange.
//!
//! A [`Requester`] sends [`Reference`]s and gets one [`Reply`] for each; a [`Responder`] is the other side. Rules, which
//! every party keeps and the contract test (`testkit::check_memory_contract`) holds it to:
//!
//! - A responder answers every reference exactly once, writes too, in the order in which the port gave them to it.
//! - A reference is to consecutive bytes. How many at most is the responder's to say; more is a [`BusError::Length`].
//! - A reply is sent when its last byte is there; a write is answered when a later read would see it.
//! - A reply says how long others were in the way of its reference. That changes nothing but what is counted.
//! - What cannot be taken waits in its channel: a full channel is the negative acknowledge of Spinach's modules.
//!
//! A reference sent at edge *k* is seen by its responder at *k + 1*, and an answer of that edge by the requester at *k + 2*:
//! the memory stage of a five-stage pipeline in front of a memory of one cycle.

use kernel::{Cycle, Ports, Rx, Time, Tx};
use smallvec::SmallVec;

/// Bytes on a bus, in the order of their addresses; up to 16 of them without an allocation.
pub type Data = SmallVec<[u8; 16]>;

/// What is asked of a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The requester's own name for it, which the reply carries.
    pub id: u32,
    /// Byte address.
    pub addr: u64,
    /// What is to happen there.
    pub access: Access,
}

/// What is to happen at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Give me this many bytes.
    Read(u32),
    /// Keep these bytes.
    Write(Data),
    /// Half of a read and a write that nobody comes between.
    Linked(Link),
}

/// A word that is read to be written unless somebody else writes it first. It is aligned, and links are kept by the memory
/// that has it, so that they hold between requesters: any write to one of its bytes breaks all links to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Give me the word, big-endian, and behind it a token of four bytes that stands for the link.
    Load,
    /// Keep this word if the link of this token holds, and say by a byte whether that was so, 1 or 0.
    Store {
        /// What is to be kept.
        word: u32,
        /// Which link.
        token: u32,
    },
}

impl Link {
    /// Bytes of a word.
    pub const BYTES: u32 = 4;
}

impl Access {
    /// Bytes that move.
    pub fn len(&self) -> u32 {
        match self {
            Access::Read(bytes) => *bytes,
            Access::Write(data) => data.len() as u32,
            Access::Linked(_) => Link::BYTES,
        }
    }

    /// Whether memory may change by it.
    pub fn is_write(&self) -> bool {
        matches!(self, Access::Write(_) | Access::Linked(Link::Store { .. }))
    }

    /// Whether no byte moves.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The answer to a [`Reference`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The reference's `id`.
    pub id: u32,
    /// What was read (nothing for a write), or why it could not be done.
    pub result: Result<Data, BusError>,
    /// How long others were in its way: each that arbitrates adds what it let the reference wait.
    pub waited: Time,
}

impl Reply {
    /// The answer to a reference that waited for nobody.
    pub fn new(id: u32, result: Result<Data, BusError>) -> Reply {
        Reply { id, result, waited: Time::ZERO }
    }

    /// The same, having waited for so long more.
    pub fn having_waited(mut self, more: Time) -> Reply {
        self.waited = self.waited + more;
        self
    }
}

/// Why a reference could not be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BusError {
    /// Nothing answers at the address.
    #[error("nothing answers at 0x{0:x}")]
    Nowhere(u64),
    /// The responder does not take references of this length or alignment.
    #[error("a reference to {1} bytes at 0x{0:x} is not possible")]
    Length(u64, u32),
    /// The responder keeps no links, or not to this address.
    #[error("no word can be linked at 0x{0:x}")]
    NoLink(u64),
}

/// The end of a memory connection that refers.
pub struct Requester {
    /// What is asked.
    pub references: Tx<Reference>,
    /// The answers.
    pub replies: Rx<Reply>,
}

/// The end of a memory connection that answers.
pub struct Responder {
    /// What is asked.
    pub references: Rx<Reference>,
    /// The answers.
    pub replies: Tx<Reply>,
}

impl Requester {
    /// Names both channels to the kernel as parts of port `name`.
    pub fn port(&self, name: &str, ports: &mut Ports) {
        ports.output(&format!("{name}.references"), &self.references);
        ports.input(&format!("{name}.replies"), &self.replies);
    }
}

impl Responder {
    /// How long the responder's cycles from `since` to `until` are.
    pub fn span(&self, since: Cycle, until: Cycle) -> Time {
        if since >= until {
            return Time::ZERO;
        }
        let clock = self.references.clock();
        clock.edge(until) - clock.edge(since)
    }

    /// Names both channels to the kernel as parts of port `name`.
    pub fn port(&self, name: &str, ports: &mut Ports) {
        ports.input(&format!("{name}.references"), &self.references);
        ports.output(&format!("{name}.replies"), &self.replies);
    }
}

/// The big-endian word in `data`, right-aligned if it has fewer than four bytes.
pub fn word(data: &[u8]) -> u32 {
    data.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}
