//! Parameters of a plain NIC.

use super::dcqcn::DcqcnParams;
use crate::host::Costs;
use crate::span::Span;
use diagnostics::param::{ParamError, within};
use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How messages cross the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// No acknowledgments: the network loses nothing. Packets may overtake each other.
    #[default]
    Lossless,
    /// The receiver takes packets in order only. A gap or a timeout makes the sender repeat everything from the missing packet on.
    GoBackN,
    /// The receiver keeps packets that came too early, and the sender repeats the missing ones.
    Selective,
    /// As `lossless`, but the receiver grants credits: a sender has at most `window` unacknowledged packets to each peer.
    Credits,
}

/// Parameters of a plain NIC.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlainParams {
    /// Maximum payload of a packet, in bytes.
    pub mtu: u32,
    /// How messages cross the network.
    pub transport: Transport,
    /// Traffic class of all packets.
    pub class: u8,
    /// From the post of a message until its first packet may leave; none if not given.
    pub post_latency: Option<Span>,
    /// From the last bit of a message until the host learns of it; none if not given.
    pub deliver_latency: Option<Span>,
    /// Maximum number of unacknowledged packets to each peer.
    pub window: u32,
    /// Packets for which the receiver sends one acknowledgment. The last packet of a message always has one.
    pub ack_every: u32,
    /// Time without progress after which the sender repeats packets.
    pub timeout: Span,
    /// Timeouts in a row without progress after which the sender gives up its peer.
    pub retries: u32,
    /// Rate control; off by default. `dcqcn = {}` uses the default parameters. Senders and receivers must both enable it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<DcqcnParams>,
    /// Costs of messages on the host's processors.
    pub costs: Costs,
}

/// The greatest [`PlainParams::mtu`], in bytes.
pub(super) const MAX_MTU: u32 = 32_768;

impl Default for PlainParams {
    fn default() -> Self {
        PlainParams {
            mtu: 4096, // assumed: the longest MTU of InfiniBand
            transport: Transport::Lossless,
            class: 0,
            post_latency: None,
            deliver_latency: None,
            window: 256,   // assumed: 1 MiB in flight, more than 400 Gbit/s in 20 us
            ack_every: 16, // assumed
            timeout: Span::from_fs(100_000_000_000), // assumed: 100 us, some round trips under load
            retries: 100,  // assumed: 10 ms of silence; chance does not lose 100 packets in a row
            dcqcn: None,
            costs: Costs::default(),
        }
    }
}

impl PlainParams {
    /// Checks all values.
    pub fn check(&self) -> Result<(), ParamError> {
        within("mtu", self.mtu, 64, MAX_MTU)?;
        within("class", self.class, 0, 7)?;
        within("window", self.window, 1, 1 << 20)?;
        within("retries", self.retries, 0, 1 << 20)?;
        if let Some(dcqcn) = &self.dcqcn {
            dcqcn.check().map_err(|error| error.inside("dcqcn"))?;
        }
        within("ack_every", self.ack_every, 1, self.window).map_err(|error| error.because("the window"))
    }

    /// Returns true if the sender repeats packets.
    pub(super) fn is_reliable(&self) -> bool {
        matches!(self.transport, Transport::GoBackN | Transport::Selective)
    }

    /// Returns true if the receiver acknowledges packets.
    pub(super) fn acknowledges(&self) -> bool {
        self.transport != Transport::Lossless
    }

    pub(super) fn post(&self) -> Time {
        self.post_latency.map_or(Time::ZERO, Span::time)
    }

    pub(super) fn deliver(&self) -> Time {
        self.deliver_latency.map_or(Time::ZERO, Span::time)
    }
}
