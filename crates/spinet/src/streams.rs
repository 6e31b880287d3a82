//! Streams of packets: captures, generators, injected packets.

use crate::captured::PIPE;
use crate::experiment::Traffic;
use kernel::{Clock, Cycle, Time};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::capture::{CaptureCounts, CaptureLimits, CaptureReader};
use wire::faults::{FaultCounts, Faults, FaultySource};
use wire::pacing::{Pacing, PacingCounts};
use wire::source::{CaptureSource, Frame, Source, SourceError};
use wire::traffic::{Generator, TrafficError};

/// True once a stream reads standard input, which has only one.
static STDIN_TAKEN: AtomicBool = AtomicBool::new(false);

/// Traffic that cannot be read or generated.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The capture or the pace.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The generator.
    #[error(transparent)]
    Generator(#[from] TrafficError),
    /// Standard input is a terminal.
    #[error(
        "traffic `-` reads a capture from stdin, which is a terminal; pipe one into it, such as `tcpdump -w - | spinet run ...`"
    )]
    Terminal,
    /// Standard input was read before.
    #[error(
        "traffic `-`: stdin was read before; it can be one source of one run, and messages that end with the last packet of a flow need to read the packets twice"
    )]
    Taken,
}

/// Counts of the data read from a source.
#[derive(Clone, Debug, Default)]
pub struct FeedReport {
    /// Contents of the capture, and why reading it stopped early.
    pub capture: Option<(CaptureCounts, Option<String>)>,
    /// Corrections of times.
    pub pacing: PacingCounts,
    /// Faults of the network.
    pub faults: FaultCounts,
}

/// A file or a pipe that counts the bytes read from it.
pub struct Counted {
    file: Box<dyn Read>,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// The source of the packets, before faults of the network.
enum Sent {
    Capture(CaptureSource<Counted>),
    Generator(Generator),
    Made(Made),
}

/// Injected packets with their times.
struct Made {
    packets: VecDeque<(Time, Box<[u8]>)>,
    /// The packet that was taken last, and the number of packets taken so far.
    current: Box<[u8]>,
    n_taken: u64,
}

impl Source for Made {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        let Some((time, bytes)) = self.packets.pop_front() else { return Ok(None) };
        self.current = bytes;
        self.n_taken += 1;
        let (index, bytes) = (self.n_taken - 1, &*self.current);
        Ok(Some(Frame { index, arrival_fs: time.fs(), bytes, original_len: bytes.len() as u32 }))
    }
}

impl Source for Sent {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        match self {
            Sent::Capture(source) => source.next(),
            Sent::Generator(source) => source.next(),
            Sent::Made(source) => source.next(),
        }
    }
}

/// A packet that has not arrived yet.
pub struct Coming {
    /// Number within its stream, from 0.
    pub index: u64,
    /// When its first bit arrives, in femtoseconds from the start of its stream.
    pub arrival_fs: u64,
    /// The packet.
    pub bytes: Box<[u8]>,
}

/// Packets in the order of their arrival.
pub struct Stream {
    packets: Box<FaultySource<Sent>>,
    /// Cycle at which its time begins; `None` for the cycle in which the NIC is ready.
    start: Option<Cycle>,
    /// Packets that may still come.
    left: u64,
    coming: Option<Coming>,
    /// Bytes read of its file, and the file's length; 0 if there is no file.
    file_read: Rc<Cell<u64>>,
    file_len: u64,
}

impl Stream {
    /// The first `count` packets of a source, from `start` on, after the network's faults. A seed determines the
    /// faults.
    pub fn open(
        traffic: &Traffic,
        pacing: Pacing,
        count: u64,
        (faults, seed): (Faults, u64),
        start: Option<Cycle>,
    ) -> Result<Self, FeedError> {
        let file_read = Rc::<Cell<u64>>::default();
        let (sent, file_len) = match traffic {
            Traffic::Capture(path, snapped) => {
                let is_pipe = path.as_path() == Path::new(PIPE);
                let name = if is_pipe { "stdin".to_owned() } else { path.display().to_string() };
                let (file, len): (Box<dyn Read>, u64) = if is_pipe {
                    if io::stdin().is_terminal() {
                        return Err(FeedError::Terminal);
                    }
                    if STDIN_TAKEN.swap(true, Ordering::Relaxed) {
                        return Err(FeedError::Taken);
                    }
                    (Box::new(io::stdin()), 0)
                } else {
                    let open = |source| wire::capture::CaptureError::Open { file: name.clone(), source };
                    let file = File::open(path).map_err(|e| SourceError::from(open(e)))?;
                    let len = file.metadata().map_or(0, |metadata| metadata.len());
                    (Box::new(file), len)
                };
                let counted = Counted { file, read: file_read.clone() };
                let reader = CaptureReader::new(counted, name.clone(), CaptureLimits::default());
                (Sent::Capture(CaptureSource::new(reader.map_err(SourceError::from)?, pacing, *snapped)), len)
            }
            Traffic::Generator(spec) => (Sent::Generator(Generator::new((**spec).clone(), pacing)?), 0),
        };
        let packets = Box::new(FaultySource::new(sent, faults, seed));
        Ok(Stream { packets, start, left: count, coming: None, file_read, file_len })
    }

    /// Injected packets, each with its time since `start`, after the network's faults as in [`Stream::open`]. Times
    /// must not decrease.
    pub fn made(packets: Vec<(Time, Box<[u8]>)>, faults: (Faults, u64), start: Cycle) -> Self {
        Stream::numbered(0, packets.into(), faults, start)
    }

    /// One packet with its number, unchanged.
    pub fn single(number: u64, bytes: Box<[u8]>, arrival: Cycle) -> Self {
        Stream::numbered(number, [(Time::ZERO, bytes)].into(), (Faults::NONE, 0), arrival)
    }

    fn numbered(first: u64, packets: VecDeque<(Time, Box<[u8]>)>, (faults, seed): (Faults, u64), start: Cycle) -> Self {
        let made = Made { packets, current: Box::default(), n_taken: first };
        let packets = Box::new(FaultySource::new(Sent::Made(made), faults, seed));
        let (start, file_read) = (Some(start), Rc::default());
        Stream { packets, start, left: u64::MAX, coming: None, file_read, file_len: 0 }
    }

    /// The cycle in which the next packet arrives; `None` at the end. `ready` is the first cycle in which the NIC takes
    /// packets.
    pub fn arrival(&mut self, clock: Clock, ready: Cycle) -> Result<Option<Cycle>, SourceError> {
        if self.coming.is_none() {
            self.coming = self.read()?;
        }
        let start = self.start.map_or(ready, |start| start.max(ready));
        let at = |coming: &Coming| clock.cycle_at_or_after(Time::from_fs(coming.arrival_fs)).saturating_add(start);
        Ok(self.coming.as_ref().map(at))
    }

    /// Takes the packet whose arrival was reported last.
    pub fn take(&mut self) -> Option<Coming> {
        self.coming.take()
    }

    /// Reads the next packet, which follows the one that [`Stream::arrival`] has reported.
    pub fn read(&mut self) -> Result<Option<Coming>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        let coming =
            |frame: Frame<'_>| Coming { index: frame.index, arrival_fs: frame.arrival_fs, bytes: frame.bytes.into() };
        let next = self.packets.next()?.map(coming);
        self.left = if next.is_some() { self.left - 1 } else { 0 };
        Ok(next)
    }

    /// Ends the stream: no more packets come.
    pub fn cut(&mut self) {
        (self.left, self.coming) = (0, None);
    }

    /// Returns true if no packet is left, as far as is known.
    pub fn is_over(&self) -> bool {
        self.left == 0 && self.coming.is_none()
    }

    /// Returns true if its packets are injected.
    pub fn is_injected(&self) -> bool {
        matches!(self.packets.source(), Sent::Made(_))
    }

    /// Bytes of the file that were read, and its length, if it is a file.
    pub fn file_progress(&self) -> Option<(u64, u64)> {
        (self.file_len > 0).then(|| (self.file_read.get(), self.file_len))
    }

    /// Its report.
    pub fn report(&self) -> FeedReport {
        let faults = *self.packets.counts();
        match self.packets.source() {
            Sent::Capture(source) => FeedReport {
                capture: Some((*source.counts(), source.stop().map(|stop| stop.to_string()))),
                pacing: *source.pacing_counts(),
                faults,
            },
            Sent::Generator(source) => FeedReport { capture: None, pacing: *source.pacing_counts(), faults },
            Sent::Made(_) => FeedReport { faults, ..FeedReport::default() },
        }
    }
}
