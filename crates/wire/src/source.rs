//! Where packets come from: one trait over captures and generators.

use crate::capture::{CaptureCounts, CaptureError, CaptureReader, CaptureStop};
use crate::pacing::{Pacer, Pacing, PacingCounts};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Why a source cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A packet would arrive later than a clock of 64 bits in femtoseconds can say.
    #[error("packet {index} would arrive after more than 5.1 hours, must be earlier; choose a higher rate")]
    TooLate {
        /// Number of the packet, from 0.
        index: u64,
    },
}

/// A packet on its way to the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of the packet within its source, from 0.
    pub index: u64,
    /// When its first bit arrives, in femtoseconds since the start of the run. A line that is still busy with the
    /// packet before makes it wait: that is up to the model of the line.
    pub arrival_fs: u64,
    /// The packet without FCS.
    pub bytes: &'a [u8],
    /// Length it had when it was captured, in bytes; more than `bytes` has if it was snapped and not padded.
    pub original_len: u32,
}

/// A stream of packets in the order of their arrival. Memory does not grow with their number.
pub trait Source {
    /// The next packet, `None` at the end.
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        (**self).next()
    }
}

/// What becomes of packets of which only the front was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Snapped {
    /// Zeros stand for what is missing, so that the NIC sees the length the packet had. Checksums will not fit.
    #[default]
    Pad,
    /// They arrive as short as they were captured.
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
    /// The packets that `reader` has left.
    pub fn new(reader: CaptureReader<R>, pacing: Pacing, snapped: Snapped) -> Self {
        Self { reader, pacer: Pacer::new(pacing), snapped, padded: Vec::new(), n_frames: 0 }
    }

    /// What was found in the capture so far.
    pub fn counts(&self) -> &CaptureCounts {
        self.reader.counts()
    }

    /// What had to be done to its times so far.
    pub fn pacing_counts(&self) -> &PacingCounts {
        self.pacer.counts()
    }

    /// Why reading stopped before the end of the file, if it did.
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
        // Say that the second packet was longer: its original length is the fifth word of its block's body.
        let at = file.len() - 4 - 64 - 4;
        file[at] = 100;
        file
    }

    #[test]
    fn packets_arrive_with_their_distance_and_full_length() {
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
