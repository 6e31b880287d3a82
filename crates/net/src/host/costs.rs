//! Costs of messages on a host, as in LogGOPS.

use crate::span::Span;
use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Costs of messages on a host, as in LogGOPS. Sending a message of s bytes occupies the processor for o + (s-1) O. The NIC gets the
/// message after o, and the next send begins at least g + (s-1) G after this one. Receiving a message occupies the processor for o + (s-1)
/// max(O, G), with the same gap. Links and NICs determine latency and rate of the network, so `G` is for hosts that are slower than their
/// link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(non_snake_case, reason = "the names of the model")]
pub struct Costs {
    /// Overhead of a message; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub o: Option<Span>,
    /// Gap between the starts of two messages; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<Span>,
    /// Gap for each byte but the first; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub G: Option<Span>,
    /// Overhead for each byte but the first; 0 by default.
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

    /// Time for each byte, on the card and on the processor.
    pub(super) fn per_byte(&self) -> (Time, Time) {
        (self.G.map_or(Time::ZERO, Span::time), self.O.map_or(Time::ZERO, Span::time))
    }

    /// `begin` + `base` + `more` * `per_byte`: the end of a cost of a message that has `more` bytes besides the first.
    pub(super) fn end(&self, begin: Time, base: Time, per_byte: Time, more: u64) -> Time {
        let span = per_byte.fs().checked_mul(more).and_then(|bytes| bytes.checked_add(base.fs()));
        span.and_then(|span| begin.checked_add(Time::from_fs(span))).unwrap_or(Time::MAX)
    }
}
