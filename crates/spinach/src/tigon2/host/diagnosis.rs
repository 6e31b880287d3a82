//! The host's diagnosis of a card that no longer serves it.

use kernel::Time;
use std::fmt;

/// A ring between host and card, as the host sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingState {
    /// Which ring: `send`, `command`, `standard receive`, ...
    pub ring: &'static str,
    /// Index after the last filled entry.
    pub producer: u32,
    /// Index of the next entry to take.
    pub consumer: u32,
    /// When the card last used the ring, or the ring stopped being empty.
    pub since: Time,
}

impl fmt::Display for RingState {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let RingState { ring, producer, consumer, since } = self;
        write!(f, "{ring} ring: producer {producer}, consumer {consumer}, unchanged since {since}")
    }
}

/// Why the host believes that the card no longer serves it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// Time of the diagnosis.
    pub at: Time,
    /// The missing event, as a complete sentence.
    pub text: String,
    /// The ring that the card does not serve, if it is one.
    pub ring: Option<RingState>,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)?;
        self.ring.as_ref().map_or(Ok(()), |ring| write!(f, " ({ring})"))
    }
}

/// Number of texts kept.
const KEPT: usize = 8;

/// Protocol violations of the card, counted by kind; the first few are kept as text.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    counts: [u64; 4],
    kept: Vec<(Time, Fault, String)>,
}

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The card accessed host memory that does not exist.
    StrayDma,
    /// An invalid ring entry or index.
    BadRing,
    /// An access of the host without an answer.
    Bus,
    /// The card reported an error event.
    ErrorEvent,
}

impl Faults {
    /// Names of the kinds, in order.
    pub const NAMES: [&str; 4] = ["stray_dma", "bad_ring_entries", "bus_errors", "error_events"];

    /// Records a fault.
    pub(super) fn note(&mut self, at: Time, fault: Fault, text: impl FnOnce() -> String) {
        self.counts[fault as usize] += 1;
        if self.kept.len() < KEPT {
            self.kept.push((at, fault, text()));
        }
    }

    /// Number of each kind, in the order of [`Faults::NAMES`].
    pub fn counts(&self) -> [u64; 4] {
        self.counts
    }

    /// The first few faults.
    pub fn kept(&self) -> &[(Time, Fault, String)] {
        &self.kept
    }
}
