//! Draws tracks: turns the paths of packets into slices and counters in order of time, for the writers.

use super::lanes::{Lanes, OfSteps};
use super::order::{KIND_BITS, KINDS, Ordered};
use super::perfetto::{self, About, Perfetto, first_id};
use super::waves::Waves;
use super::{Group, Note, PERIOD_PS, Scenery, Subject, Track, TracksError, TracksSpec};
use crate::paths::Step;
use kernel::{Clock, Cycle, Resource, Time};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// A slice as writers get it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Slice {
    pub track: u32,
    pub lane: u32,
    /// True for a step within the slice of a handler or program on a core.
    pub is_inner: bool,
    /// Position of its name.
    pub name: u32,
    pub stage: u8,
    pub packet: u64,
    /// Identity of the packet, unique in the trace; 1 or more.
    pub flow: u64,
    pub blocker: Option<u64>,
    pub takes_ps: u64,
    /// True for the last slice of the packet.
    pub is_last: bool,
}

/// Unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Packets,
    Bytes,
    Named(&'static str),
}

/// Subject of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    /// The card.
    Card,
    /// Packets on this track.
    Track(u32),
    /// The load of a resource of the card.
    Resource,
}

/// A counter as writers get it.
pub(super) struct CounterAbout {
    pub name: String,
    pub unit: Unit,
    pub of: Of,
    /// True if timelines omit it, because slices show the same.
    pub is_in_slices: bool,
}

struct Counter {
    about: CounterAbout,
    value: f64,
    /// The value was set at the current time.
    is_touched: bool,
    /// The last written value.
    shown: Option<f64>,
}

/// A resource with its load up to the last sample.
struct Sampled {
    clock: Clock,
    resource: Resource,
    /// Its counter, once it was sampled.
    counter: Option<usize>,
}

impl Sampled {
    /// A resource that was not sampled.
    fn new((clock, resource): (Clock, Resource)) -> Sampled {
        Sampled { clock, resource: Resource { busy: 0, ..resource }, counter: None }
    }
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

/// Number of words of an item, by kind. The first word is that of [`key`]. The end of a slice has a second word: track
/// and entry. The beginning of a slice has three more: the name with its flags, the blocker and the duration. The
/// setting of a counter has the number of the counter and the value. The raise of a counter has both in one word, see
/// [`COUNTER_BITS`].
const LENGTHS: [usize; KINDS] = [2, 2, 2, 3, 5, 5, 1, 1];
/// Number of lowest bits of the word that raises a counter. They name the counter, which is one that each run has. The
/// other bits are the amount.
const COUNTER_BITS: u32 = 8;

/// The first number of an item.
fn key(at: u64, kind: u64) -> u64 {
    at << KIND_BITS | kind
}

/// An item that raises one of the counters that each run has.
fn rise(at: u64, counter: usize, by: i64) -> [u64; 2] {
    debug_assert!(counter < 1 << COUNTER_BITS);
    [key(at, kind::ADD), (by << COUNTER_BITS) as u64 | counter as u64]
}

/// The entry of a hidden packet. A word with track and entry has the entry in its upper bits.
const HIDDEN: u64 = u32::MAX as u64;
const ENTRY_BIT: u32 = 32;
/// Bits above the name of a slice: a flag for the last slice of its packet, and the stage.
const IS_LAST: u64 = 1 << 32;
const STAGE_BIT: u32 = 40;

/// Tracks that are drawn.
pub(super) struct Drawing {
    file: String,
    scenery: Scenery,
    /// The drawn window: its beginning and the first time after it, in ps.
    window: (u64, u64),
    of_step: OfSteps,
    numbers: BTreeMap<Track, u32>,
    samples: Vec<Sampled>,
    sampled: Option<u64>,
    ordered: Ordered,
    stage: Stage,
}

/// A packet with slices that wait or have begun. Its slices follow each other, so it has one lane at a time.
struct Drawn {
    packet: u64,
    about: About,
    /// The lane of the slice that began last.
    lane: u32,
    /// Slices that have not ended.
    open: u32,
}

/// State after the items that were played so far.
struct Stage {
    perfetto: Option<Perfetto>,
    waves: Option<Waves>,
    /// Identity of packet 0.
    first_flow: u64,
    tracks: Vec<Track>,
    /// Lanes of drawn packets, by track.
    lanes: Vec<Lanes>,
    /// Drawn packets, and the free entries of this list.
    drawn: Vec<Drawn>,
    free: Vec<u64>,
    /// The counter of each track.
    counter_of: Vec<usize>,
    counters: Vec<Counter>,
    changed: Vec<usize>,
    now: u64,
    /// Number of the current period, and bytes in and out within it.
    period: u64,
    moved: [u64; 2],
}

impl Drawing {
    /// Creates the files.
    pub fn create(spec: &TracksSpec, scenery: Scenery) -> Result<Drawing, TracksError> {
        let names =
            scenery.causes.iter().map(|cause| cause.name.to_owned()).chain(scenery.runs.iter().flatten().cloned());
        let names: Vec<String> = names.collect();
        let fail = |file: &PathBuf| {
            let file = file.display().to_string();
            move |source| TracksError::Write { file, source }
        };
        let (from, to) = spec.only.time.times();
        let window = (from.ps(), to.ps());
        let perfetto =
            |file: &PathBuf| Perfetto::create(file, scenery.stages, &names, spec.node.as_ref()).map_err(fail(file));
        let waves = |file: &PathBuf| Waves::create(file, window.0, &names, spec.node.as_ref()).map_err(fail(file));
        let perfetto = spec.timeline.as_ref().map(perfetto).transpose()?;
        let waves = spec.waves.as_ref().map(waves).transpose()?;
        let file = spec.timeline.as_ref().or(spec.waves.as_ref()).expect("there is a file");
        let mut spill = file.clone().into_os_string();
        spill.push(".waiting");
        let mut stage = Stage {
            perfetto,
            waves,
            first_flow: first_id(spec.node.as_ref()),
            tracks: Vec::new(),
            lanes: Vec::new(),
            drawn: Vec::new(),
            free: Vec::new(),
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
            stage.add_counter(CounterAbout { name: name.to_owned(), unit, of: Of::Card, is_in_slices: false });
        }
        Ok(Drawing {
            file: file.display().to_string(),
            scenery,
            window,
            of_step: OfSteps::default(),
            numbers: BTreeMap::new(),
            samples: Vec::new(),
            sampled: None,
            ordered: Ordered::new(PathBuf::from(spill), LENGTHS),
            stage,
        })
    }

    /// Takes the next record of the run; `steps` and `loads` are those of its batch.
    pub fn note(&mut self, note: Note, steps: &[Step], loads: &[u64]) -> Result<(), TracksError> {
        match note {
            Note::Packet { clock, subject, steps: of, is_hidden } => self.add(clock, &subject, &steps[of], is_hidden),
            Note::Resources(resources) => self.samples = resources.into_iter().map(Sampled::new).collect(),
            Note::Sample { now, loads: of } => self.sample(now.ps(), &loads[of]),
            Note::Settled(until) if self.ordered.is_due() => {
                self.play(until.ps().min(self.sampled.unwrap_or(u64::MAX)))?;
            }
            Note::Settled(_) => {}
            Note::Over => {
                self.play(u64::MAX)?;
                self.stage.finish().map_err(|source| self.failed(source))?;
            }
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TracksError {
        TracksError::Write { file: self.file.clone(), source }
    }

    fn add(&mut self, clock: Clock, subject: &Subject, all: &[Step], is_hidden: bool) {
        let [Some(first), Some(last)] = [all.first(), all.last()] else { return };
        let period = clock.whole_period_ps();
        let ps = |cycle: Cycle| period.map_or_else(|| clock.edge(cycle).ps(), |period| cycle * period);
        self.change(INSIDE, [ps(first.from), ps(last.to)], 1);
        let held = subject.held.unwrap_or((first.from, last.to));
        self.change(MEMORY, [held.0, held.1].map(ps), subject.bytes);
        let left = subject.left.map(|(at, bytes)| (OUT, ps(at), bytes));
        for (counter, at, bytes) in [(IN, ps(first.from), subject.bytes)].into_iter().chain(left) {
            if (self.window.0..self.window.1).contains(&at) {
                self.ordered.push(rise(at, counter, bytes as i64));
            }
        }
        let blocker = |step: &Step| step.blocker.map_or(0, |blocker| blocker + 1);
        let entry = if is_hidden { HIDDEN } else { self.stage.entry(subject) };
        let (mut at, mut n_drawn) = (0, 0);
        let mut next = self.track(first);
        while let Some(step) = all.get(at) {
            let track = next;
            let name = match self.stage.tracks[track as usize].group {
                Group::Cores => self.run_name(subject.group, step.stage),
                _ => None,
            };
            // Consecutive steps of one handler or program on a core share its slice.
            let mut n = 1;
            while let Some(other) = all.get(at + n) {
                next = self.track(other);
                if name.is_none() || other.stage != step.stage || next != track {
                    break;
                }
                n += 1;
            }
            let steps = &all[at..at + n];
            at += n;
            let is_last = if at == all.len() { IS_LAST } else { 0 };
            let flags = is_last | u64::from(step.stage) << STAGE_BIT;
            let whole = [ps(step.from), ps(steps[n - 1].to)];
            let Some(drawn) = self.drawn(whole) else { continue };
            n_drawn += 1;
            let place = u64::from(track) | entry << ENTRY_BIT;
            let begin = |at, kind, name: u32, blocker, [from, to]: [u64; 2]| {
                [key(at, kind), place, flags | u64::from(name), blocker, to - from]
            };
            let outer = if name.is_some() { 0 } else { blocker(step) };
            let name_of_all = name.unwrap_or(step.cause.into());
            self.ordered.push(begin(drawn[0], kind::BEGIN, name_of_all, outer, whole));
            if name.is_some() && !is_hidden {
                for step in steps {
                    let times = [ps(step.from), ps(step.to)];
                    if let Some([from, to]) = self.drawn(times) {
                        self.ordered.push(begin(from, kind::BEGIN_INNER, step.cause.into(), blocker(step), times));
                        self.ordered.push([key(to, kind::END_INNER), place]);
                    }
                }
            }
            self.ordered.push([key(drawn[1], kind::END), place]);
        }
        if !is_hidden {
            self.stage.opened(entry, n_drawn);
        }
    }

    fn sample(&mut self, now: u64, loads: &[u64]) {
        let before = self.sampled.replace(now);
        for (sampled, &busy) in self.samples.iter_mut().zip(loads) {
            let Sampled { clock, resource, counter } = sampled;
            let stage = &mut self.stage;
            let counter = *counter.get_or_insert_with(|| {
                let (name, unit) = (format!("busy: {}", resource.path), Unit::Named("%"));
                stage.add_counter(CounterAbout { name, unit, of: Of::Resource, is_in_slices: false })
            });
            let busy_before = std::mem::replace(&mut resource.busy, busy);
            let Some(before) = before.filter(|&before| before < now) else { continue };
            let cycles = clock.cycle_at_or_after(Time::from_ps(now)) - clock.cycle_at_or_after(Time::from_ps(before));
            let share = 100.0 * busy.saturating_sub(busy_before) as f64 / (cycles * resource.units) as f64;
            if (self.window.0..self.window.1).contains(&before) {
                self.ordered.push([key(before, kind::SET), counter as u64, share.to_bits()]);
            }
        }
    }

    /// Writes everything before this time.
    fn play(&mut self, until: u64) -> Result<(), TracksError> {
        let stage = &mut self.stage;
        let played = self.ordered.take_before(until, |item| stage.play(item));
        played.map_err(|source| self.failed(source))
    }

    /// Raises a counter between two times.
    fn change(&mut self, counter: usize, times: [u64; 2], by: u64) {
        if let Some([from, to]) = self.drawn(times) {
            self.ordered.push(rise(from, counter, by as i64));
            self.ordered.push(rise(to, counter, -(by as i64)));
        }
    }

    /// The part of a time span that is within the drawn window.
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
        if let Some(known) = *self.of_step.of(step) {
            return known;
        }
        let track = (self.scenery.track)(step);
        let number = match self.numbers.get(&track) {
            Some(&number) => number,
            None => {
                let number = self.numbers.len() as u32;
                self.stage.add_track(number, track.clone());
                self.numbers.insert(track, number);
                number
            }
        };
        *self.of_step.of(step) = Some(number);
        number
    }
}

impl Stage {
    fn add_counter(&mut self, about: CounterAbout) -> usize {
        if let Some(waves) = &mut self.waves {
            waves.add_counter(self.counters.len(), &about);
        }
        self.counters.push(Counter { about, value: 0.0, is_touched: false, shown: None });
        self.counters.len() - 1
    }

    fn add_track(&mut self, number: u32, track: Track) {
        if let Some(waves) = &mut self.waves {
            waves.add_track(&track);
        }
        let counter = self.add_counter(CounterAbout {
            name: format!("packets: {}", track.name),
            unit: Unit::Packets,
            of: Of::Track(number),
            is_in_slices: track.group == Group::Cores,
        });
        self.counter_of.push(counter);
        self.lanes.push(Lanes::default());
        self.tracks.push(track);
    }

    /// A free entry for a packet.
    fn entry(&mut self, &Subject { packet, message, .. }: &Subject) -> u64 {
        let drawn = Drawn { packet, about: perfetto::about(packet, message), lane: 0, open: 0 };
        match self.free.pop() {
            Some(entry) => {
                self.drawn[entry as usize] = drawn;
                entry
            }
            None => {
                self.drawn.push(drawn);
                self.drawn.len() as u64 - 1
            }
        }
    }

    /// Sets the number of slices of a packet. The slices come later.
    fn opened(&mut self, entry: u64, slices: u32) {
        self.drawn[entry as usize].open = slices;
        if slices == 0 {
            self.free.push(entry);
        }
    }

    /// Processes the next item in order of time.
    fn play(&mut self, item: &[u64]) -> io::Result<()> {
        let (at, kind) = (item[0] >> KIND_BITS, item[0] & ((1 << KIND_BITS) - 1));
        if at != self.now {
            self.pass(at)?;
        }
        match (kind, item) {
            (kind::ADD, &[_, rise]) => {
                let (counter, by) = ((rise & ((1 << COUNTER_BITS) - 1)) as usize, rise as i64 >> COUNTER_BITS);
                match counter {
                    IN | OUT => self.moved[counter - IN] += by as u64,
                    _ => self.add(counter, by),
                }
                return Ok(());
            }
            // A resource that was never busy needs no counter.
            (kind::SET, &[_, counter, 0]) if self.counters[counter as usize].shown.is_none() => return Ok(()),
            (kind::SET, &[_, counter, value]) => {
                self.set(counter as usize, f64::from_bits(value));
                return Ok(());
            }
            _ => {}
        }
        let (track, entry) = (item[1] as u32, item[1] >> ENTRY_BIT);
        let is_inner = matches!(kind, kind::BEGIN_INNER | kind::END_INNER);
        let begin = <&[u64; 5]>::try_from(item).ok();
        let of_track = track as usize;
        if !is_inner {
            let by = if begin.is_some() { 1 } else { -1 };
            if self.tracks[of_track].group == Group::Cores {
                self.add(BUSY, by);
            }
            self.add(self.counter_of[of_track], by);
        }
        if entry == HIDDEN {
            return Ok(());
        }
        let drawn = &mut self.drawn[entry as usize];
        let Some(&[_, _, name, blocker, takes_ps]) = begin else {
            let lane = drawn.lane;
            if !is_inner {
                self.lanes[of_track].leave(lane);
                drawn.open -= 1;
                if drawn.open == 0 {
                    self.free.push(entry);
                }
            }
            if let Some(perfetto) = &mut self.perfetto {
                perfetto.end(at, &self.tracks[of_track], track, lane)?;
            }
            if let Some(waves) = &mut self.waves {
                waves.slice(&Slice { track, lane, is_inner, ..Slice::default() }, false);
            }
            return Ok(());
        };
        if !is_inner {
            drawn.lane = self.lanes[of_track].enter();
        }
        let slice = Slice {
            track,
            lane: drawn.lane,
            is_inner,
            name: name as u32,
            stage: (name >> STAGE_BIT) as u8,
            packet: drawn.packet,
            flow: self.first_flow + drawn.packet,
            blocker: blocker.checked_sub(1),
            takes_ps,
            is_last: name & IS_LAST != 0,
        };
        if let Some(perfetto) = &mut self.perfetto {
            perfetto.begin(at, &self.tracks[of_track], &slice, &drawn.about)?;
        }
        if let Some(waves) = &mut self.waves {
            waves.slice(&slice, true);
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, counter: usize, by: i64) {
        self.set(counter, self.counters[counter].value + by as f64);
    }

    #[inline]
    fn set(&mut self, number: usize, value: f64) {
        let counter = &mut self.counters[number];
        counter.value = value;
        if !std::mem::replace(&mut counter.is_touched, true) {
            self.changed.push(number);
        }
    }

    /// Advances the time to `at`, a later one. Writes the counters that have changed.
    fn pass(&mut self, at: u64) -> io::Result<()> {
        self.show()?;
        if at / PERIOD_PS > self.period {
            self.end_period()?;
            if at / PERIOD_PS > self.period {
                self.end_period()?; // No bytes moved in the periods after it.
            }
            self.period = at / PERIOD_PS;
        }
        self.now = at;
        Ok(())
    }

    fn show(&mut self) -> io::Result<()> {
        let mut changed = std::mem::take(&mut self.changed);
        for number in changed.drain(..) {
            self.count(self.now, number)?;
        }
        self.changed = changed;
        self.waves.as_mut().map_or(Ok(()), |waves| waves.pass(self.now))
    }

    /// Writes a counter if it has changed.
    fn count(&mut self, at: u64, number: usize) -> io::Result<()> {
        let counter = &mut self.counters[number];
        counter.is_touched = false;
        if counter.shown == Some(counter.value) {
            return Ok(());
        }
        counter.shown = Some(counter.value);
        if let Some(waves) = &mut self.waves {
            waves.count(number, &counter.about, counter.value);
        }
        match &mut self.perfetto {
            Some(perfetto) if !counter.about.is_in_slices => perfetto.count(at, number, &counter.about, counter.value),
            _ => Ok(()),
        }
    }

    /// Writes the throughput of a period at its end.
    fn end_period(&mut self) -> io::Result<()> {
        self.period += 1;
        for (counter, bytes) in [IN, OUT].into_iter().zip(std::mem::take(&mut self.moved)) {
            // Bits per nanosecond.
            let value = (bytes * 8 * 1000) as f64 / PERIOD_PS as f64;
            if self.counters[counter].shown.unwrap_or(0.0) != value {
                self.counters[counter].value = value;
                self.count(self.period * PERIOD_PS, counter)?;
            }
        }
        self.waves.as_mut().map_or(Ok(()), |waves| waves.pass(self.period * PERIOD_PS))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.show()?;
        self.end_period()?;
        if let Some(waves) = &mut self.waves {
            waves.finish(self.now)?;
        }
        self.perfetto.as_mut().map_or(Ok(()), Perfetto::finish)
    }
}
