//! Captures: reads pcap and pcapng as a stream, writes pcapng.
//!
//! This crate has its own readers, because published ones do not suffice. pcap-file 2.0.0 assumes nanoseconds for pcapng
//! ticks, fails on a block larger than its 8 MB buffer, and its errors have no file offset. pcap-parser 0.17.0 parses
//! blocks, but buffer refills, length limits, time resolution, positions and counts, which are most of a reader, would
//! remain to be written.
//!
//! | in the file | effect | counted as |
//! |---|---|---|
//! | Ethernet packet | returned | `packets` |
//! | packet of another link type | skipped | `other_link_types` |
//! | captured length below the original length | returned with both lengths | `snapped` |
//! | original length above the limit | skipped | `too_long` |
//! | shorter than an Ethernet header | skipped | `too_short` |
//! | payload above 1500 bytes | returned | `jumbo` |
//! | captured length above the original length | returned with the captured length | `contradictory_lengths` |
//! | simple packet block, which has no time | returned without time | `without_time` |
//! | frame check sequence, if the file declares one | removed | `fcs_removed` |
//! | packet block with inconsistent lengths or an undeclared interface | skipped | `malformed_blocks` |
//! | unreadable options of an interface | the options before them are used | `malformed_blocks` |
//! | other pcapng blocks | skipped | `other_blocks` |
//! | file ends within a record | reading stops; [`CaptureReader::stop`] returns the position | `truncated` |
//! | invalid length of a record or block | the same, because the next record cannot be found | `corrupt` |

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

/// Longest record or packet block that is read. No network sends longer packets. (libpcap's own limit for captured
/// bytes is 262,144; the rest is room for options.)
pub(crate) const MAX_RECORD_LEN: u32 = 1 << 20;

#[cfg(test)]
mod tests;
