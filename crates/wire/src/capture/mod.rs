//! Captures: reading pcap and pcapng as a stream, writing pcapng.
//!
//! The readers are our own. pcap-file 2.0.0 takes pcapng ticks for nanoseconds whatever the interface says, fails on
//! a block larger than its 8 MB buffer, and its errors have no file offset. pcap-parser 0.17.0 parses blocks, but the
//! refilling buffer, limits on lengths, time resolution, positions and counts would all remain ours, and that is
//! most of a reader.
//!
//! | in the file | what happens | counted as |
//! |---|---|---|
//! | Ethernet packet | returned | `packets` |
//! | packet of another link type | skipped | `other_link_types` |
//! | captured shorter than it was | returned with both lengths | `snapped` |
//! | original length above the limit | skipped | `too_long` |
//! | shorter than an Ethernet header | skipped | `too_short` |
//! | payload above 1500 bytes | returned | `jumbo` |
//! | captured longer than it was | returned, the captured length counts | `contradictory_lengths` |
//! | simple packet block: no time | returned without time | `without_time` |
//! | frame check sequence, if the file says it has one | cut off | `fcs_removed` |
//! | packet block whose lengths do not fit it, or of an interface nobody described | skipped | `malformed_blocks` |
//! | options of an interface that cannot be read | what comes before them counts | `malformed_blocks` |
//! | other pcapng blocks | skipped | `other_blocks` |
//! | file ends within a record | reading stops, [`CaptureReader::stop`] says where | `truncated` |
//! | length that cannot be (record, block), so that what follows cannot be found | the same | `corrupt` |

mod input;
mod pcap;
mod pcapng;
mod reader;
mod writer;

pub use reader::{CaptureCounts, CaptureError, CaptureLimits, CaptureReader, CaptureStop, Record};
pub use writer::{Interface, InterfaceId, PcapngWriter, WriteError};

/// Link type of Ethernet in pcap and pcapng (tcpdump.org, Link-layer header types).
pub const LINK_TYPE_ETHERNET: u16 = 1;

/// Femtoseconds in a second.
pub const FS_PER_S: u128 = 1_000_000_000_000_000;

/// Longest record or packet block that is looked at: a longer one cannot hold a packet that anyone sends.
/// (libpcap's own limit for captured bytes is 262,144; the rest is room for options.)
pub(crate) const MAX_RECORD_LEN: u32 = 1 << 20;

#[cfg(test)]
mod tests;
