//! What came of a run of a wired card, as `spinet run --json` prints it.

use super::card::WiredCard;
use super::experiment::FirmwareExperiment;
use super::fates::Fates;
use super::rates::{short_window, throughput};
use crate::run::{Card, Ended};
use crate::summary::{CaptureSummary, Remark, grouped};
use blocks::feeders::{Checker, FrameLog, Passage};
use blocks::mips::{InstructionCounts, cycle_names};
use kernel::Time;
use serde::Serialize;
use spinach::measure::Flow;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::pacing::PacingCounts;

/// The summary of a run of a card that is wired from modules. Times are nanoseconds of simulated time.
#[derive(Clone, Debug, Serialize)]
pub struct CardSummary {
    /// Version.
    pub spinet: &'static str,
    /// The digest of the frames that came out.
    pub digest: String,
    /// The card.
    pub nic: String,
    /// The seed.
    pub seed: u64,
    /// Why it ended.
    pub ended: EndedSummary,
    /// What to know first: most likely a slip.
    pub remarks: Vec<Remark>,
    /// How long it took.
    pub time: TimeSummary,
    /// From the host to the network, at the network.
    pub sent: WaySummary,
    /// From the network to the host, at the host.
    pub received: WaySummary,
    /// Both ways together, while both are active.
    pub total: Rate,
    /// Why the rates are zero, if they could not be measured.
    pub unmeasured: Option<String>,
    /// Why the rates say little, if they are of few frames.
    pub short_window: Option<String>,
    /// Each core.
    pub cores: Vec<CoreSummary>,
    /// Where time went, by function, all cores together; only with a profile.
    pub functions: Vec<FunctionSummary>,
    /// Rings as the host sees them at the end.
    pub rings: Vec<String>,
    /// The first things the card did that no card should do.
    pub faults: Vec<String>,
    /// Every counter of every part.
    pub counters: BTreeMap<String, u64>,
    /// The experiment, with defaults filled in.
    pub experiment: FirmwareExperiment,
}

/// Why a run ended.
#[derive(Clone, Debug, Serialize)]
pub struct EndedSummary {
    /// `complete`, `limit`, `trouble`, `stalled`, `quiet` or `running`.
    pub reason: &'static str,
    /// The same for people.
    pub text: String,
    /// Whether it did not do what was asked: everything but `complete`, and a limit at which endless traffic was flowing.
    pub is_unfinished: bool,
}

/// How long it took.
#[derive(Clone, Debug, Serialize)]
pub struct TimeSummary {
    /// Simulated time.
    pub simulated_ns: f64,
    /// The part of it that was skipped: no frame was in the card, and its clocks stood still.
    pub skipped_ns: f64,
    /// When the host's start-up was over and frames could come.
    pub started_ns: Option<f64>,
    /// Time of the computer that simulated it, in seconds.
    pub wall_s: f64,
}

/// Frames a second and bits a second of a direction, over the part of the run in which all directions with frames were
/// active. Source: Willmann 2004, 3.4.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Rate {
    /// Frames counted.
    pub frames: u64,
    /// Their bytes, without check sequence.
    pub bytes: u64,
    /// Simulated time in which they were, in nanoseconds.
    pub ns: f64,
    /// Frames a second.
    pub frames_per_s: f64,
    /// Gbit/s of frames, without check sequence, preamble and gap.
    pub gbps: f64,
}

/// Frames of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct WaySummary {
    /// Frames that came out.
    pub frames: u64,
    /// Their bytes, without check sequence.
    pub bytes: u64,
    /// Frames that were given to the card.
    pub offered: u64,
    /// Frames that came out as they were given, in order.
    pub good: u64,
    /// Frames that did not come out though a later one did.
    pub lost: u64,
    /// Frames that came out after a later one, or twice.
    pub late: u64,
    /// Frames that came out and were never given to the card.
    pub unknown: u64,
    /// What happened to each frame of its traffic.
    pub fates: Fates,
    /// What was in the capture, if the traffic is one.
    pub capture: Option<CaptureSummary>,
    /// What was done to the times of its frames.
    pub pacing: PacingCounts,
    /// The first few that were late or unknown, in words.
    pub mismatches: Vec<String>,
    /// The steady rate.
    pub rate: Rate,
    /// From being given to the card until coming out.
    pub latency_ns: Option<LatencySummary>,
}

/// How long frames were in the card.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencySummary {
    /// Frames whose way is known.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// Half took at most that.
    pub median: f64,
    /// 99 of 100 took at most that.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// A core.
#[derive(Clone, Debug, Serialize)]
pub struct CoreSummary {
    /// Its path.
    pub path: String,
    /// Whether it stands still.
    pub is_halted: bool,
    /// Where it is: function and offset, or the address.
    pub place: String,
    /// Instructions it executed.
    pub instructions: u64,
    /// Cycles it was not halted.
    pub cycles: u64,
    /// Where they went.
    pub cycles_by_cause: BTreeMap<&'static str, u64>,
    /// Instructions by class.
    pub instructions_by_class: BTreeMap<String, u64>,
    /// What went on locks; only with a profile.
    pub locks: Option<LockSummary>,
    /// Why it stopped by itself.
    pub trouble: Option<String>,
}

/// What a core spent on locks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LockSummary {
    /// Cycles from the first attempt at a lock to its success, and those of freeing it.
    pub cycles: u64,
    /// Attempts.
    pub attempts: u64,
    /// Attempts that found the lock taken.
    pub vain: u64,
}

/// A function of the firmware.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionSummary {
    /// Its name; `elsewhere` is what runs outside the program's segments.
    pub name: String,
    /// Cycles, of all cores.
    pub cycles: u64,
    /// Instructions, of all cores.
    pub instructions: u64,
    /// Those of the cycles that went on locks.
    pub lock_cycles: u64,
}

fn ns(time: Time) -> f64 {
    time.fs() as f64 / 1e6
}

impl WiredCard {
    /// The summary so far.
    pub fn summarize(&self, wall: Duration) -> CardSummary {
        let (mut sent, mut received) = (WaySummary::empty(), WaySummary::empty());
        for sink in &self.sinks {
            let sink = sink.borrow();
            sent.count(sink.log());
            sent.add(sink.checker(), self);
            sink.replies().into_iter().for_each(|replies| sent.add(replies, self));
        }
        for host in &self.hosts {
            let host = host.borrow();
            received.count(host.received());
            received.add(host.checker(), self);
            sent.offered += host.posted().frames();
        }
        received.offered = self.feeders.iter().map(|feeder| feeder.borrow().log().frames()).sum();
        [sent.fates, received.fates] = self.fates();
        for (way, side) in [(&mut sent, &self.sides.host), (&mut received, &self.sides.network)] {
            (way.capture, way.pacing) = (side.capture.clone(), side.pacing);
        }
        let passages = self.passages();
        [sent.latency_ns, received.latency_ns] = [&passages[0], &passages[1]].map(|way| latency(&way.given, &way.out));
        let (total, unmeasured, short_window) = match throughput(&passages) {
            Ok(found) => {
                let span = (found.to - found.from).fs();
                [sent.rate, received.rate] = [found.sent, found.received].map(|flow| Rate::of(flow, span));
                let both = Flow {
                    frames: found.sent.frames + found.received.frames,
                    bytes: found.sent.bytes + found.received.bytes,
                };
                (Rate::of(both, span), None, short_window(&[found.sent, found.received], span))
            }
            Err(error) => (Rate::default(), Some(error.to_string()), None),
        };
        CardSummary {
            spinet: env!("CARGO_PKG_VERSION"),
            digest: self.digest(),
            nic: self.design.name.clone(),
            seed: self.setup.experiment.common.seed,
            ended: self.ended_summary(),
            remarks: self.remarks(),
            time: TimeSummary {
                simulated_ns: ns(self.simulated(self.now)),
                skipped_ns: ns(self.skipped()),
                started_ns: self.hosts.iter().find_map(|host| host.borrow().started()).map(ns),
                wall_s: wall.as_secs_f64(),
            },
            sent,
            received,
            total,
            unmeasured,
            short_window,
            cores: self.core_summaries(),
            functions: self.functions(),
            rings: self.hosts.iter().flat_map(|host| host.borrow().rings()).collect(),
            faults: self.hosts.iter().flat_map(|host| host.borrow().faults()).collect(),
            counters: self.counters(),
            experiment: self.setup.experiment.clone(),
        }
    }

    /// What became of the frames of a run that is complete.
    fn complete(&self) -> String {
        let fates = self.fates();
        let sum = |count: fn(&Fates) -> u64| fates.iter().map(count).sum::<u64>();
        match (sum(|fates| fates.not_out), sum(|fates| fates.dropped() + fates.too_long)) {
            (0, 0) => "all frames are through".to_owned(),
            (0, _) => "all frames are accounted for".to_owned(),
            (1, _) => "all frames were given to the card, 1 did not come out".to_owned(),
            (n, _) => format!("all frames were given to the card, {} did not come out", grouped(n)),
        }
    }

    fn ended_summary(&self) -> EndedSummary {
        let text = match &self.ended {
            None => "it runs".to_owned(),
            Some(Ended::Complete) => self.complete(),
            Some(Ended::Limit) => {
                let unfinished = self.unfinished().map_or_else(String::new, |text| format!(", {text}"));
                format!("the limit in simulated time is reached{unfinished}")
            }
            Some(Ended::Trouble(text) | Ended::Stalled(Some(text))) => text.clone(),
            Some(_) => "everything sleeps, though frames are still to come".to_owned(),
        };
        let is_unfinished = match &self.ended {
            None | Some(Ended::Complete) => false,
            Some(Ended::Limit) => self.unfinished().is_some(),
            Some(_) => true,
        };
        EndedSummary { reason: Ended::reason(self.ended.as_ref()), text, is_unfinished }
    }

    /// What a run that ends now has not come to.
    fn unfinished(&self) -> Option<&'static str> {
        match () {
            _ if self.hosts.iter().any(|host| host.borrow().started().is_none()) => Some("before the card had started"),
            _ if !self.is_finite() => None,
            _ if !self.is_through() && self.offers_frames() => Some("with frames still to come"),
            _ => None,
        }
    }

    fn place(&self, pc: u32) -> String {
        self.elf.as_ref().map_or_else(|| format!("{pc:#010x}"), |elf| elf.place(pc))
    }

    fn core_summaries(&self) -> Vec<CoreSummary> {
        let summary = |(path, core): &(String, std::rc::Rc<std::cell::RefCell<blocks::mips::MipsCore>>)| {
            let core = core.borrow();
            let by_class: BTreeMap<String, u64> =
                core.instructions().map(|(class, count)| (format!("{class:?}").to_lowercase(), count)).collect();
            let counts = core.cycles().counts();
            CoreSummary {
                path: path.clone(),
                is_halted: core.is_halted(),
                place: self.place(core.pc()),
                instructions: by_class.values().sum(),
                cycles: counts.iter().sum(),
                cycles_by_cause: cycle_names().into_iter().zip(counts).collect(),
                instructions_by_class: by_class,
                locks: core.profile().map(|profile| {
                    let (attempts, vain) = profile.lock_attempts();
                    LockSummary { cycles: profile.total().lock_cycles, attempts, vain }
                }),
                trouble: core.fault().map(|trouble| format!("{} at {}", trouble.cause.text(), self.place(trouble.pc))),
            }
        };
        self.cores.iter().map(summary).collect()
    }

    /// Functions by the cycles spent in them, most first.
    fn functions(&self) -> Vec<FunctionSummary> {
        let Some(elf) = &self.elf else { return Vec::new() };
        let mut found: BTreeMap<&str, InstructionCounts> = BTreeMap::new();
        let mut code: Vec<_> = elf.symbols.iter().filter(|symbol| symbol.is_code).collect();
        code.sort_by_key(|symbol| (symbol.addr, symbol.size));
        for (_, core) in &self.cores {
            let core = core.borrow();
            let Some(profile) = core.profile() else { continue };
            for (base, lines) in profile.ranges() {
                for (addr, line) in (base..).step_by(4).zip(lines).filter(|(_, line)| line.cycles > 0) {
                    let before = code.partition_point(|symbol| symbol.addr <= addr);
                    let name = before.checked_sub(1).map_or("elsewhere", |at| code[at].name.as_str());
                    found.entry(name).or_default().add(line);
                }
            }
            let rest = profile.elsewhere();
            if rest.cycles > 0 {
                found.entry("elsewhere").or_default().add(&rest);
            }
        }
        let mut functions: Vec<FunctionSummary> = found
            .into_iter()
            .map(|(name, InstructionCounts { cycles, instructions, lock_cycles })| FunctionSummary {
                name: name.to_owned(),
                cycles,
                instructions,
                lock_cycles,
            })
            .collect();
        functions.sort_by(|a, b| b.cycles.cmp(&a.cycles).then_with(|| a.name.cmp(&b.name)));
        functions
    }
}

impl WaySummary {
    fn empty() -> WaySummary {
        WaySummary {
            frames: 0,
            bytes: 0,
            offered: 0,
            good: 0,
            lost: 0,
            late: 0,
            unknown: 0,
            fates: Fates::default(),
            capture: None,
            pacing: PacingCounts::default(),
            mismatches: Vec::new(),
            rate: Rate::default(),
            latency_ns: None,
        }
    }

    fn count(&mut self, log: &FrameLog) {
        self.frames += log.frames();
        self.bytes += log.bytes();
    }

    fn add(&mut self, checker: &Checker, run: &WiredCard) {
        self.good += checker.good();
        self.lost += checker.lost();
        self.late += checker.late();
        self.unknown += checker.unknown();
        let words = |mismatch: &blocks::feeders::Mismatch| {
            let at = run.simulated(mismatch.at);
            format!("{at}: expected frame {}, found {:?}", mismatch.expected, mismatch.verdict)
        };
        self.mismatches.extend(checker.mismatches().iter().map(words));
    }
}

impl Rate {
    /// What passed in a span of femtoseconds, which is not empty.
    fn of(flow: Flow, span_fs: u64) -> Rate {
        let seconds = span_fs as f64 / 1e15;
        let (frames_per_s, gbps) = (flow.frames as f64 / seconds, flow.bytes as f64 * 8.0 / seconds / 1e9);
        Rate { frames: flow.frames, bytes: flow.bytes, ns: span_fs as f64 / 1e6, frames_per_s, gbps }
    }
}

/// How long frames took from one place to another, by their numbers.
pub(super) fn latency(from: &[Passage], to: &[Passage]) -> Option<LatencySummary> {
    let begun: BTreeMap<u64, Time> = from.iter().filter_map(|passage| Some((passage.id?, passage.at))).collect();
    let took = |passage: &Passage| passage.at.fs().checked_sub(begun.get(&passage.id?)?.fs());
    let mut took: Vec<u64> = to.iter().filter_map(took).collect();
    took.sort_unstable();
    let (first, last) = (*took.first()?, *took.last()?);
    // The smallest that so many of 100 do not exceed, as [`crate::histogram::Histogram::percentile`] has it.
    let at = |percent: usize| took[(took.len() * percent).div_ceil(100) - 1] as f64 / 1e6;
    let mean = took.iter().map(|&fs| fs as f64).sum::<f64>() / took.len() as f64 / 1e6;
    let (count, median, p99) = (took.len() as u64, at(50), at(99));
    Some(LatencySummary { count, min: first as f64 / 1e6, mean, median, p99, max: last as f64 / 1e6 })
}
