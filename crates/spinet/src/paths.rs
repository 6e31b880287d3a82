//! The path of a packet through a card: steps without gaps, each with the cause of its time and the part that it waits for.
//!
//! A step begins where the one before it ends, so the steps of a packet add up to its time in the card.

use crate::columns::{Columns, columns};
use crate::run::Wanted;
use crate::tracks::{Scenery, Subject, Tracks, TracksError};
use kernel::{Clock, Cycle, Resource, Time};

/// Name of the table of paths.
pub const PATHS: &str = "paths";

/// A cause of time, as the table of paths names it.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, as a sentence.
    pub about: &'static str,
    /// The part of the card that works, or for which the packet waits, as the summary's `resources` name it. `{0}` and
    /// `{1}` are the numbers of the step's place, `{name}` is the name of service `{0}`, and `*` is any text. Empty if
    /// no part can be full.
    pub resource: &'static str,
}

/// Words for the numbers of a column of paths with these stages, places and causes.
pub(crate) fn words(
    column: &str,
    stages: &[&'static str],
    places: &[&'static str],
    causes: &[Cause],
) -> Vec<&'static str> {
    match column {
        "stage" => stages.to_vec(),
        "place" => places.to_vec(),
        "cause" => causes.iter().map(|cause| cause.name).collect(),
        _ => Vec::new(),
    }
}

/// The place of a step: a kind of part, and its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Position in the names of places.
    pub place: u8,
    /// Its number, and the number of a part in it, if it has them.
    pub numbers: [Option<u32>; 2],
}

impl At {
    /// The only part of its kind.
    pub fn only(place: u8) -> At {
        At { place, numbers: [None, None] }
    }

    /// The part of this number.
    pub fn one(place: u8, number: u32) -> At {
        At { place, numbers: [Some(number), None] }
    }
}

/// A step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Position in the names of stages.
    pub stage: u8,
    /// The place of the step.
    pub at: At,
    /// Position in the causes.
    pub cause: u8,
    /// Number of the packet that it waits for, if there is one.
    pub blocker: Option<u64>,
    /// When it begins.
    pub from: Cycle,
    /// When it ends; always after `from`.
    pub to: Cycle,
}

/// A path that is being recorded.
#[derive(Debug)]
pub struct Path {
    now: Cycle,
    /// Its steps so far.
    pub steps: Vec<Step>,
}

/// Number of steps that suffices for most paths.
const USUAL_STEPS: usize = 20;

impl Path {
    /// A path that begins now.
    pub fn from(start: Cycle) -> Path {
        Path { now: start, steps: Vec::with_capacity(USUAL_STEPS) }
    }

    /// Starts the path of another packet at this time. Reuses the memory of this path.
    pub fn restart(&mut self, start: Cycle) {
        self.now = start;
        self.steps.clear();
    }

    /// The end of the last step.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Adds a step that ends at `to`. A step that would take no time is left out.
    pub fn until(&mut self, to: Cycle, stage: u8, at: At, cause: u8, blocker: Option<u64>) {
        if to > self.now {
            self.steps.push(Step { stage, at, cause, blocker, from: self.now, to });
            self.now = to;
        }
    }
}

/// The table of paths.
pub struct PathTable {
    clock: Clock,
    columns: Columns,
}

impl PathTable {
    /// An empty table of times by this clock.
    pub fn new(clock: Clock) -> PathTable {
        PathTable { clock, columns: Columns::new(COLUMNS) }
    }

    /// Adds the path of a packet.
    pub fn add(&mut self, packet: u64, path: &Path) {
        for (number, step) in path.steps.iter().enumerate() {
            self.columns.push(&values(&Row { clock: self.clock, packet, number, step: *step }));
        }
    }

    /// The rows since the last call, column by column as little-endian arrays.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.columns.take()
    }
}

/// The destinations of a run's paths: their table, and the tracks of a timeline.
pub struct PathLog {
    clock: Clock,
    table: Option<PathTable>,
    tracks: Option<Tracks>,
}

impl PathLog {
    /// The log of a run whose paths have times by this clock; `None` if nobody wants paths. Creates the file of the timeline.
    pub fn new(
        wanted: &Wanted,
        clock: Clock,
        scenery: impl FnOnce() -> Scenery,
    ) -> Result<Option<PathLog>, TracksError> {
        let table = wanted.paths.then(|| PathTable::new(clock));
        let tracks = wanted.tracks.as_ref().map(|spec| Tracks::create(spec, scenery())).transpose()?;
        Ok((table.is_some() || tracks.is_some()).then_some(PathLog { clock, table, tracks }))
    }

    /// Returns true if the bytes of packets decide which packets are drawn.
    pub fn needs_bytes(&self) -> bool {
        self.tracks.as_ref().is_some_and(Tracks::needs_bytes)
    }

    /// A packet arrives. Numbers count up.
    pub fn enter(&mut self, packet: u64, bytes: &[u8]) {
        if let Some(tracks) = &mut self.tracks {
            tracks.enter(packet, bytes);
        }
    }

    /// Adds the path of a packet.
    pub fn add(&mut self, subject: Subject, path: &Path) {
        if let Some(table) = &mut self.table {
            table.add(subject.packet, path);
        }
        if let Some(tracks) = &mut self.tracks {
            tracks.add(self.clock, subject, path);
        }
    }

    /// Reports arrival and number of the oldest packet inside. If there is none, they are lower bounds for the next one.
    pub fn settle(&mut self, arrival: Cycle, packet: u64) -> Result<(), TracksError> {
        let arrival = self.clock.edge(arrival);
        self.tracks.as_mut().map_or(Ok(()), |tracks| tracks.settle(arrival, packet))
    }

    /// The run is over: ends the timeline.
    pub fn finish(&mut self) -> Result<(), TracksError> {
        self.tracks.take().map_or(Ok(()), Tracks::finish)
    }

    /// The next time for a sample of the resources for the timeline: `next`, the time of the next event, or later.
    pub fn sample_at(&self, next: Option<Time>) -> Option<Time> {
        Some(self.tracks.as_ref()?.sample_at().max(next.unwrap_or(Time::ZERO)))
    }

    /// Samples the resources of the card at this time, for the timeline: `resources` lists them, and `loads` appends
    /// their busy cycles.
    pub fn sample(
        &mut self,
        now: Time,
        resources: impl FnOnce() -> Vec<(Clock, Resource)>,
        loads: impl FnOnce(&mut Vec<u64>),
    ) -> Result<(), TracksError> {
        self.tracks.as_mut().map_or(Ok(()), |tracks| tracks.sample(now, resources, loads))
    }

    /// The rows of the table since the last call, column by column as little-endian arrays; `None` if there is no table.
    pub fn take(&mut self) -> Option<Vec<(&'static str, Vec<u8>)>> {
        self.table.as_mut().map(PathTable::take)
    }
}

/// The values from which a row is computed.
struct Row {
    clock: Clock,
    packet: u64,
    number: usize,
    step: Step,
}

impl Row {
    fn ps(&self, cycle: Cycle) -> i64 {
        self.clock.edge(cycle).ps() as i64
    }

    fn number(&self, which: usize) -> i64 {
        self.step.at.numbers[which].map_or(-1, i64::from)
    }
}

columns! {
    /// Columns of the table of paths: one row for each step. The steps of a packet follow each other without gaps.
    COLUMNS, values(r: &Row):
    "packet" U64 "number of the packet" => r.packet as i64;
    "step" U32 "position of the step in its path, from 0" => r.number as i64;
    "stage" U8 "what the card does with the packet" => r.step.stage.into();
    "place" U8 "kind of the part where the packet, or what it waits for, is" => r.step.at.place.into();
    "index" I32 "number of that part" => r.number(0);
    "subindex" I32 "number of a part in it" => r.number(1);
    "cause" U8 "why it takes time" => r.step.cause.into();
    "blocker" I64 "number of the packet that is waited for" => r.step.blocker.map_or(-1, |packet| packet as i64);
    "from_ps" I64 "when it begins, in picoseconds since reset" => r.ps(r.step.from);
    "takes_ps" I64 "how long it takes" => r.ps(r.step.to) - r.ps(r.step.from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_each_other_without_gaps() {
        let mut path = Path::from(10);
        path.until(14, 0, At::only(0), 1, None);
        path.until(14, 0, At::only(0), 2, None);
        path.until(12, 0, At::only(0), 2, None);
        path.until(20, 1, At::one(2, 7), 3, Some(4));
        let spans: Vec<_> = path.steps.iter().map(|step| (step.cause, step.from, step.to)).collect();
        assert_eq!((spans, path.now()), (vec![(1, 10, 14), (3, 14, 20)], 20));
    }
}
