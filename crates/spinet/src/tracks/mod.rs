//! Tracks of a run over time, for viewers: what cores, DMA engines, links and queues do with each packet, and counters.
//!
//! Tracks come from the paths of packets ([`crate::paths`]): a step is a slice on the track of its place. Counters come from the
//! steps of all packets, also of those that are not drawn.
//!
//! The run passes paths and samples to a thread, which draws and writes them.

mod changes;
mod choose;
mod drawing;
mod lanes;
mod network;
mod order;
mod perfetto;
mod waves;

pub use choose::{Only, OnlyError};
pub use network::NetworkTracks;

use crate::paths::{Cause, Path, Step};
use choose::Chooser;
use drawing::Drawing;
use kernel::{Clock, Cycle, Resource, Time};
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// Extensions of files in Perfetto's format.
const PERFETTO: [&str; 2] = ["perfetto-trace", "pftrace"];
/// Extensions of files with waveforms.
const WAVES: [&str; 2] = ["vcd", "fst"];
/// Period of the throughput counters.
const PERIOD_PS: u64 = 1_000_000;
/// Number of notes in a batch for the thread.
const BATCH: usize = 256;
/// Maximum number of batches that wait for the thread.
const MOST_WAITING: usize = 8;

/// The files to write, and the part of the run that is drawn.
#[derive(Clone, Debug)]
pub struct TracksSpec {
    /// A file in Perfetto's format.
    pub timeline: Option<PathBuf>,
    /// A file with waveforms. Its extension selects VCD or FST.
    pub waves: Option<PathBuf>,
    /// The part.
    pub only: Only,
    /// The card, if it is a node of a network. Its timeline is then a piece of the network's.
    pub node: Option<TracksOfNode>,
}

/// A node whose tracks are a piece of a network's timeline.
#[derive(Clone, Debug)]
pub struct TracksOfNode {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u32,
}

/// Tracks that cannot be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TracksError {
    #[error("{file}: {source}")]
    Write { file: String, source: io::Error },
    #[error("{key} is `{file}`, must end with .{}", allowed.join(" or ."))]
    Suffix { key: &'static str, file: String, allowed: &'static [&'static str] },
    #[error("timeline: {0}")]
    Only(#[from] OnlyError),
}

impl TracksSpec {
    /// Checks the names of the files, and reads the part of the run from `only`. `None` without a file.
    pub fn parse(
        timeline: Option<PathBuf>,
        waves: Option<PathBuf>,
        only: &[String],
    ) -> Result<Option<TracksSpec>, TracksError> {
        let check = |key, file: &Option<PathBuf>, allowed: &'static [&'static str]| match file {
            Some(file) if !allowed.contains(&suffix(file)) => {
                Err(TracksError::Suffix { key, file: file.display().to_string(), allowed })
            }
            _ => Ok(()),
        };
        check("timeline", &timeline, &PERFETTO)?;
        check("waves", &waves, &WAVES)?;
        let only = Only::parse(only)?;
        Ok((timeline.is_some() || waves.is_some()).then_some(TracksSpec { timeline, waves, only, node: None }))
    }
}

fn suffix(file: &FilePath) -> &str {
    file.extension().and_then(OsStr::to_str).unwrap_or_default()
}

kernel::words! {
    /// Kinds of tracks.
    pub enum Group {
        /// Cores and units that work on one packet after the other.
        Cores = "cores",
        /// Firmware and drivers, without the cores that run them.
        Software = "firmware and driver",
        /// DMA engines and assists that move packets.
        Dmas = "DMAs",
        /// Ports, lines and interconnects.
        Links = "links",
        /// Where packets wait.
        Queues = "queues",
    }
}

/// A track, on which slices are drawn. Packets that are on it at the same time have different lanes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Track {
    /// Its kind.
    pub group: Group,
    /// Its position in the group.
    pub rank: u32,
    /// Its name.
    pub name: String,
}

/// How the steps of a kind of card become slices.
pub struct Scenery {
    /// Names of the stages of its paths.
    pub stages: &'static [&'static str],
    /// Its causes.
    pub causes: &'static [Cause],
    /// Returns the track of a step, from its place and cause.
    pub track: Box<dyn Fn(&Step) -> Track + Send>,
    /// Names of the handlers or programs on cores, by group of packets and stage. Steps on a core get a slice of this
    /// name around them.
    pub runs: Vec<Vec<String>>,
    /// True if packets have messages.
    pub has_messages: bool,
    /// Name of the memory that holds packets, for its counter.
    pub memory: &'static str,
}

/// The facts that tracks need about a packet besides its path.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its number.
    pub packet: u64,
    /// Position of its names in [`Scenery::runs`].
    pub group: usize,
    /// Its message, if the card has messages.
    pub message: Option<u64>,
    /// Bytes that came in.
    pub bytes: u64,
    /// Cycles of its begin and end in the memory for packets.
    pub held: Option<(Cycle, Cycle)>,
    /// Cycle in which bytes of it left the card, and number of these bytes.
    pub left: Option<(Cycle, u64)>,
}

/// A record of the run, for the thread that draws.
enum Note {
    /// A packet has ended.
    Packet { clock: Clock, subject: Subject, steps: Range<usize>, is_hidden: bool },
    /// The resources of the card, before the first sample.
    Resources(Vec<(Clock, Resource)>),
    /// A sample of the card's resources: `loads` are the places of their busy cycles in the batch.
    Sample { now: Time, loads: Range<usize> },
    /// Packets that are noted later do not begin before this time.
    Settled(Time),
    /// The run is over.
    Over,
}

/// Records for the thread that draws. The thread returns batches, so that their memory is reused.
#[derive(Default)]
struct Batch {
    notes: Vec<Note>,
    /// Steps of the packets in `notes`.
    steps: Vec<Step>,
    /// Busy cycles of the samples in `notes`.
    loads: Vec<u64>,
}

/// The tracks of a run, while they are written.
pub struct Tracks {
    chooser: Chooser,
    sampled: Option<Time>,
    batch: Batch,
    settled: Time,
    sender: Option<SyncSender<Batch>>,
    /// Batches that the thread has drawn.
    drawn: Receiver<Batch>,
    /// The thread that draws. It ends at the first error.
    thread: Option<JoinHandle<Result<(), TracksError>>>,
}

impl Tracks {
    /// Creates the files.
    pub fn create(spec: &TracksSpec, scenery: Scenery) -> Result<Tracks, TracksError> {
        if !scenery.has_messages && !spec.only.messages.is_empty() {
            return Err(OnlyError::NoMessages.into());
        }
        let mut drawing = Drawing::create(spec, scenery)?;
        let (sender, receiver) = sync_channel::<Batch>(MOST_WAITING);
        let (back, drawn) = channel();
        let draw = move || {
            for Batch { mut notes, mut steps, mut loads } in receiver {
                notes.drain(..).try_for_each(|note| drawing.note(note, &steps, &loads))?;
                steps.clear();
                loads.clear();
                // After the end of the run, no other batch is needed.
                let _ = back.send(Batch { notes, steps, loads });
            }
            Ok(())
        };
        let file = spec.timeline.iter().chain(&spec.waves).next().map(|file| file.display().to_string());
        let thread = thread::Builder::new().name("timeline".into()).spawn(draw);
        let thread = thread.map_err(|source| TracksError::Write { file: file.unwrap_or_default(), source })?;
        Ok(Tracks {
            chooser: Chooser::new(spec.only.clone()),
            sampled: None,
            batch: Batch::default(),
            settled: Time::ZERO,
            sender: Some(sender),
            drawn,
            thread: Some(thread),
        })
    }

    /// Returns true if the bytes of packets decide which packets are drawn.
    pub fn needs_bytes(&self) -> bool {
        self.chooser.needs_bytes()
    }

    /// A packet arrives.
    pub fn enter(&mut self, packet: u64, bytes: &[u8]) {
        self.chooser.enter(packet, bytes);
    }

    /// A packet has ended.
    pub fn add(&mut self, clock: Clock, subject: Subject, path: &Path) {
        let is_hidden = !self.chooser.takes(subject.packet, subject.message);
        let Batch { notes, steps, .. } = &mut self.batch;
        let first = steps.len();
        steps.extend_from_slice(&path.steps);
        notes.push(Note::Packet { clock, subject, steps: first..steps.len(), is_hidden });
    }

    /// Samples the resources of the card, as [`crate::paths::PathLog::sample`] says.
    pub fn sample(
        &mut self,
        now: Time,
        resources: impl FnOnce() -> Vec<(Clock, Resource)>,
        loads: impl FnOnce(&mut Vec<u64>),
    ) -> Result<(), TracksError> {
        if self.sampled.replace(now).is_none() {
            self.batch.notes.push(Note::Resources(resources()));
        }
        let first = self.batch.loads.len();
        loads(&mut self.batch.loads);
        let loads = first..self.batch.loads.len();
        self.batch.notes.push(Note::Sample { now, loads });
        self.hand_over(BATCH)
    }

    /// The next time at which [`Tracks::sample`] must be called.
    pub fn sample_at(&self) -> Time {
        self.sampled.map_or(Time::ZERO, |last| Time::from_ps(last.ps() + PERIOD_PS))
    }

    /// Promises that packets that are added later do not begin before this time, and have no number below `first`.
    pub fn settle(&mut self, until: Time, first: u64) -> Result<(), TracksError> {
        self.chooser.forget_before(first);
        self.settled = until;
        self.hand_over(BATCH)
    }

    /// The run is over. Writes everything.
    pub fn finish(mut self) -> Result<(), TracksError> {
        self.batch.notes.push(Note::Over);
        self.hand_over(1)?;
        self.join()
    }

    /// Sends the notes to the thread if there are enough of them.
    fn hand_over(&mut self, least: usize) -> Result<(), TracksError> {
        if self.batch.notes.len() < least {
            return Ok(());
        }
        self.batch.notes.push(Note::Settled(self.settled));
        let batch = std::mem::replace(&mut self.batch, self.drawn.try_recv().unwrap_or_default());
        match self.sender.as_ref().map(|sender| sender.send(batch)) {
            Some(Ok(())) => Ok(()),
            _ => self.join(), // The thread ended with an error.
        }
    }

    fn join(&mut self) -> Result<(), TracksError> {
        self.sender = None;
        let result = self.thread.take().map_or(Ok(Ok(())), JoinHandle::join);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Tracks {
    fn drop(&mut self) {
        self.sender = None;
        // Errors in the files of an abandoned run do not matter.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
