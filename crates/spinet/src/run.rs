//! A run: a card with its traffic and its record, simulated in slices of host time until it ends.

use crate::debug::Cores;
use crate::handlers::record::PrintedLine;
use crate::instructions::Choice;
use crate::profile::Profile;
use crate::ranks::Ranks;
use crate::summary::Remark;
use crate::tracks::TracksSpec;
use crate::trial::{Fault, HostWrites, PacketOutcome};
use crate::window::Window;
use kernel::{Clock, Cycle, Mode, Resource, Time};
use net::host::{BuildProgram, CardEvent, CardMemory};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The latest simulated time. A 64-bit number of femtoseconds ends a little later.
pub const HORIZON: Time = Time::from_ns(18_400_000_000_000);

/// Length of the first slice of simulated time, and of the shortest slice.
const FIRST_SLICE: Time = Time::from_ns(10_000);
const SHORTEST_SLICE: Time = Time::from_ns(1_000);

/// Why a run cannot start or continue.
#[derive(Debug)]
pub struct RunError(Box<dyn Error + Send + Sync>);

impl RunError {
    /// The error of one kind of card.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        RunError(Box::new(error))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for RunError {}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All packets are done.
    Complete,
    /// The limit in simulated time.
    Limit,
    /// Packets are unfinished, and nothing has happened for too long, or nothing more can happen. The text is the reason, if a host knows it.
    Stalled(Option<String>),
    /// The cores never became ready.
    NotReady,
    /// A core stopped by itself.
    Trouble(String),
    /// All parts of the card sleep, although packets are still to come.
    Quiet,
}

impl Ended {
    /// The word for the end in summaries; `running` while the run has not ended.
    pub fn reason(ended: Option<&Ended>) -> &'static str {
        match ended {
            None => "running",
            Some(Ended::Complete) => "complete",
            Some(Ended::Limit) => "limit",
            Some(Ended::Stalled(_)) => "stalled",
            Some(Ended::NotReady) => "not_ready",
            Some(Ended::Trouble(_)) => "trouble",
            Some(Ended::Quiet) => "quiet",
        }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// It has ended.
    pub is_done: bool,
    /// Packets given to the card.
    pub packets_in: u64,
    /// Packets that are finished: they left the card or were dropped.
    pub packets_done: u64,
    /// Total number of packets, if it is known.
    pub packets_total: Option<u64>,
    /// Fraction of the run that is complete, if it is known.
    pub fraction: Option<f64>,
    /// Simulated time.
    pub simulated: Time,
    /// Simulated cycles, for a card with one clock.
    pub cycles: Option<Cycle>,
}

/// The records and files of a run besides its summary.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Keep the rows of the card's tables until they are taken.
    pub tables: bool,
    /// Write captures of what leaves the card into this folder, which exists.
    pub captures: Option<PathBuf>,
    /// Write the packets that the card drops into that folder, too, each with the reason.
    pub drops: bool,
    /// Write a capture of what leaves to the network into this file as it leaves; [`PIPE`](crate::captured::PIPE) is standard output.
    pub sent: Option<PathBuf>,
    /// Write instruction traces of some cores into this folder, which exists. For cards that run handlers or firmware.
    pub instructions: Option<(PathBuf, Choice)>,
    /// Record the path of each packet, for cards that have a table of paths. Counts the cycles of all cores, too.
    pub paths: bool,
    /// Write a timeline or waveforms, which need the path of each packet.
    pub tracks: Option<TracksSpec>,
    /// Count the cycles of all cores by instruction. For cards with cores.
    pub profile: bool,
    /// Check the accesses of programs to memory. For cards that run handlers.
    pub check: bool,
    /// Compiled programs by the name of the tenant or service; the card's own has the empty name. Without one, the experiment's
    /// program must be linked.
    pub programs: BTreeMap<String, PathBuf>,
    /// The caller is the network around the card: it may call [`Card::inject`], and must call [`Card::take_departures`]. Such a run ends
    /// at its limit, or if a core of the card stops by itself.
    pub lines: bool,
    /// True if the caller is the host of the card: it must call [`Card::take_host_changes`].
    pub host: bool,
    /// Programs of the hosts of a network, by the name of the node.
    pub hosts: BTreeMap<String, BuildProgram>,
    /// Number of threads of a network; 0 means one for each core. It changes no result.
    pub threads: usize,
    /// The processes that simulate a network together. Their number changes no result.
    pub ranks: Option<Ranks>,
    /// Nodes of a network that keep records: tables, profile and host memory of cards, messages from and to them, and frames. Names, or
    /// patterns with `*`. `None` means all.
    pub keep_nodes: Option<Vec<String>>,
    /// The time in which events of a network's frames are kept; `None` means the whole run.
    pub keep_time: Option<Window>,
    /// Selections of messages of a network, such as `from=n0,tag=7`. Rows of other messages, and of frames that carry none of
    /// the selected messages, are left out. `None` means all rows.
    pub keep_messages: Option<Vec<String>>,
    /// Keep the outcome of each packet, for [`Card::take_outcomes`] and [`Card::take_host_writes`], which the caller must call.
    pub outcomes: bool,
}

impl Wanted {
    /// Returns true if paths of packets are needed.
    pub fn needs_paths(&self) -> bool {
        self.paths || self.tracks.is_some()
    }
}

/// An end of a line or a queue of the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Port {
    /// The network port of this number.
    Network(u8),
    /// The host. Into the card, the number is the transmit queue.
    Host(u16),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Network(port) => write!(f, "network:{port}"),
            Port::Host(queue) => write!(f, "host:{queue}"),
        }
    }
}

/// A frame that left the card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// When its last byte left.
    pub at: Time,
    /// Port at which it left.
    pub port: Port,
    /// The frame without FCS.
    pub frame: Box<[u8]>,
}

/// A frame that a card cannot take from its caller.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum InjectError {
    #[error("{port}: the run was started without lines, so frames come from the experiment only")]
    NoLines { port: Port },
    #[error("{port}: no such port (allowed: {allowed})")]
    NoPort { port: Port, allowed: String },
    #[error("{port}: a frame arrives at {at}, must arrive after {now}, which is simulated")]
    Past { port: Port, at: Time, now: Time },
    #[error("{port}: a frame has no bytes, must have 1 or more")]
    Empty { port: Port },
    #[error("{port}: a frame has {bytes} bytes, must have at most {most}")]
    TooLong { port: Port, bytes: usize, most: usize },
}

impl InjectError {
    /// Checks a frame for a card with these ports that was simulated up to `now`.
    pub(crate) fn check(ports: &[Port], now: Time, port: Port, at: Time, frame: &[u8]) -> Result<(), InjectError> {
        match () {
            _ if !ports.contains(&port) => {
                let allowed: Vec<String> = ports.iter().map(Port::to_string).collect();
                Err(InjectError::NoPort { port, allowed: allowed.join(", ") })
            }
            _ if at <= now => Err(InjectError::Past { port, at, now }),
            _ if frame.is_empty() => Err(InjectError::Empty { port }),
            _ => Ok(()),
        }
    }
}

/// A change that a host sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    /// The card wrote host memory.
    Written {
        /// First byte.
        addr: u64,
        /// The bytes.
        bytes: Box<[u8]>,
    },
    /// An event of the card's driver.
    Event(CardEvent),
}

/// Rows of a table, by column: little-endian numbers.
pub struct Rows {
    /// Name of the table.
    pub table: &'static str,
    /// Name and bytes of each column.
    pub columns: Vec<(&'static str, Vec<u8>)>,
}

/// A simulation that a run advances. It lives on one thread.
pub trait Simulated {
    /// Simulates up to `until`, `until` included, or to an earlier time at which the run ends. A card that looks for its end at fixed
    /// times may stop at the first of these after `until`; with [`Wanted::lines`], no card goes beyond `until`. The times of the calls
    /// change no result.
    fn run_until(&mut self, until: Time) -> Result<(), RunError>;

    /// Simulated time.
    fn now(&self) -> Time;

    /// The next time at which the card acts by itself; `None` if it waits forever.
    fn next_event(&self) -> Option<Time>;

    /// Why the run ended, if it did.
    fn ended(&self) -> Option<&Ended>;

    /// Its progress.
    fn progress(&self) -> Progress;

    /// Sets the order in which components tick; no result depends on it.
    fn set_mode(&mut self, mode: Mode);

    /// Writes all buffered output. A second call does nothing.
    fn close(&mut self) -> Result<(), RunError>;

    /// Every counter of every part.
    fn counters(&self) -> BTreeMap<String, u64>;

    /// Writes buffered data of captures that other programs read during the run.
    fn flush(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// The next time at which [`Simulated::observe`] must be called, if a record of the run needs it.
    fn observe_at(&self) -> Option<Time> {
        None
    }

    /// Notes the state of the card for a record of the run, which changes no result.
    fn observe(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}

/// A card with its traffic, its hosts and its record. After [`Simulated::close`], packets that are inside have their rows, and nothing
/// more is simulated.
pub trait Card: Simulated {
    /// The digest of everything that left the card so far.
    fn digest(&self) -> String;

    /// Every part that can be full, with its clock. Cycles are counted from the given time on, on the card's clock: from the
    /// start of its traffic, or from reset if it did not start.
    fn resources(&self) -> (Time, Vec<(Clock, Resource)>);

    /// The summary so far; `wall` is the host time that the run took.
    fn summary(&self, wall: Duration) -> Value;

    /// Problems of its programs, as in the summary. `more` tells readers where they find further ones.
    fn program_remarks(&self, _more: &str) -> Vec<Remark> {
        Vec::new()
    }

    /// Packets that it dropped, by reason, as in the summary. There may be reasons with the count 0.
    fn dropped(&self) -> Vec<(&'static str, u64)>;

    /// Rows that are complete since the last call. Only [`Simulated::close`] completes the rows of packets that are inside.
    fn take_tables(&mut self) -> Vec<Rows>;

    /// The ports at which it takes frames from a caller.
    fn ports(&self) -> Vec<Port>;

    /// Lets a frame arrive at a port, at the first clock edge from `at` on. A line with a rate delays it by the time
    /// that the line needs for the frame. Frames of the same time arrive in the order of the calls.
    fn inject(&mut self, port: Port, at: Time, frame: Box<[u8]>) -> Result<(), InjectError>;

    /// Frames that left since the last call, in order of time; none without [`Wanted::lines`].
    fn take_departures(&mut self) -> Vec<Departure> {
        Vec::new()
    }

    /// Outcomes of packets that were finished since the last call, in order of time; none without [`Wanted::outcomes`].
    fn take_outcomes(&mut self) -> Vec<PacketOutcome> {
        Vec::new()
    }

    /// Writes of the card to host memory since the last call, in order of time; none without [`Wanted::outcomes`].
    fn take_host_writes(&mut self) -> HostWrites {
        Vec::new()
    }

    /// Changes since the last call that the host sees, in order of time; none without [`Wanted::host`].
    fn take_host_changes(&mut self) -> Vec<(Time, HostChange)> {
        Vec::new()
    }

    /// The host writes its memory. The card sees the bytes from the next cycle on.
    fn host_writes(&mut self, _addr: u64, _bytes: &[u8]) {}

    /// Host memory that contexts of the card may access.
    fn host_memory(&self) -> Vec<CardMemory> {
        Vec::new()
    }

    /// Announces the packets that come next, before the first of them is injected. A message that lasts as long as its
    /// flow ends with the last packet of the flow among these.
    fn expect(&mut self, _packets: &[Box<[u8]>]) {}

    /// Positions of cores that are busy with packets.
    fn stuck(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// Reads memory of the card as a debugger does: no time passes. If cores have memories of their own, `core` names
    /// the core. Returns false if there is no such memory.
    fn read_memory(&self, _core: &str, _addr: u32, _data: &mut [u8]) -> bool {
        false
    }

    /// Lines that programs printed since the last call, with their times.
    fn take_console(&mut self) -> Vec<(Time, PrintedLine)> {
        Vec::new()
    }

    /// Its cores, for a debugger; `None` if no core runs a program.
    fn cores(&self) -> Option<&dyn Cores> {
        None
    }

    /// The same, to observe and change them.
    fn cores_mut(&mut self) -> Option<&mut dyn Cores> {
        None
    }

    /// The cycles of its cores by cause, if they are counted ([`Wanted::profile`]).
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Reads host memory; false if this card keeps none.
    fn read_host(&self, _addr: u64, _data: &mut [u8]) -> bool {
        false
    }

    /// Writes host memory to files in a folder that exists; returns their names.
    fn write_host(&self, _folder: &Path) -> Result<Vec<String>, RunError> {
        Ok(Vec::new())
    }

    /// The cards on its nodes, if it is a network.
    fn as_nodes(&mut self) -> Option<&mut dyn Nodes> {
        None
    }
}

/// The cards on the nodes of a network.
pub trait Nodes {
    /// The nodes with a card whose records are kept: number, name, and kind of the card.
    fn kept(&self) -> Vec<(usize, String, &'static str)>;

    /// Rows of the nodes' tables that were completed since the last call, each with the number of the node.
    fn take_tables(&mut self) -> Vec<(usize, Rows)>;

    /// The summary of a node's card so far, and its [`Profile`] if cycles are counted. `None` if the card was not built, because no
    /// packet has reached it.
    fn records(&self, node: usize) -> Result<Option<(Value, Option<Value>)>, RunError>;

    /// Bytes of a host's memory; `None` if the card keeps none.
    fn read_host(&self, node: usize, addr: u64, size: usize) -> Result<Option<Vec<u8>>, RunError>;

    /// Writes the memory of a host to files in a folder that exists; returns their names.
    fn write_host(&self, node: usize, folder: &Path) -> Result<Vec<String>, RunError>;
}

/// A run of a card. It lives on one thread.
pub struct Run<C: Simulated + ?Sized = dyn Card> {
    /// Length of the next slice.
    slice: Time,
    wall: Duration,
    /// The card.
    pub card: Box<C>,
}

impl<C: Simulated> Run<C> {
    /// A run that starts now.
    pub fn of(card: C) -> Self {
        Run { slice: FIRST_SLICE, wall: Duration::ZERO, card: Box::new(card) }
    }

    /// The same run, of a card of any kind.
    pub fn erased(self) -> Run
    where
        C: Card + 'static,
    {
        Run { slice: self.slice, wall: self.wall, card: self.card }
    }
}

impl<C: Simulated + ?Sized> Run<C> {
    /// Simulates for about `budget` of host time, or to the end. How time is sliced changes no result.
    pub fn advance(&mut self, budget: Duration) -> Result<Progress, RunError> {
        self.advance_to(Time::from_fs(u64::MAX), budget)
    }

    /// The same, but not past `end`.
    pub fn advance_to(&mut self, end: Time, budget: Duration) -> Result<Progress, RunError> {
        let begun = Instant::now();
        let mut is_there = self.card.now() >= end;
        while !is_there && self.card.ended().is_none() && begun.elapsed() < budget {
            let slice_begun = Instant::now();
            let whole = Time::from_fs(self.card.now().fs().saturating_add(self.slice.fs()));
            let observed = self.card.observe_at();
            let until = whole.min(end).min(HORIZON).min(observed.unwrap_or(HORIZON));
            self.card.run_until(until)?;
            if observed.is_some_and(|at| self.card.now() >= at) {
                self.card.observe()?;
            }
            is_there = until >= end; // A card with lines may have stopped less than a cycle earlier.
            let took = slice_begun.elapsed();
            if took < budget / 16 && whole <= end {
                self.slice = Time::from_fs(self.slice.fs().saturating_mul(2));
            } else if took > budget / 4 {
                self.slice = Time::from_fs((self.slice.fs() / 2).max(SHORTEST_SLICE.fs()));
            }
        }
        self.wall += begun.elapsed();
        self.card.flush()?;
        if self.card.ended().is_some() {
            self.card.close()?;
        }
        Ok(self.card.progress())
    }

    /// Sets the order in which components tick; no result depends on it.
    pub fn set_mode(&mut self, mode: Mode) {
        self.card.set_mode(mode);
    }

    /// Host time that slices have taken.
    pub fn wall(&self) -> Duration {
        self.wall
    }
}

impl<C: Card + ?Sized> Run<C> {
    /// The digest of everything that left the card so far.
    pub fn digest(&self) -> String {
        self.card.digest()
    }

    /// The summary so far.
    pub fn summary(&self) -> Value {
        self.card.summary(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card that only counts its calls, and ends after some of them.
    struct Counted {
        now: Time,
        calls: Vec<u64>,
        n_closed: u32,
    }

    impl Simulated for Counted {
        fn run_until(&mut self, until: Time) -> Result<(), RunError> {
            self.calls.push((until - self.now).fs());
            self.now = until;
            Ok(())
        }

        fn now(&self) -> Time {
            self.now
        }

        fn next_event(&self) -> Option<Time> {
            None
        }

        fn ended(&self) -> Option<&Ended> {
            (self.calls.len() == 6).then_some(&Ended::Complete)
        }

        fn progress(&self) -> Progress {
            let (is_done, simulated) = (self.ended().is_some(), self.now);
            Progress {
                is_done,
                packets_in: 0,
                packets_done: 0,
                packets_total: None,
                fraction: None,
                simulated,
                cycles: None,
            }
        }

        fn set_mode(&mut self, _: Mode) {}

        fn close(&mut self) -> Result<(), RunError> {
            self.n_closed += 1;
            Ok(())
        }

        fn counters(&self) -> BTreeMap<String, u64> {
            BTreeMap::new()
        }
    }

    fn counted() -> Run<Counted> {
        Run::of(Counted { now: Time::ZERO, calls: Vec::new(), n_closed: 0 })
    }

    #[test]
    fn slices_grow_while_they_take_next_to_nothing() {
        let mut run = counted();
        assert!(run.advance(Duration::from_secs(3600)).expect("it runs").is_done);
        let want: Vec<u64> = (0..6).map(|n| FIRST_SLICE.fs() << n).collect();
        assert_eq!((&run.card.calls, run.card.n_closed), (&want, 1));
    }

    #[test]
    fn no_host_time_is_no_slice() {
        let mut run = counted();
        assert!(!run.advance(Duration::ZERO).expect("it runs").is_done);
        assert_eq!((run.card.calls.len(), run.card.n_closed), (0, 0));
    }
}
