//! Handling of packets that cannot be processed at once: packet memory is full, the header is missing, or the message
//! stops arriving. Each context chooses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The choices of a context. The default is the RTL's behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Handling of a packet when L2 packet memory is full.
    pub when_full: WhenFull,
    /// With `mark_ecn`: occupancy of packet memory, in percent, from which packets are marked.
    pub ecn_threshold_percent: u32,
    /// Handling of a packet that arrives before the first of its message, for contexts with a header handler.
    pub early_payload: EarlyPayload,
    /// With `buffer`: maximum packets of a message that wait for its first one. Further ones are dropped.
    pub early_packets: u32,
    /// A message ends and its queue is reset when no packet of it arrives for more than this number of cycles; 0
    /// waits forever.
    pub timeout_cycles: u64,
}

/// Handling of a packet when packet memory is full (paper, III-A: the network decides).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The packet and all packets behind it wait: back-pressure, as in the RTL.
    Stall,
    /// The packet is dropped.
    Drop,
    /// Packets that can be marked (RFC 3168) are marked from the threshold on, and wait when the memory is full.
    /// Others are dropped.
    MarkEcn,
    /// The whole message is dropped: this packet, those in the queue, and those still to come.
    KillMessage,
}

/// Handling of a packet that arrives before the first of its message (paper, III-D2: buffer or discard).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyPayload {
    /// The packet waits in the message's queue.
    Buffer,
    /// The packet is dropped.
    Drop,
}

impl Default for Delivery {
    fn default() -> Self {
        Delivery {
            when_full: WhenFull::Stall,
            ecn_threshold_percent: 100,
            early_payload: EarlyPayload::Buffer,
            early_packets: 16,
            timeout_cycles: 0,
        }
    }
}

kernel::words! {
    /// Reason why a packet was not processed; the value `reason` of the event.
    pub enum DropReason {
        /// It has no bytes.
        Empty = "empty",
        /// It is larger than L2 packet memory.
        TooLarge = "too_large",
        /// The part to be copied to L1 is larger than a packet ring there.
        TransferTooLarge = "transfer_too_large",
        /// Packet memory was full, and its context drops packets then.
        PacketMemoryFull = "packet_memory_full",
        /// Its message was ended because packet memory was full.
        MessageKilled = "message_killed",
        /// It arrived before the first packet of its message, and there was no place to wait.
        BeforeHeader = "before_header",
        /// Its message timed out.
        MessageTimeout = "message_timeout",
        /// Its message was in a borrowed queue, which another tenant reclaimed.
        MessageEvicted = "message_evicted",
        /// Its tenant had reached its share of packet memory.
        PacketMemoryShare = "packet_memory_share",
    }
}
