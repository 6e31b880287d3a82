//! What both formats have in common: opening, limits, counts, and the records that come out.

use super::LINK_TYPE_ETHERNET;
use super::input::{Fill, Input};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use crate::eth;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why a capture cannot be read at all. What is wrong further on is counted instead: see [`CaptureCounts`].
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{file}: {source}")]
    Open {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be read on.
    #[error("{file}: offset {offset}: {source}")]
    Read {
        /// The file.
        file: String,
        /// How far reading came, in bytes.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{file}: empty, must be a pcap or pcapng capture")]
    Empty {
        /// The file.
        file: String,
    },
    /// It begins like neither format.
    #[error("{file}: offset 0: found {found}, must be a pcap or pcapng capture{hint}")]
    NotACapture {
        /// The file.
        file: String,
        /// The first bytes, and their name if they have one.
        found: String,
        /// What to do, if we know; begins with `; `.
        hint: &'static str,
    },
    /// It ends within the header of the file.
    #[error("{file}: {found} bytes, must be at least {needed} for the header of a capture")]
    ShortHeader {
        /// The file.
        file: String,
        /// Length of the file.
        found: u64,
        /// Length of the header.
        needed: u64,
    },
    /// The header of the file holds something that cannot be.
    #[error("{file}: offset {offset}: found {found}, must be {allowed}")]
    Header {
        /// The file.
        file: String,
        /// Where, in bytes.
        offset: u64,
        /// What is there.
        found: String,
        /// What may be there.
        allowed: &'static str,
    },
}

impl CaptureError {
    pub(super) fn read(file: &str, offset: u64, source: io::Error) -> Self {
        Self::Read { file: file.into(), offset, source }
    }
}

/// Why reading stopped before the end of the file. The packets before are good.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CaptureStop {
    /// The file ends within a record or block.
    #[error("the capture is cut: the record at offset {offset} has {found} of {needed} bytes")]
    Truncated {
        /// Where the record begins, in bytes.
        offset: u64,
        /// Bytes of it that are there.
        found: u64,
        /// Bytes it needs.
        needed: u64,
    },
    /// A length or mark that cannot be, so that the next record cannot be found.
    #[error("the capture is damaged: {what} at offset {offset} is {found}, must be {allowed}")]
    Corrupt {
        /// Where the record begins, in bytes.
        offset: u64,
        /// What is wrong.
        what: &'static str,
        /// What is there.
        found: u64,
        /// What may be there.
        allowed: &'static str,
    },
}

/// What was found in a capture; the table in [`crate::capture`] says what happened to each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)] // The names are explained in the table.
pub struct CaptureCounts {
    /// Packets returned.
    pub packets: u64,
    /// Captured bytes of the packets returned.
    pub bytes: u64,
    pub other_link_types: u64,
    pub snapped: u64,
    pub too_long: u64,
    pub too_short: u64,
    pub jumbo: u64,
    pub contradictory_lengths: u64,
    pub without_time: u64,
    pub fcs_removed: u64,
    pub malformed_blocks: u64,
    pub other_blocks: u64,
    pub truncated: u64,
    pub corrupt: u64,
}

/// What a [`CaptureReader`] lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Longest packet, in bytes without FCS, by its original length.
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
    /// Number among all the records of the file, those that were skipped included, from 0.
    pub index: u64,
    /// Where the record begins in the file, in bytes.
    pub offset: u64,
    /// Femtoseconds since 1970-01-01T00:00:00Z, rounded down; simple packet blocks have no time.
    pub time_fs: Option<i128>,
    /// Length the packet had, in bytes; at least that of `bytes`.
    pub original_len: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Kind of link, always [`LINK_TYPE_ETHERNET`] so far.
    pub link_type: u16,
    /// Number of the interface within its section.
    pub interface: u32,
}

/// A record as its format tells it, before limits.
pub(super) struct RawRecord {
    pub(super) offset: u64,
    pub(super) time_fs: Option<i128>,
    pub(super) original_len: u32,
    /// Where the captured bytes begin in the buffer.
    pub(super) start: usize,
    pub(super) captured_len: u32,
    pub(super) link_type: u16,
    pub(super) interface: u32,
    pub(super) fcs_len: u32,
}

/// What reading one record or block gave.
pub(super) enum Step {
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

/// Reads the Ethernet packets of a pcap or pcapng capture one by one. Memory does not grow with the file.
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
    /// Reads a capture from `stream`; `name` stands in errors.
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

    /// The next Ethernet packet, `None` at the end; whether that is the end of the file says [`Self::stop`].
    ///
    /// Errors: only those of the system below.
    #[allow(clippy::should_implement_trait)] // An iterator cannot lend.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        while !self.is_done {
            let step = match &mut self.format {
                Format::Pcap(pcap) => pcap.step(&mut self.input, &mut self.buffer),
                Format::Pcapng(pcapng) => pcapng.step(&mut self.input, &mut self.buffer),
            };
            match step.map_err(|source| CaptureError::read(&self.name, self.input.offset, source))? {
                Step::Record(raw) => {
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
                Step::Described => {}
                Step::Listed => {
                    self.n_records += 1;
                    self.counts.other_blocks += 1;
                }
                Step::Other => self.counts.other_blocks += 1,
                Step::Malformed => self.counts.malformed_blocks += 1,
                Step::Stop(stop) => {
                    match stop {
                        CaptureStop::Truncated { .. } => self.counts.truncated += 1,
                        CaptureStop::Corrupt { .. } => self.counts.corrupt += 1,
                    }
                    self.stop = Some(stop);
                    self.is_done = true;
                }
                Step::End => self.is_done = true,
            }
        }
        Ok(None)
    }

    /// Counts a record; its original and captured lengths without FCS if it is let through.
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

    /// What was found so far.
    pub fn counts(&self) -> &CaptureCounts {
        &self.counts
    }

    /// Why reading stopped before the end of the file, if it did.
    pub fn stop(&self) -> Option<&CaptureStop> {
        self.stop.as_ref()
    }

    /// Name of the file as errors call it.
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

/// The error for a file that begins with `first`, with the name of what it is if we know it.
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
