//! The memory protocol between requesters and responders. docs/concepts/protocols.md shows an exchange.
//!
//! A [`Requester`] sends [`Reference`]s and gets one [`Reply`] for each from a [`Responder`]. Every module obeys
//! these rules, and the contract test (`testkit::check_memory_contract`) checks them:
//!
//! - A responder answers every reference exactly once, including writes, in the order of arrival at the port.
//! - A reference covers consecutive bytes. The responder limits their number; a longer one gets [`BusError::Length`].
//! - A read is answered when its last byte is available; a write when a later read would see it.
//! - A reply says how long its reference waited for others. This value is only counted; it has no effect on timing.
//! - A reference that cannot be accepted waits in its channel. A full channel is the negative acknowledge of
//!   Spinach's modules.
//!
//! The responder sees a reference sent at edge *k* at edge *k + 1*, and the requester sees an answer sent at that
//! edge at *k + 2*: the memory stage of a five-stage pipeline with a one-cycle memory.

mod stream;
mod word_lane;

use kernel::{Cycle, Ports, Rx, Time, Tx};
use smallvec::SmallVec;
pub use stream::{Planned, Stream, StreamReply};
pub use word_lane::{MOST_WORDS, WordAccess, WordAnswer, WordLane, WordOp, word_and_token};

/// Data bytes in address order; up to 16 are stored without an allocation.
pub type Data = SmallVec<[u8; 16]>;

/// A memory access request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Chosen by the requester; the reply carries the same value.
    pub id: u32,
    /// Byte address.
    pub addr: u64,
    /// The operation.
    pub access: Access,
}

/// The operation at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads this many bytes.
    Read(u32),
    /// Writes these bytes.
    Write(Data),
    /// Load linked or store conditional.
    Linked(Link),
}

/// Load linked or store conditional on an aligned word. The memory keeps the links, so they also hold between
/// requesters: any write to one of the word's bytes breaks all links to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Reads the word (big-endian), followed by a token of four bytes that identifies the link.
    Load,
    /// Writes the word if the link of this token still holds. Returns one byte: 1 if the word was written, 0 if not.
    Store {
        /// The value to write.
        word: u32,
        /// The token of the link.
        token: u32,
    },
}

impl Link {
    /// Bytes of a linked word.
    pub const BYTES: u32 = 4;
}

impl Access {
    /// Bytes that the access transfers.
    pub fn len(&self) -> u32 {
        match self {
            Access::Read(bytes) => *bytes,
            Access::Write(data) => data.len() as u32,
            Access::Linked(_) => Link::BYTES,
        }
    }

    /// Returns true if the access may change memory.
    pub fn is_write(&self) -> bool {
        matches!(self, Access::Write(_) | Access::Linked(Link::Store { .. }))
    }

    /// Returns true if the access transfers no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The answer to a [`Reference`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The reference's `id`.
    pub id: u32,
    /// The bytes read (none for a write), or the error.
    pub result: Result<Data, BusError>,
    /// Time spent waiting for other requesters; every arbiter on the way adds its share.
    pub waited: Time,
}

impl Reply {
    /// A reply to a reference that did not wait.
    pub fn new(id: u32, result: Result<Data, BusError>) -> Reply {
        Reply { id, result, waited: Time::ZERO }
    }

    /// Adds to the waiting time.
    pub fn having_waited(mut self, more: Time) -> Reply {
        self.waited = self.waited + more;
        self
    }
}

/// Why a reference failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BusError {
    /// No module answers at this address.
    #[error("nothing answers at 0x{0:x}")]
    Nowhere(u64),
    /// The responder does not support this length or alignment.
    #[error("a reference to {1} bytes at 0x{0:x} is not possible")]
    Length(u64, u32),
    /// The responder supports no links, or none at this address.
    #[error("no word can be linked at 0x{0:x}")]
    NoLink(u64),
}

/// The requesting end of a memory connection.
pub struct Requester {
    /// Outgoing references.
    pub references: Tx<Reference>,
    /// Incoming replies.
    pub replies: Rx<Reply>,
}

/// The answering end of a memory connection.
pub struct Responder {
    /// Incoming references.
    pub references: Rx<Reference>,
    /// Outgoing replies.
    pub replies: Tx<Reply>,
}

impl Requester {
    /// Registers both channels with the kernel as parts of port `name`.
    pub fn port(&self, name: &str, ports: &mut Ports) {
        ports.output(&format!("{name}.references"), &self.references);
        ports.input(&format!("{name}.replies"), &self.replies);
    }
}

impl Responder {
    /// The time from cycle `since` to cycle `until` of the responder's clock.
    pub fn span(&self, since: Cycle, until: Cycle) -> Time {
        if since >= until {
            return Time::ZERO;
        }
        let clock = self.references.clock();
        clock.edge(until) - clock.edge(since)
    }

    /// Registers both channels with the kernel as parts of port `name`.
    pub fn port(&self, name: &str, ports: &mut Ports) {
        ports.input(&format!("{name}.references"), &self.references);
        ports.output(&format!("{name}.replies"), &self.replies);
    }
}

/// The big-endian word in `data`, right-aligned if it has fewer than four bytes.
#[inline]
pub fn word(data: &[u8]) -> u32 {
    if let Ok(word) = data.try_into() {
        return u32::from_be_bytes(word);
    }
    data.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}
