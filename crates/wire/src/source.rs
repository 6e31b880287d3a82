//! Packet sources: one trait for captures and generators.

use crate::capture::{CaptureCounts, CaptureError, CaptureReader, CaptureStop};
use crate::pacing::{Pacer, Pacing, PacingCounts};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Error of a packet source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A packet's arrival time does not fit 64 bits in femtoseconds.
    #[error("packet {index} would arrive after more than 5.1 hours, must be at most that; choose a higher rate")]
    TooLate {
        /// Number of the packet, from 0.
        index: u64,
    },
}

/// A packet that arrives at the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of the packet within its source, from 0.
    pub index: u64,
    /// Arrival time of its first bit, in femtoseconds since the start of the run. The line model delays it further
    /// while the line is busy.
    pub arrival_fs: u64,
    /// The packet without FCS.
    pub bytes: &'a [u8],
    /// Original length, in bytes. It exceeds the length of `bytes` if the capture was snapped and is not padded.
    pub original_len: u32,
}

/// A stream of packets in order of arrival. Its memory use does not depend on their number.
pub trait Source {
    /// The next packet, or `None` at the end.
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        (**self).next()
    }
}

/// Handling of packets that the capture truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Snapped {
    /// Pads with zeros to the original length. Checksums become invalid.
    #[default]
    Pad,
    /// Uses the captured length.
    Keep,
}

/// The packets of a capture.
pub struct CaptureSource<R> {
    reader: CaptureReader<R>,
    pacer: Pacer,
    snapped: Snapped,
    padded: Vec<u8>,
    n_frames: u64,
}

impl CaptureSource<File> {
    /// Opens the capture at `path`; snapped packets are padded.
    pub fn open(path: impl AsRef<Path>, pacing: Pacing) -> Result<Self, SourceError> {
        Ok(Self::new(CaptureReader::open(path)?, pacing, Snapped::default()))
    }
}

impl<R: Read> CaptureSource<R> {
    /// The remaining packets of `reader`.
    pub fn new(reader: CaptureReader<R>, pacing: Pacing, snapped: Snapped) -> Self {
        Self { reader, pacer: Pacer::new(pacing), snapped, padded: Vec::new(), n_frames: 0 }
    }

    /// Counts of the capture so far.
    pub fn counts(&self) -> &CaptureCounts {
        self.reader.counts()
    }

    /// Corrections to its times so far.
    pub fn pacing_counts(&self) -> &PacingCounts {
        self.pacer.counts()
    }

    /// The reason why reading stopped before the end of the file, if it did.
    pub fn stop(&self) -> Option<&CaptureStop> {
        self.reader.stop()
    }
}

impl<R: Read> Source for CaptureSource<R> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        let Some(record) = self.reader.next()? else { return Ok(None) };
        let original_len = record.original_len;
        let is_padded = self.snapped == Snapped::Pad && record.bytes.len() < original_len as usize;
        let len = if is_padded { original_len as usize } else { record.bytes.len() };
        let arrival_fs = self.pacer.arrival_fs(record.time_fs, len)?;
        let index = self.n_frames;
        self.n_frames += 1;
        let bytes = if is_padded {
            self.padded.clear();
            self.padded.extend_from_slice(record.bytes);
            self.padded.resize(len, 0);
            &self.padded
        } else {
            record.bytes
        };
        Ok(Some(Frame { index, arrival_fs, bytes, original_len }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{CaptureLimits, Interface, PcapngWriter};

    fn capture() -> Vec<u8> {
        let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
        let port = writer.add_interface(&Interface { name: "p".into(), ..Interface::default() }).unwrap();
        for (time_ns, len) in [(1_000, 60), (1_500, 64)] {
            writer.write(port, time_ns, &vec![1; len], None).unwrap();
        }
        let mut file = writer.finish().unwrap();
        // Makes the second packet longer: its original length is the fifth word of its block's body.
        let at = file.len() - 4 - 64 - 4;
        file[at] = 100;
        file
    }

    #[test]
    fn packets_arrive_at_their_times_with_full_length() {
        for (snapped, want_len) in [(Snapped::Pad, 100), (Snapped::Keep, 64)] {
            let file = capture();
            let reader = CaptureReader::new(&file[..], "test", CaptureLimits::default()).unwrap();
            let mut source: Box<dyn Source> = Box::new(CaptureSource::new(reader, Pacing::TIMES, snapped));
            let first = source.next().unwrap().unwrap();
            assert_eq!((first.index, first.arrival_fs, first.bytes.len()), (0, 0, 60));
            let second = source.next().unwrap().unwrap();
            assert_eq!((second.index, second.arrival_fs, second.original_len), (1, 500_000_000, 100));
            assert_eq!(second.bytes.len(), want_len);
            assert!(second.bytes[..64].iter().all(|&b| b == 1) && second.bytes[64..].iter().all(|&b| b == 0));
            assert_eq!(source.next().unwrap(), None);
        }
    }
}
