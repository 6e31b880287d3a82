//! What becomes of packets when something is in their way: packet memory is full, the header has not come, the message
//! stops arriving. Each context says what its network asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a context asks for. The default is what the RTL does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// A packet finds no room in L2 packet memory.
    pub when_full: WhenFull,
    /// With `mark_ecn`: marks from this occupancy of packet memory on, in percent.
    pub ecn_threshold_percent: u32,
    /// A packet that is known not to be its message's first comes before that, and the context has a header handler.
    pub early_payload: EarlyPayload,
    /// With `buffer`: so many packets of a message wait for its first; further ones are dropped.
    pub early_packets: u32,
    /// A message is given up, and its queue reset, when no packet of it has come for more than so many cycles; 0 waits
    /// for ever.
    pub timeout_cycles: u64,
}

/// What a full packet memory means for a packet (paper, III-A: the choice is the network's).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits, and all packets behind it: back-pressure, as in the RTL.
    Stall,
    /// It is dropped.
    Drop,
    /// Packets that can be marked (RFC 3168) are, from the threshold on, and wait when it is full; others are dropped.
    MarkEcn,
    /// It and what is to come of its message are dropped, and so is what of it waits in its queue.
    KillMessage,
}

/// What a packet meets that comes before the first of its message (paper, III-D2: buffer or discard).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyPayload {
    /// It waits in the message's queue.
    Buffer,
    /// It is dropped.
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
    /// Why a packet is not processed; the value of the event's `reason`.
    pub enum DropReason {
        /// It has no bytes.
        Empty = "empty",
        /// It is larger than L2 packet memory.
        TooLarge = "too_large",
        /// More of it is to be copied to L1 than a packet ring there holds.
        TransferTooLarge = "transfer_too_large",
        /// Packet memory was full, and its context asks to drop it then.
        PacketMemoryFull = "packet_memory_full",
        /// Its message was ended because packet memory was full.
        MessageKilled = "message_killed",
        /// It came before the first packet of its message, and found no place to wait.
        BeforeHeader = "before_header",
        /// Its message stopped arriving.
        MessageTimeout = "message_timeout",
        /// Its message had to leave its queue, which its tenant had borrowed, to a tenant that is sure of it.
        MessageEvicted = "message_evicted",
        /// Its tenant had as much of packet memory as it may have beside others.
        PacketMemoryShare = "packet_memory_share",
    }
}
