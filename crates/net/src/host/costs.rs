//! Costs of messages on a host, as in LogGOPS.

use crate::span::Span;
use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Costs of messages on a host, as in LogGOPS. A message of s bytes that leaves takes its processor for o + (s-1) O, and the next one begins
/// g + (s-1) G later at the earliest; the NIC has it after o. A message that arrives takes the processor for o + (s-1) max(O, G), and the
/// same gap. Latency and rate of the network come from links and NICs, so `G` is for hosts that are slower than their link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(non_snake_case, reason = "the names of the model")]
pub struct Costs {
    /// Overhead of a message; none if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub o: Option<Span>,
    /// Gap between the begins of two messages; none if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<Span>,
    /// Gap for each byte but the first; none if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub G: Option<Span>,
    /// Overhead for each byte but the first; none if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub O: Option<Span>,
}

impl Costs {
    pub(super) fn are_zero(&self) -> bool {
        *self == Costs::default()
    }

    pub(super) fn o(&self) -> Time {
        self.o.map_or(Time::ZERO, Span::time)
    }

    pub(super) fn g(&self) -> Time {
        self.g.map_or(Time::ZERO, Span::time)
    }

    /// Time for each byte: the card, and the processor.
    pub(super) fn per_byte(&self) -> (Time, Time) {
        (self.G.map_or(Time::ZERO, Span::time), self.O.map_or(Time::ZERO, Span::time))
    }

    /// The end of a part of a message with `more` bytes besides the first.
    pub(super) fn end(&self, begin: Time, base: Time, per_byte: Time, more: u64) -> Time {
        let span = per_byte.fs().checked_mul(more).and_then(|bytes| bytes.checked_add(base.fs()));
        span.and_then(|span| begin.checked_add(Time::from_fs(span))).unwrap_or(Time::MAX)
    }
}
