//! A card that is wired from modules, as a run sees it: takes firmware and traffic, returns frames and times.

use super::paths::{Recorded, picoseconds, places, scenery};
use super::setup::{CardProgram, MOST_IMAGE_BYTES, Setup, Sides};
use super::timeline::Timeline;
use super::traffic::CardTrafficError;
use super::{CardError, design};
use crate::captured::CaptureFailed;
use crate::debug::Cores;
use crate::elf::{Elf, ElfError, Machine};
use crate::experiment::Problem;
use crate::instructions::{CoreTraces, TraceWriteError};
use crate::paths::{PATHS, PathLog};
use crate::profile::{self, Profile};
use crate::room::{self, NoRoom};
use crate::run::{Card, Departure, Ended, HORIZON, InjectError, Port, Progress, Rows, RunError, Simulated, Wanted};
use crate::toml_text::KeyPosition;
use crate::tracks::TracksError;
use blocks::assist::MacReceive;
use blocks::ethernet::Frame;
use blocks::feeders::{FrameSink, FrameTraffic, Frames, Offered, PacketFeeder};
use blocks::memory::sizes;
use blocks::mips::{self, MipsCore};
use blocks::netlist::{self, Design, Environment};
use kernel::{Clock, Mode, Outcome, Resource, Time};
use serde_json::Value;
use spinach::LoadError;
use spinach::hosts::{self, SharedHost};
use spinach::tigon2::ImageError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Interval at which the card checks for the end of the run.
const LOOK: Time = Time::from_ns(2_000);
/// A run continues for this time after all its frames are through, because a frame may come out twice.
const GRACE: Time = Time::from_ns(200_000);
/// A run in which frames are still missing continues for this time after the last frame that came out.
const LONG_GRACE: Time = Time::from_ns(5_000_000);
/// A run without a limit whose hosts have not started by then is over.
const LATEST_START: Time = Time::from_ns(400_000_000);
/// A run without a limit continues for this time after its start if its traffic is endless or empty.
const ENDLESS: Time = Time::from_ns(40_000_000);
/// Idle time is skipped up to this time before the next frame.
const LEAD: Time = Time::from_ns(10_000);
/// Shorter idle time is not skipped: firmware has timers of microseconds to milliseconds, which stop during skipped time.
const LEAST_SKIP: Time = Time::from_ns(5_000_000);

/// A run that cannot start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum WiredError {
    #[error(transparent)]
    Card(#[from] CardError),
    #[error(transparent)]
    Traffic(#[from] CardTrafficError),
    #[error("{nic}: {source}")]
    Room { nic: String, source: NoRoom },
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
    #[error("{file}: {source}")]
    Image { file: String, source: ImageError },
    #[error("{file}: {source}")]
    Load { file: String, source: LoadError },
    #[error(transparent)]
    Trace(#[from] TraceWriteError),
    #[error(transparent)]
    Tracks(#[from] TracksError),
    #[error("{file}: firmware of {nic} must be an ELF file: an image says nothing of its two memories")]
    NoElf { file: String, nic: String },
    #[error("{file}: it has more than {MOST_IMAGE_BYTES} bytes, which no card holds")]
    Long { file: String },
    #[error("{place}{key}: {problem}")]
    Key { place: KeyPosition, key: String, problem: Box<Problem> },
    #[error("{nic}: its host loads firmware; name some with --firmware")]
    NoFirmware { nic: String },
    #[error("{nic}: {problem}")]
    Offered { nic: String, problem: String },
    #[error("{nic}: there is no {what} on this card, so nothing can come of `{text}`")]
    NoSuchSide { nic: String, what: &'static str, text: String },
    #[error("traffic: `{text}`: frames come from other cards here, so {nic} must have no traffic of its own")]
    TrafficAndLines { nic: String, text: String },
}

/// A card that is wired from modules, with its hosts and its traffic.
pub struct WiredCard {
    pub(super) setup: Setup,
    pub(super) design: Design,
    pub(super) card: netlist::Card,
    pub(super) elf: Option<Elf>,
    pub(super) hosts: Vec<SharedHost>,
    pub(super) cores: Vec<(String, Rc<RefCell<MipsCore>>)>,
    pub(super) feeders: Vec<Rc<RefCell<PacketFeeder>>>,
    pub(super) sinks: Vec<Rc<RefCell<FrameSink>>>,
    pub(super) receivers: Vec<Rc<RefCell<MacReceive>>>,
    pub(super) sides: Sides,
    pub(super) offered: Offered,
    /// Time that the card has run, without skipped idle time.
    pub(super) now: Time,
    /// Time of the last movement of a frame, and the number of movements by then.
    moved: (Time, u64),
    /// When all hosts had started, and the busy cycles of each resource by then.
    busy_before: Option<(Time, Vec<u64>)>,
    /// Skipped idle times: the time on the card's clock, and the sum so far.
    skips: Vec<(Time, Time)>,
    traces: CoreTraces,
    pub(super) timeline: Timeline,
    pub(super) ended: Option<Ended>,
    pub(super) wanted: Wanted,
    /// The card stops exactly at the requested time, not at its next check for the end.
    pub(super) stops_exactly: bool,
    is_closed: bool,
    /// Transfers of frames, if paths are wanted.
    recorded: Option<Recorded>,
    paths: Option<PathLog>,
    /// The tables, once the run is over, until they are taken.
    rows: Vec<Rows>,
}

impl WiredCard {
    /// Builds the card.
    pub fn new(setup: Setup, wanted: &Wanted) -> Result<WiredCard, WiredError> {
        let nic = &setup.experiment.common.nic;
        if let (true, Some(spec)) = (wanted.lines, setup.experiment.common.traffic.iter().next()) {
            return Err(WiredError::TrafficAndLines { nic: nic.preset.clone(), text: spec.source.clone() });
        }
        let design = design(&nic.preset, &nic.set.0, &setup.base_dir)?;
        let mut sides = setup.sides(&design)?;
        if wanted.lines {
            sides.network.traffic = FrameTraffic { frames: Frames::Line(Default::default()), ..Default::default() };
        }
        let offered = sides.offered();
        let CardProgram { elf, image } = setup.program(&design, wanted.programs.get("").map(PathBuf::as_path))?;
        let mut environment = Environment::default();
        environment.insert(Rc::new(offered.clone()));
        let is_loaded_by_host = image.is_some();
        image.into_iter().for_each(|image| environment.insert(Rc::new(image)));
        let memories = sizes(&design);
        let paths: Vec<&str> = memories.iter().map(|(path, _)| path.as_str()).collect();
        room::check(&format!("its memories ({})", paths.join(", ")), memories.iter().map(|&(_, size)| size).sum())
            .map_err(|source| WiredError::Room { nic: setup.nic().into(), source })?;
        let card = netlist::Card::build(&design, setup.experiment.common.seed, &environment);
        if let (false, Some(elf)) = (is_loaded_by_host, &elf) {
            let parts = elf.sections.iter().map(|part| (part.addr, &part.bytes[..]));
            spinach::load(&card, elf.entry, parts)
                .map_err(|source| WiredError::Load { file: elf.file.clone(), source })?;
        }
        let cores = card.parts::<MipsCore>();
        let cores: Vec<_> = cores.into_iter().map(|(path, core)| (path.to_owned(), core)).collect();
        if setup.experiment.profile || wanted.profile {
            let ranges = profile::ranges(elf.iter());
            cores.iter().for_each(|(_, core)| core.borrow_mut().set_profile(mips::Profile::new(ranges.clone())));
        }
        let feeders = card.parts::<PacketFeeder>().into_iter().map(|(_, feeder)| feeder).collect();
        let sinks: Vec<_> = card.parts::<FrameSink>().into_iter().map(|(_, sink)| sink).collect();
        sinks.iter().filter(|_| wanted.lines).for_each(|sink| sink.borrow_mut().keep_departures());
        let receivers = card.parts::<MacReceive>().into_iter().map(|(_, receiver)| receiver).collect();
        let hosts = hosts::of(&card);
        for host in &hosts {
            host.borrow()
                .check(&offered)
                .map_err(|problem| WiredError::Offered { nic: setup.nic().into(), problem })?;
        }
        let recorded = (wanted.needs_paths() || wanted.drops).then(|| Recorded::start(&design, &card, &hosts));
        // Last, so that no file is created if another step fails.
        let traces = match &wanted.instructions {
            Some((folder, choice)) => CoreTraces::start_wired(&clocked(&design, &cores), folder, choice)?,
            None => CoreTraces::default(),
        };
        let timeline = Timeline::new(&setup.experiment.at, &card, &setup.base_dir);
        let timeline = timeline.map_err(|fault| setup.fault(fault))?;
        let paths = PathLog::new(wanted, picoseconds(), || scenery(places(&design, &card)))?;
        Ok(WiredCard {
            setup,
            design,
            card,
            elf,
            hosts,
            cores,
            feeders,
            sinks,
            receivers,
            sides,
            offered,
            now: Time::ZERO,
            moved: (Time::ZERO, 0),
            busy_before: None,
            skips: Vec::new(),
            traces,
            timeline,
            ended: None,
            wanted: wanted.clone(),
            stops_exactly: wanted.lines,
            is_closed: false,
            recorded,
            paths,
            rows: Vec::new(),
        })
    }

    /// The running card, for tests and tools that inspect it.
    pub fn card(&self) -> &netlist::Card {
        &self.card
    }

    /// Frames that came out: at the network and at the hosts.
    fn frames(&self) -> u64 {
        let sent: u64 = self.sinks.iter().map(|sink| sink.borrow().log().frames()).sum();
        sent + self.hosts.iter().map(|host| host.borrow().received().frames()).sum::<u64>()
    }

    fn judge(&mut self, outcome: Outcome) -> Option<Ended> {
        let moves = self.moves();
        let has_started = self.has_started();
        if has_started && self.busy_before.is_none() {
            self.busy_before =
                Some((self.now, self.card.system.resources().into_iter().map(|(_, one)| one.busy).collect()));
        }
        if moves != self.moved.1 || !has_started {
            self.moved = (self.now, moves);
        }
        if let Some(text) = self.trouble() {
            return Some(Ended::Trouble(text));
        }
        if let Some(text) = self.hosts.iter().find_map(|host| host.borrow().diagnosis()) {
            return Some(Ended::Stalled(Some(text)));
        }
        if self.wanted.lines {
            return (self.now >= self.setup.limit().unwrap_or(HORIZON)).then_some(Ended::Limit); // More frames may come.
        }
        // Nothing moves before the hosts have started.
        let begun = self.hosts.iter().filter_map(|host| host.borrow().started()).max().unwrap_or(Time::ZERO);
        let still = self.now - self.moved.0.max(begun);
        let grace = if self.is_accounted_for() { GRACE } else { LONG_GRACE };
        let has_actions = self.next_action().is_some_and(|at| at < self.limit(begun));
        let (is_through, stall_limit) = (self.is_through(), self.setup.experiment.common.stall_limit);
        match () {
            _ if is_through && still >= grace && !has_actions => Some(Ended::Complete),
            _ if outcome == Outcome::Quiet && !has_actions => {
                Some(if is_through { Ended::Complete } else { Ended::Quiet })
            }
            _ if self.now >= self.limit(begun) => Some(Ended::Limit),
            _ if !has_started => None,
            _ if still >= grace && self.skip_idle() => None,
            _ if has_actions => None,
            _ if still >= stall_limit.time() => {
                let text = format!("no frame came out of the card for {stall_limit}");
                Some(Ended::Stalled(Some(text)))
            }
            _ => None,
        }
    }

    fn has_started(&self) -> bool {
        self.hosts.iter().all(|host| host.borrow().started().is_some())
    }

    /// A number that grows with every frame that moves. A frame that finds no room in the card does not count. If the
    /// traffic is endless, frames that enter the card do not count.
    fn moves(&self) -> u64 {
        let [sent, received] = self.fates();
        if self.is_finite() {
            let no_room = received.overrun + received.no_buffer + received.no_descriptor;
            self.frames() + sent.given() + received.given() - no_room
        } else {
            self.frames() + received.filtered + received.damaged
        }
    }

    /// Returns true if the number of frames that came out, or were dropped for a counted reason, equals the number
    /// given to the card.
    fn is_accounted_for(&self) -> bool {
        let [sent, received] = self.fates();
        self.frames() + sent.dropped() + received.dropped() >= sent.given() + received.given()
    }

    /// When the next frame or action is due, if no frame is on the line or waits to be sent.
    fn next_due(&self) -> Option<Time> {
        let feeders = self.feeders.iter().filter(|feeder| !feeder.borrow().is_done());
        let hosts = self.hosts.iter().filter(|host| !host.borrow().is_done());
        let network = feeders.map(|feeder| feeder.borrow().next_begin(self.now));
        let due: Option<Vec<Time>> = network.chain(hosts.map(|host| host.borrow().next_send())).collect();
        due?.into_iter().chain(self.next_action()).min()
    }

    /// Skips the time until the next frame, if none is due soon. Returns false if there is nothing to skip.
    fn skip_idle(&mut self) -> bool {
        let Some(next) = self.next_due() else { return false };
        let (from, end) = (self.now + LEAD, self.setup.limit().map_or(next, |limit| self.on_card(limit).min(next)));
        if end < from + LEAST_SKIP {
            return false;
        }
        let span = end - from;
        self.feeders.iter().for_each(|feeder| feeder.borrow().skip(self.now, span));
        self.hosts.iter().for_each(|host| host.borrow().skip(self.now, span));
        self.skips.push((self.now, self.skipped() + span));
        self.moved.0 = self.now;
        true
    }

    /// Idle time that was skipped so far.
    pub(super) fn skipped(&self) -> Time {
        self.skips.last().map_or(Time::ZERO, |&(_, sum)| sum)
    }

    /// The simulated time at which the card's clock shows `at`. It includes the idle time that was skipped before.
    pub(super) fn simulated(&self, at: Time) -> Time {
        let before = self.skips.partition_point(|&(when, _)| when < at);
        before.checked_sub(1).map_or(at, |last| at + self.skips[last].1)
    }

    /// The time on the card's clock at a simulated time, if nothing more is skipped.
    pub(super) fn on_card(&self, simulated: Time) -> Time {
        simulated - self.skipped().min(simulated)
    }

    /// The latest end of the run, on the card's clock. `begun` is the time at which its hosts had started.
    fn limit(&self, begun: Time) -> Time {
        match self.setup.limit() {
            Some(limit) => self.on_card(limit),
            None if !self.has_started() => LATEST_START,
            None if self.is_finite() && self.offers_frames() => Time::from_fs(u64::MAX),
            None => begun + ENDLESS,
        }
    }

    /// Returns true if the traffic has an end.
    pub(super) fn is_finite(&self) -> bool {
        self.offered.network.count().is_some() && self.offered.host.count().is_some()
    }

    /// Returns true if all offered frames were given to the card, and each came out or was dropped, as far as the sides
    /// know.
    pub(super) fn is_through(&self) -> bool {
        let any = self.offers_frames();
        any && self.is_finite()
            && self.feeders.iter().all(|feeder| feeder.borrow().is_done())
            && self.hosts.iter().all(|host| host.borrow().started().is_some() && host.borrow().is_done())
    }

    /// Returns true if the traffic has frames.
    pub(super) fn offers_frames(&self) -> bool {
        [&self.offered.network, &self.offered.host].iter().any(|traffic| traffic.count() != Some(0))
    }

    /// The first core that stopped by itself, as text.
    fn trouble(&self) -> Option<String> {
        self.cores.iter().find_map(|(path, core)| {
            let trouble = core.borrow().fault()?;
            let place = self.elf.as_ref().map_or_else(|| format!("0x{:08x}", trouble.pc), |elf| elf.place(trouble.pc));
            Some(format!(
                "{path} stopped at {place} (pc 0x{:08x}): {}, 0x{:x}",
                trouble.pc,
                trouble.cause.text(),
                trouble.value
            ))
        })
    }
}

/// Cores with their clocks.
pub(super) fn clocked(
    design: &Design,
    cores: &[(String, Rc<RefCell<MipsCore>>)],
) -> Vec<(Clock, Rc<RefCell<MipsCore>>)> {
    let clock = |path: &str| {
        let part = design.parts.iter().find(|part| part.path == path).expect("a core is a part of its card");
        Clock::new(design.clocks[&part.clock].freq())
    };
    cores.iter().map(|(path, core)| (clock(path), core.clone())).collect()
}

impl Simulated for WiredCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        let mut judged = Outcome::Limit;
        // The times of the checks for the end do not depend on `until`.
        while self.ended.is_none() && self.now < until {
            let look = Time::from_fs((self.now.fs() / LOOK.fs() + 1) * LOOK.fs());
            let look = self.setup.limit().map_or(look, |limit| look.min(self.on_card(limit)));
            // With lines, the caller may inject frames for the next cycle.
            let next = if self.stops_exactly { look.min(until) } else { look };
            let next = self.next_action().map_or(next, |action| next.min(action));
            let outcome = self.card.system.run_until(next);
            self.now = next;
            self.act();
            self.traces.check().map_err(RunError::new)?;
            if next == look {
                self.ended = self.judge(outcome);
                judged = outcome;
            }
        }
        let may_wait = self.stops_exactly || judged == Outcome::Limit || self.next_action().is_some();
        debug_assert!(self.ended.is_some() || may_wait, "a quiet card has ended");
        Ok(())
    }

    fn now(&self) -> Time {
        self.now
    }

    fn next_event(&self) -> Option<Time> {
        [self.card.system.next_edge(), self.next_action()].into_iter().flatten().min()
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let frames = self.frames();
        let part = |done: u64, all: u64| if all == 0 { 0.0 } else { done as f64 / all as f64 };
        let simulated = self.simulated(self.now);
        let by_time = self.setup.limit().map_or(0.0, |limit| part(simulated.fs(), limit.fs()));
        let total = match [self.offered.network.count(), self.offered.host.count()] {
            [Some(network), Some(host)] => Some(network + host),
            _ => None,
        };
        let by_frames = total.map_or(0.0, |total| part(frames, total));
        let is_done = self.ended.is_some();
        let fraction = Some(if is_done { 1.0 } else { by_time.max(by_frames).min(1.0) });
        let [sent, received] = self.fates();
        let packets_in = sent.given() + received.given();
        let packets_done = frames + sent.dropped() + received.dropped();
        Progress { is_done, packets_in, packets_done, packets_total: total, fraction, simulated, cycles: None }
    }

    fn set_mode(&mut self, mode: Mode) {
        self.card.system.set_mode(mode);
    }

    fn close(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        self.traces.flush().map_err(RunError::new)?;
        if let (Some(folder), Some(recorded), true) = (&self.wanted.captures, &self.recorded, self.wanted.drops) {
            self.write_drops(folder, recorded).map_err(RunError::new)?;
        }
        let mut paths = self.paths.take();
        if self.wanted.tables || paths.is_some() {
            let (columns, frames) = self.frames_given();
            self.rows.extend(self.wanted.tables.then_some(Rows { table: "frames", columns }));
            if let (Some(recorded), Some(paths)) = (&self.recorded, &mut paths) {
                self.log_paths(recorded, &frames, paths).map_err(RunError::new)?;
                let columns = paths.take().filter(|_| self.wanted.tables);
                self.rows.extend(columns.map(|columns| Rows { table: PATHS, columns }));
            }
        }
        match (self.wanted.captures.as_deref(), &self.wanted.sent) {
            (None, None) => Ok(()),
            (folder, _) => self.write_captures(folder).map_err(RunError::new),
        }
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.card.system.counters().into_iter().collect()
    }

    fn observe_at(&self) -> Option<Time> {
        self.paths.as_ref()?.sample_at(self.next_event())
    }

    fn observe(&mut self) -> Result<(), RunError> {
        let (now, system) = (self.simulated(self.now), &self.card.system);
        let Some(paths) = &mut self.paths else { return Ok(()) };
        paths.sample(now, || system.resources(), |loads| system.loads(loads)).map_err(RunError::new)
    }
}

impl Card for WiredCard {
    fn digest(&self) -> String {
        self.frames_digest()
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        super::fates::Fates::reasons_of(self.fates()).into_iter().collect()
    }

    fn summary(&self, wall: Duration) -> Value {
        self.summarize(wall).to_json()
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        let mut resources = self.card.system.resources();
        let Some((start, busy_before)) = &self.busy_before else { return (Time::ZERO, resources) };
        resources.iter_mut().zip(busy_before).for_each(|((_, one), before)| one.busy -= before);
        (*start, resources)
    }

    fn cores(&self) -> Option<&dyn Cores> {
        (!self.cores.is_empty()).then_some(self)
    }

    fn cores_mut(&mut self) -> Option<&mut dyn Cores> {
        if self.cores.is_empty() { None } else { Some(self) }
    }

    fn profile(&self) -> Option<Profile> {
        let profile = |core: &Rc<RefCell<MipsCore>>| Some(core.borrow().profile()?.code().clone());
        let profiles: Vec<_> = self.cores.iter().filter_map(|(_, core)| profile(core)).collect();
        (!profiles.is_empty()).then(|| Profile::of(&profiles, Machine::Mips, |_| self.elf.as_ref()))
    }

    fn ports(&self) -> Vec<Port> {
        (0..self.feeders.len() as u8).map(Port::Network).collect()
    }

    fn inject(&mut self, port: Port, at: Time, frame: Box<[u8]>) -> Result<(), InjectError> {
        if !self.wanted.lines {
            return Err(InjectError::NoLines { port });
        }
        let ports = self.ports();
        InjectError::check(&ports, self.now, port, at, &frame)?;
        let (mut frame, most) = (frame.into_vec(), hosts::longest(&self.design).unwrap_or(usize::MAX));
        if frame.len() > most {
            return Err(InjectError::TooLong { port, bytes: frame.len(), most });
        }
        frame.resize(frame.len().max(Frame::LEAST_BYTES), 0);
        let position = ports.iter().position(|&other| other == port).expect("the port was checked");
        self.feeders[position].borrow_mut().inject(self.now, at, frame.into());
        Ok(())
    }

    fn take_departures(&mut self) -> Vec<Departure> {
        let mut departures = Vec::new();
        for (port, sink) in (0..).zip(&self.sinks) {
            let taken = sink.borrow_mut().take_departures();
            let departure = |(at, bytes): (Time, Rc<[u8]>)| Departure {
                at,
                port: Port::Network(port),
                frame: bytes.as_ref().into(),
            };
            departures.extend(taken.into_iter().map(departure));
        }
        departures.sort_by_key(|departure| departure.at);
        departures
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        std::mem::take(&mut self.rows)
    }
}
