//! Tracks of a run over time, for viewers: what cores, DMA engines, links and queues do with each packet, and counters.
//!
//! Tracks come from the paths of packets ([`crate::paths`]): a step is a slice on the track of its place. Counters come from the
//! steps of all packets, also of those that are not drawn.

mod choose;
mod order;
mod perfetto;

pub use choose::{Only, OnlyError};

use crate::paths::{Cause, Path, Step};
use choose::Chooser;
use kernel::{Clock, Cycle, Resource, Time};
use order::{Item, Ordered};
use perfetto::Perfetto;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

/// Ends of names of files in Perfetto's format.
const PERFETTO: [&str; 2] = ["perfetto-trace", "pftrace"];
/// Counters of throughput cover so much time.
const PERIOD_PS: u64 = 1_000_000;

/// The file to write, and the part of the run that is drawn.
#[derive(Clone, Debug)]
pub struct TracksSpec {
    /// The file.
    pub file: PathBuf,
    /// The part.
    pub only: Only,
}

/// Tracks that cannot be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TracksError {
    #[error("{file}: {source}")]
    Write { file: String, source: io::Error },
    #[error("timeline is `{file}`, must end with .{}", PERFETTO.join(" or ."))]
    Suffix { file: String },
    #[error("timeline: {0}")]
    Only(#[from] OnlyError),
}

impl TracksSpec {
    /// A file with the part that these texts describe.
    pub fn parse(file: PathBuf, only: &[String]) -> Result<TracksSpec, TracksError> {
        let suffix = file.extension().and_then(OsStr::to_str).unwrap_or_default();
        if !PERFETTO.contains(&suffix) {
            return Err(TracksError::Suffix { file: file.display().to_string() });
        }
        Ok(TracksSpec { file, only: Only::parse(only)? })
    }
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

/// Where slices are drawn. Packets that are there at the same time have lanes of it.
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
    /// The track of a step: of its place and cause.
    pub track: Box<dyn Fn(&Step) -> Track>,
    /// Names of what cores run, by group of packets and stage. Steps on a core get a slice of this name around them.
    pub runs: Vec<Vec<String>>,
    /// Packets have messages.
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
    /// When it was in the memory for packets.
    pub held: Option<(Cycle, Cycle)>,
    /// When bytes of it left the card, and their number.
    pub left: Option<(Cycle, u64)>,
}

/// A slice as writers get it.
#[derive(Clone, Copy, Debug)]
struct Slice {
    track: u32,
    lane: u32,
    /// Within the slice of what a core runs.
    is_inner: bool,
    /// Position of its name.
    name: u32,
    stage: u8,
    packet: u64,
    message: Option<u64>,
    blocker: Option<u64>,
    takes_ps: u64,
    /// The packet has no step after it.
    is_last: bool,
}

/// Unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Packets,
    Bytes,
    Named(&'static str),
}

/// Name and unit of a counter.
struct CounterAbout {
    name: String,
    unit: Unit,
}

struct Counter {
    about: CounterAbout,
    value: f64,
    /// The value that was written last.
    shown: Option<f64>,
}

/// Counters that each run has.
const INSIDE: usize = 0;
const MEMORY: usize = 1;
const IN: usize = 2;
const OUT: usize = 3;
const BUSY: usize = 4;

/// Items of the same time come in this order.
mod kind {
    pub const END_INNER: u64 = 0;
    pub const END: u64 = 1;
    pub const ADD: u64 = 2;
    pub const SET: u64 = 3;
    pub const BEGIN: u64 = 4;
    pub const BEGIN_INNER: u64 = 5;
}

/// Flags of an item: numbers of the stage and the message are above them.
const IS_HIDDEN: u64 = 1;
const IS_LAST: u64 = 2;
const STAGE_BIT: u32 = 8;
const MESSAGE_BIT: u32 = 16;

/// Lanes of a track.
#[derive(Default)]
struct Lanes {
    /// The lane of each packet that is there.
    of: BTreeMap<u64, u32>,
    free: BinaryHeap<Reverse<u32>>,
}

impl Lanes {
    fn enter(&mut self, packet: u64) -> u32 {
        let lane = self.free.pop().map_or(self.of.len() as u32, |Reverse(lane)| lane);
        self.of.insert(packet, lane);
        lane
    }

    fn leave(&mut self, packet: u64) -> u32 {
        let lane = self.of.remove(&packet).expect("what ends has begun");
        self.free.push(Reverse(lane));
        lane
    }
}

/// The tracks of a run, while they are written.
pub struct Tracks {
    file: String,
    scenery: Scenery,
    chooser: Chooser,
    /// The time that is drawn, in ps.
    window: (u64, u64),
    /// Tracks by place, its numbers and cause.
    of_step: BTreeMap<(u8, [Option<u32>; 2], u8), u32>,
    numbers: BTreeMap<Track, u32>,
    samples: BTreeMap<String, (usize, u64)>,
    sampled: Option<u64>,
    ordered: Ordered,
    stage: Stage,
}

/// State after the items that were put in order so far.
struct Stage {
    perfetto: Perfetto<BufWriter<File>>,
    tracks: Vec<Track>,
    /// Lanes of drawn packets, and the number of all packets, by track.
    lanes: Vec<Lanes>,
    /// The counter of each track.
    counter_of: Vec<Option<usize>>,
    counters: Vec<Counter>,
    changed: Vec<usize>,
    now: u64,
    /// Bytes in and out in this period.
    period: u64,
    moved: [u64; 2],
}

impl Tracks {
    /// Creates the file.
    pub fn create(spec: &TracksSpec, scenery: Scenery) -> Result<Tracks, TracksError> {
        if !scenery.has_messages && !spec.only.messages.is_empty() {
            return Err(OnlyError::NoMessages.into());
        }
        let file = spec.file.display().to_string();
        let fail = |source| TracksError::Write { file: file.clone(), source };
        let names =
            scenery.causes.iter().map(|cause| cause.name.to_owned()).chain(scenery.runs.iter().flatten().cloned());
        let names: Vec<String> = names.collect();
        let out = BufWriter::new(File::create(&spec.file).map_err(fail)?);
        let perfetto = Perfetto::new(out, scenery.stages, &names).map_err(fail)?;
        let mut spill = spec.file.clone().into_os_string();
        spill.push(".waiting");
        let mut stage = Stage {
            perfetto,
            tracks: Vec::new(),
            lanes: Vec::new(),
            counter_of: Vec::new(),
            counters: Vec::new(),
            changed: Vec::new(),
            now: 0,
            period: 0,
            moved: [0; 2],
        };
        for (name, unit) in [
            ("packets inside", Unit::Packets),
            (scenery.memory, Unit::Bytes),
            ("throughput in", Unit::Named("Gbit/s")),
            ("throughput out", Unit::Named("Gbit/s")),
            ("busy cores", Unit::Packets),
        ] {
            stage.add_counter(name.to_owned(), unit);
        }
        let (from, to) = spec.only.time.times();
        Ok(Tracks {
            file: file.clone(),
            scenery,
            chooser: Chooser::new(spec.only.clone()),
            window: (from.ps(), to.ps()),
            of_step: BTreeMap::new(),
            numbers: BTreeMap::new(),
            samples: BTreeMap::new(),
            sampled: None,
            ordered: Ordered::new(PathBuf::from(spill)),
            stage,
        })
    }

    /// Returns true if the bytes of packets decide which are drawn.
    pub fn needs_bytes(&self) -> bool {
        self.chooser.needs_bytes()
    }

    /// A packet arrives.
    pub fn enter(&mut self, packet: u64, bytes: &[u8]) {
        self.chooser.enter(packet, bytes);
    }

    /// A packet has ended.
    pub fn add(&mut self, clock: Clock, subject: &Subject, path: &Path) {
        let [Some(first), Some(last)] = [path.steps.first(), path.steps.last()] else { return };
        let ps = |cycle: Cycle| clock.edge(cycle).ps();
        self.change(INSIDE, [ps(first.from), ps(last.to)], 1);
        let held = subject.held.unwrap_or((first.from, last.to));
        self.change(MEMORY, [held.0, held.1].map(ps), subject.bytes);
        let left = subject.left.map(|(at, bytes)| (OUT, ps(at), bytes));
        for (counter, at, bytes) in [(IN, ps(first.from), subject.bytes)].into_iter().chain(left) {
            if (self.window.0..self.window.1).contains(&at) {
                self.ordered.push([at, kind::ADD, counter as u64, 0, bytes, 0, 0, 0]);
            }
        }
        let hidden = if self.chooser.takes(subject.packet, subject.message) { 0 } else { IS_HIDDEN };
        let message = subject.message.map_or(0, |message| (message + 1) << MESSAGE_BIT);
        let mut at = 0;
        while let Some(step) = path.steps.get(at) {
            let track = self.track(step);
            let name = match self.stage.tracks[track as usize].group {
                Group::Cores => self.run_name(subject.group, step.stage),
                _ => None,
            };
            // Steps that follow each other in a run of a core are within it.
            let mut n = 1;
            while let Some(other) = path.steps.get(at + n).filter(|other| name.is_some() && other.stage == step.stage)
                && self.track(other) == track
            {
                n += 1;
            }
            let steps = &path.steps[at..at + n];
            at += n;
            let is_last = if at == path.steps.len() { IS_LAST } else { 0 };
            let flags = hidden | is_last | message | u64::from(step.stage) << STAGE_BIT;
            let whole = [ps(step.from), ps(steps[n - 1].to)];
            let blocker = |step: &Step| step.blocker.map_or(0, |blocker| blocker + 1);
            let outer = if name.is_some() { 0 } else { blocker(step) };
            self.slice(
                whole,
                [kind::BEGIN, kind::END],
                track,
                subject.packet,
                name.unwrap_or(step.cause.into()),
                outer,
                flags,
            );
            if name.is_some() && hidden == 0 {
                for step in steps {
                    let kinds = [kind::BEGIN_INNER, kind::END_INNER];
                    let times = [ps(step.from), ps(step.to)];
                    self.slice(times, kinds, track, subject.packet, step.cause.into(), blocker(step), flags);
                }
            }
        }
    }

    /// The resources of the card, which were busy since the last call.
    pub fn sample(&mut self, now: Time, resources: &[(Clock, Resource)]) {
        let now = now.ps();
        let before = self.sampled.replace(now);
        for (clock, Resource { path, busy, units, .. }) in resources {
            let stage = &mut self.stage;
            let known = self
                .samples
                .entry(path.clone())
                .or_insert_with(|| (stage.add_counter(format!("busy: {path}"), Unit::Named("%")), 0));
            let (counter, busy_before) = (known.0, std::mem::replace(&mut known.1, *busy));
            let Some(before) = before.filter(|&before| before < now) else { continue };
            let cycles = clock.cycle_at_or_after(Time::from_ps(now)) - clock.cycle_at_or_after(Time::from_ps(before));
            let share = 100.0 * busy.saturating_sub(busy_before) as f64 / (cycles * units) as f64;
            if (self.window.0..self.window.1).contains(&before) {
                self.ordered.push([before, kind::SET, counter as u64, 0, share.to_bits(), 0, 0, 0]);
            }
        }
    }

    /// When [`Tracks::sample`] wants to be called next.
    pub fn sample_at(&self) -> Time {
        self.sampled.map_or(Time::ZERO, |last| Time::from_ps(last + PERIOD_PS))
    }

    /// No packet that is added later begins before this time; none has a number below `first`. Writes what is complete.
    pub fn settle(&mut self, until: Time, first: u64) -> Result<(), TracksError> {
        if !self.ordered.is_due() {
            return Ok(());
        }
        self.chooser.forget_before(first);
        self.play(until.ps().min(self.sampled.unwrap_or(u64::MAX)))
    }

    /// The run is over. Writes everything.
    pub fn finish(&mut self) -> Result<(), TracksError> {
        self.play(u64::MAX)?;
        let finished = self.stage.finish();
        finished.map_err(|source| TracksError::Write { file: self.file.clone(), source })
    }

    fn play(&mut self, until: u64) -> Result<(), TracksError> {
        let stage = &mut self.stage;
        let played = self.ordered.take_before(until, |item| stage.play(item));
        played.map_err(|source| TracksError::Write { file: self.file.clone(), source })
    }

    /// A counter is higher from one time to another.
    fn change(&mut self, counter: usize, times: [u64; 2], by: u64) {
        if let Some([from, to]) = self.drawn(times) {
            self.ordered.push([from, kind::ADD, counter as u64, 0, by, 0, 0, 0]);
            self.ordered.push([to, kind::ADD, counter as u64, 0, by.wrapping_neg(), 0, 0, 0]);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the numbers of an item")]
    fn slice(
        &mut self,
        times: [u64; 2],
        kinds: [u64; 2],
        track: u32,
        packet: u64,
        name: u32,
        blocker: u64,
        flags: u64,
    ) {
        let Some([from, to]) = self.drawn(times) else { return };
        let item = |at, kind| [at, kind, track.into(), packet, name.into(), blocker, times[1] - times[0], flags];
        self.ordered.push(item(from, kinds[0]));
        self.ordered.push(item(to, kinds[1]));
    }

    /// The part of a time that is drawn.
    fn drawn(&self, [from, to]: [u64; 2]) -> Option<[u64; 2]> {
        let [from, to] = [from.max(self.window.0), to.min(self.window.1)];
        (from < to).then_some([from, to])
    }

    fn run_name(&self, group: usize, stage: u8) -> Option<u32> {
        let stages = self.scenery.runs.get(group)?.len();
        let before: usize = self.scenery.runs[..group].iter().map(Vec::len).sum();
        (usize::from(stage) < stages).then(|| (self.scenery.causes.len() + before + usize::from(stage)) as u32)
    }

    fn track(&mut self, step: &Step) -> u32 {
        let key = (step.at.place, step.at.numbers, step.cause);
        if let Some(&known) = self.of_step.get(&key) {
            return known;
        }
        let track = (self.scenery.track)(step);
        let number = match self.numbers.get(&track) {
            Some(&number) => number,
            None => {
                let number = self.numbers.len() as u32;
                self.stage.add_track(track.clone());
                self.numbers.insert(track, number);
                number
            }
        };
        self.of_step.insert(key, number);
        number
    }
}

impl Stage {
    fn add_counter(&mut self, name: String, unit: Unit) -> usize {
        self.counters.push(Counter { about: CounterAbout { name, unit }, value: 0.0, shown: None });
        self.counters.len() - 1
    }

    fn add_track(&mut self, track: Track) {
        let counter = match track.group {
            Group::Cores => None,
            _ => Some(self.add_counter(format!("packets: {}", track.name), Unit::Packets)),
        };
        self.counter_of.push(counter);
        self.lanes.push(Lanes::default());
        self.tracks.push(track);
    }

    /// Takes the next item in order of time.
    fn play(&mut self, item: &Item) -> io::Result<()> {
        let &[at, kind, which, packet, name, blocker, takes_ps, flags] = item;
        self.pass(at)?;
        match kind {
            kind::ADD if matches!(which as usize, IN | OUT) => self.moved[which as usize - IN] += name,
            kind::ADD => self.add(which as usize, name as i64),
            // A part that was never busy needs no counter.
            kind::SET if name == 0 && self.counters[which as usize].shown.is_none() => {}
            kind::SET => {
                self.counters[which as usize].value = f64::from_bits(name);
                self.changed.push(which as usize);
            }
            _ => {
                let track = which as usize;
                if matches!(kind, kind::BEGIN | kind::END) {
                    let counter = self.counter_of[track].unwrap_or(BUSY);
                    self.add(counter, if kind == kind::BEGIN { 1 } else { -1 });
                }
                if flags & IS_HIDDEN != 0 {
                    return Ok(());
                }
                let lanes = &mut self.lanes[track];
                let lane = match kind {
                    kind::BEGIN => lanes.enter(packet),
                    kind::END => lanes.leave(packet),
                    _ => lanes.of[&packet],
                };
                let slice = Slice {
                    track: which as u32,
                    lane,
                    is_inner: matches!(kind, kind::BEGIN_INNER | kind::END_INNER),
                    name: name as u32,
                    stage: (flags >> STAGE_BIT) as u8,
                    packet,
                    message: (flags >> MESSAGE_BIT).checked_sub(1),
                    blocker: blocker.checked_sub(1),
                    takes_ps,
                    is_last: flags & IS_LAST != 0,
                };
                match kind {
                    kind::BEGIN | kind::BEGIN_INNER => self.perfetto.begin(at, &self.tracks[track], &slice)?,
                    _ => self.perfetto.end(at, &self.tracks[track], &slice)?,
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, counter: usize, by: i64) {
        self.counters[counter].value += by as f64;
        self.changed.push(counter);
    }

    /// Time advances: counters that have changed are written.
    fn pass(&mut self, at: u64) -> io::Result<()> {
        if at == self.now {
            return Ok(());
        }
        self.show()?;
        if at / PERIOD_PS > self.period {
            self.end_period()?;
            if at / PERIOD_PS > self.period {
                self.end_period()?; // Nothing has moved since.
            }
            self.period = at / PERIOD_PS;
        }
        self.now = at;
        Ok(())
    }

    fn show(&mut self) -> io::Result<()> {
        for number in self.changed.drain(..) {
            let counter = &mut self.counters[number];
            if counter.shown != Some(counter.value) {
                counter.shown = Some(counter.value);
                self.perfetto.count(self.now, number, &counter.about, counter.value)?;
            }
        }
        Ok(())
    }

    /// Writes the throughput of a period at its end.
    fn end_period(&mut self) -> io::Result<()> {
        self.period += 1;
        for (counter, bytes) in [IN, OUT].into_iter().zip(std::mem::take(&mut self.moved)) {
            let counter_of = &mut self.counters[counter];
            // Bits in a nanosecond.
            let value = (bytes * 8 * 1000) as f64 / PERIOD_PS as f64;
            if counter_of.shown.unwrap_or(0.0) != value {
                counter_of.shown = Some(value);
                self.perfetto.count(self.period * PERIOD_PS, counter, &counter_of.about, value)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.show()?;
        self.end_period()?;
        self.perfetto.finish()
    }
}
