//! What the host can say of a card that has ceased to serve it.

use kernel::Time;
use std::fmt;

/// A ring between host and card, as the host sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingState {
    /// Which ring: `send`, `command`, `standard receive`, ...
    pub ring: &'static str,
    /// Position behind the last entry that was filled.
    pub producer: u32,
    /// Position of the next entry that is to be taken.
    pub consumer: u32,
    /// When the card last did something with it, or it ceased to be empty.
    pub since: Time,
}

impl fmt::Display for RingState {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let RingState { ring, producer, consumer, since } = self;
        write!(f, "{ring} ring: producer {producer}, consumer {consumer}, unchanged since {since}")
    }
}

/// Why the host believes that the card does not serve it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// When it came to believe it.
    pub at: Time,
    /// What did not happen, in a sentence that can stand alone.
    pub text: String,
    /// The ring that is left alone, if it is one.
    pub ring: Option<RingState>,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)?;
        self.ring.as_ref().map_or(Ok(()), |ring| write!(f, " ({ring})"))
    }
}

/// Texts that are kept in full.
const KEPT: usize = 8;

/// What a card did that no card should do, counted by kind; the first few are kept in full.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    counts: [u64; 4],
    kept: Vec<(Time, Fault, String)>,
}

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The card referred to host memory that is not there.
    StrayDma,
    /// An entry of a ring, or an index, that makes no sense.
    BadRing,
    /// Nothing answered an access of the host.
    Bus,
    /// The card reported an error event.
    ErrorEvent,
}

impl Faults {
    /// Names of the kinds, in their order.
    pub const NAMES: [&str; 4] = ["stray_dma", "bad_ring_entries", "bus_errors", "error_events"];

    /// Notes one.
    pub(super) fn note(&mut self, at: Time, fault: Fault, text: impl FnOnce() -> String) {
        self.counts[fault as usize] += 1;
        if self.kept.len() < KEPT {
            self.kept.push((at, fault, text()));
        }
    }

    /// How many of each kind, in the order of [`Faults::NAMES`].
    pub fn counts(&self) -> [u64; 4] {
        self.counts
    }

    /// The first few.
    pub fn kept(&self) -> &[(Time, Fault, String)] {
        &self.kept
    }
}
