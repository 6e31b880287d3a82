//! Shared parts of both formats: opening, limits, counts, and records.

use super::LINK_TYPE_ETHERNET;
use super::input::{Fill, Input};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use crate::eth;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Error that prevents reading a capture. Later problems are counted: see [`CaptureCounts`].
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{file}: {source}")]
    Open {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// Reading the file failed.
    #[error("{file}: offset {offset}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Position of the error, in bytes.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The file is empty.
    #[error("{file}: the file is empty, must be a pcap or pcapng capture")]
    Empty {
        /// The file.
        file: String,
    },
    /// The file has neither format.
    #[error("{file}: offset 0: found {found}, must be a pcap or pcapng capture{hint}")]
    NotACapture {
        /// The file.
        file: String,
        /// The first bytes, and the format's name if it is known.
        found: String,
        /// A suggestion, or empty; begins with `; `.
        hint: &'static str,
    },
    /// The file ends within its header.
    #[error("{file}: {found} bytes, must be at least {needed} for the header of a capture")]
    ShortHeader {
        /// The file.
        file: String,
        /// Length of the file.
        found: u64,
        /// Length of the header.
        needed: u64,
    },
    /// The file's header has an invalid value.
    #[error("{file}: offset {offset}: found {found}, must be {allowed}")]
    Header {
        /// The file.
        file: String,
        /// Offset in the file, in bytes.
        offset: u64,
        /// The value found.
        found: String,
        /// The allowed values.
        allowed: &'static str,
    },
}

impl CaptureError {
    pub(super) fn read(file: &str, offset: u64, source: io::Error) -> Self {
        Self::Read { file: file.into(), offset, source }
    }
}

/// Reason why reading stopped before the end of the file. Earlier packets are valid.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CaptureStop {
    /// The file ends within a record or block.
    #[error("the capture is truncated: the record at offset {offset} has {found} of {needed} bytes")]
    Truncated {
        /// Offset of the record, in bytes.
        offset: u64,
        /// Length of the record in the file, in bytes.
        found: u64,
        /// Required length, in bytes.
        needed: u64,
    },
    /// A length or magic number is invalid, so the next record cannot be found.
    #[error("the capture is damaged: {what} at offset {offset} is {found}, must be {allowed}")]
    Corrupt {
        /// Offset of the record, in bytes.
        offset: u64,
        /// The invalid field.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The allowed values.
        allowed: &'static str,
    },
}

/// Counts of a capture's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct CaptureCounts {
    /// Packets returned.
    pub packets: u64,
    /// Captured bytes of the returned packets.
    pub bytes: u64,
    /// Packets of other link types, skipped.
    pub other_link_types: u64,
    /// Packets captured only in part.
    pub snapped: u64,
    /// Packets above the length limit, skipped.
    pub too_long: u64,
    /// Packets shorter than an Ethernet header, skipped.
    pub too_short: u64,
    /// Packets with a payload above 1500 bytes.
    pub jumbo: u64,
    /// Packets with a captured length above the original length.
    pub contradictory_lengths: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// Packets whose frame check sequence was removed.
    pub fcs_removed: u64,
    /// Unreadable blocks or options, skipped.
    pub malformed_blocks: u64,
    /// Blocks without packets, skipped.
    pub other_blocks: u64,
    /// 1 if the file ends within a record.
    pub truncated: u64,
    /// 1 if the length of a record is invalid; reading stops there.
    pub corrupt: u64,
}

/// Limits of a [`CaptureReader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Longest packet by original length, in bytes without FCS.
    pub max_packet_len: u32,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self { max_packet_len: eth::MAX_PACKET_LEN as u32 }
    }
}

/// One Ethernet packet of a capture, without FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Number among all records of the file, including skipped ones, from 0.
    pub index: u64,
    /// Offset of the record in the file, in bytes.
    pub offset: u64,
    /// Femtoseconds since 1970-01-01T00:00:00Z, rounded down. Simple packet blocks have no time.
    pub time_fs: Option<i128>,
    /// Original length, in bytes; at least that of `bytes`.
    pub original_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Link type, currently always [`LINK_TYPE_ETHERNET`].
    pub link_type: u16,
    /// Number of the interface within its section.
    pub interface: u32,
}

/// A record before limits are applied.
pub(super) struct RawRecord {
    pub(super) offset: u64,
    pub(super) time_fs: Option<i128>,
    pub(super) original_len: u32,
    /// Offset of the captured bytes in the buffer.
    pub(super) start: usize,
    pub(super) captured_len: u32,
    pub(super) link_type: u16,
    pub(super) interface: u32,
    pub(super) fcs_len: u32,
}

/// Result of reading one record or block.
pub(super) enum ReadStep {
    Record(RawRecord),
    Described,
    Listed,
    Other,
    Malformed,
    Stop(CaptureStop),
    End,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reads the Ethernet packets of a pcap or pcapng capture one by one. Memory use does not grow with the file.
pub struct CaptureReader<R> {
    name: String,
    input: Input<R>,
    format: Format,
    limits: CaptureLimits,
    buffer: Vec<u8>,
    n_records: u64,
    counts: CaptureCounts,
    stop: Option<CaptureStop>,
    is_done: bool,
}

impl CaptureReader<File> {
    /// Opens the capture at `path` with the default limits.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let file = path.as_ref().display().to_string();
        let stream = File::open(path).map_err(|source| CaptureError::Open { file: file.clone(), source })?;
        Self::new(stream, file, CaptureLimits::default())
    }
}

impl<R: Read> CaptureReader<R> {
    /// Reads a capture from `stream`; errors contain `name`.
    pub fn new(stream: R, name: impl Into<String>, limits: CaptureLimits) -> Result<Self, CaptureError> {
        let name = name.into();
        let mut input = Input::new(stream);
        let mut first = [0; 4];
        let found = match input.fill(&mut first).map_err(|e| CaptureError::read(&name, 0, e))? {
            Fill::Whole => 4,
            Fill::Part(n) => n,
            Fill::End => return Err(CaptureError::Empty { file: name }),
        };
        let format = if found == 4 && first == pcapng::MAGIC {
            Format::Pcapng(Pcapng::open(&mut input, &name)?)
        } else if let Some(pcap) = if found == 4 { Pcap::open(first, &mut input, &name)? } else { None } {
            Format::Pcap(pcap)
        } else {
            return Err(not_a_capture(name, &first[..found]));
        };
        let (buffer, counts) = (Vec::new(), CaptureCounts::default());
        Ok(Self { name, input, format, limits, buffer, n_records: 0, counts, stop: None, is_done: false })
    }

    /// The next Ethernet packet, or `None` at the end. [`Self::stop`] tells whether the file ended there.
    ///
    /// Errors: only those of the system.
    #[allow(clippy::should_implement_trait)] // An iterator cannot lend its buffer.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        while !self.is_done {
            let step = match &mut self.format {
                Format::Pcap(pcap) => pcap.step(&mut self.input, &mut self.buffer),
                Format::Pcapng(pcapng) => pcapng.step(&mut self.input, &mut self.buffer),
            };
            match step.map_err(|source| CaptureError::read(&self.name, self.input.offset, source))? {
                ReadStep::Record(raw) => {
                    self.n_records += 1;
                    if let Some((original_len, captured_len)) = self.admit(&raw) {
                        self.counts.packets += 1;
                        self.counts.bytes += captured_len as u64;
                        return Ok(Some(Record {
                            index: self.n_records - 1,
                            offset: raw.offset,
                            time_fs: raw.time_fs,
                            original_len,
                            bytes: &self.buffer[raw.start..raw.start + captured_len],
                            link_type: raw.link_type,
                            interface: raw.interface,
                        }));
                    }
                }
                ReadStep::Described => {}
                ReadStep::Listed => {
                    self.n_records += 1;
                    self.counts.other_blocks += 1;
                }
                ReadStep::Other => self.counts.other_blocks += 1,
                ReadStep::Malformed => self.counts.malformed_blocks += 1,
                ReadStep::Stop(stop) => {
                    match stop {
                        CaptureStop::Truncated { .. } => self.counts.truncated += 1,
                        CaptureStop::Corrupt { .. } => self.counts.corrupt += 1,
                    }
                    self.stop = Some(stop);
                    self.is_done = true;
                }
                ReadStep::End => self.is_done = true,
            }
        }
        Ok(None)
    }

    /// Counts a record. Returns its original and captured lengths without FCS if it passes the limits.
    fn admit(&mut self, raw: &RawRecord) -> Option<(u32, usize)> {
        let counts = &mut self.counts;
        if raw.link_type != LINK_TYPE_ETHERNET {
            counts.other_link_types += 1;
            return None;
        }
        let contradictory = raw.captured_len > raw.original_len;
        let whole_len = raw.original_len.max(raw.captured_len);
        let original_len = whole_len.saturating_sub(raw.fcs_len);
        let captured_len = raw.captured_len.min(original_len) as usize;
        if original_len > self.limits.max_packet_len {
            counts.too_long += 1;
            return None;
        }
        if captured_len < eth::HEADER_LEN {
            counts.too_short += 1;
            return None;
        }
        counts.contradictory_lengths += u64::from(contradictory);
        counts.fcs_removed += u64::from(captured_len < raw.captured_len as usize);
        counts.snapped += u64::from(captured_len < original_len as usize);
        counts.without_time += u64::from(raw.time_fs.is_none());
        let packet = &self.buffer[raw.start..raw.start + captured_len];
        counts.jumbo += u64::from(original_len as usize > basic_len(packet));
        Some((original_len, captured_len))
    }

    /// Counts so far.
    pub fn counts(&self) -> &CaptureCounts {
        &self.counts
    }

    /// The reason why reading stopped before the end of the file, if it did.
    pub fn stop(&self) -> Option<&CaptureStop> {
        self.stop.as_ref()
    }

    /// Name of the file in errors.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Longest packet with the VLAN tags of `packet` that is not jumbo.
fn basic_len(packet: &[u8]) -> usize {
    use eth::ether_type::{QINQ, QINQ_OLD, VLAN};
    let mut at = eth::ETHER_TYPE.start;
    while let Some(&[high, low]) = packet.get(at..at + 2) {
        if ![VLAN, QINQ, QINQ_OLD].contains(&u16::from_be_bytes([high, low])) {
            break;
        }
        at += crate::vlan::HEADER_LEN;
    }
    at + 2 + eth::MAX_BASIC_PAYLOAD
}

/// The error for a file that begins with `first`, with the format's name if it is known.
fn not_a_capture(file: String, first: &[u8]) -> CaptureError {
    let known = match first {
        [0x1f, 0x8b, ..] => Some(("gzip", "; decompress it first (gunzip)")),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(("zstd", "; decompress it first (unzstd)")),
        [0xfd, b'7', b'z', b'X'] => Some(("xz", "; decompress it first (unxz)")),
        [b'P', b'K', 3, 4] => Some(("zip", "; unpack it first")),
        b"snoo" => Some(("snoop", "; convert it with `editcap -F pcap`")),
        b"GMBU" | b"RTSS" => Some(("Microsoft Network Monitor", "; convert it with `editcap -F pcap`")),
        _ => None,
    };
    let variant = first.try_into().ok().and_then(pcap::unsupported_variant);
    let known = known.or(variant.map(|name| (name, "; convert it with `editcap -F pcap`")));
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = bytes.join(" ");
    match known {
        Some((name, hint)) => CaptureError::NotACapture { file, found: format!("{bytes} ({name})"), hint },
        None => CaptureError::NotACapture { file, found: bytes, hint: "" },
    }
}
