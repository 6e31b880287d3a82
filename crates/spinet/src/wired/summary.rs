//! The section of the summary for wired cards.

use super::card::WiredCard;
use super::fates::Fates;
use super::frames::Passages;
use super::paths::{self, PlaceSummary};
use super::rates::{short_window, throughput};
use crate::experiment::SourceSpec;
use crate::flows::Series;
use crate::kinds;
use crate::run::Ended;
use crate::summary::{
    ActionSummary, EndedSummary, LatencySummary, NoMore, PacketSummary, Report, SourceSummary, SteadySummary, Summary,
    ThroughputSummary, TimeSummary, grouped,
};
use blocks::feeders::{Checker, FrameLog, Passage};
use blocks::mips::CYCLE_NAMES;
use kernel::Time;
use schemars::JsonSchema;
use serde::Serialize;
use spinach::measure::Flow;
use std::collections::BTreeMap;
use std::time::Duration;

/// The summary of a run of a wired card.
pub type WiredSummary = Summary<NoMore, WiredSection>;

/// Keys of wired cards. Rates count only while both directions are active: from the hundredth frame of the
/// direction that starts later (in short runs, from a quarter of the frames) to the last frame of the direction that ends first. A run
/// in one direction counts from its hundredth frame to its last. While frames arrive on the line, at most the frames
/// that the line delivers count as received; others had waited in the card. Source: Willmann 2004, 3.4.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WiredSection {
    /// Frames from the host to the network, observed at the network.
    pub sent: DirectionSummary,
    /// Frames from the network to the host, observed at the host.
    pub received: DirectionSummary,
    /// Rate of both directions together.
    pub total: Rate,
    /// Why the rates are zero, if they could not be measured.
    pub unmeasured: Option<String>,
    /// Set if a direction had fewer than 100 frames while both were active, so the rates are not reliable.
    pub short_window: Option<String>,
    /// Cores.
    pub cores: Vec<CoreSummary>,
    /// Functions of the firmware by the cycles spent in them, summed over all cores, largest first. Empty without a profile, and for an
    /// image, which has no function names.
    pub functions: Vec<FunctionSummary>,
    /// For each ring that the host shares with the card: producer, consumer, and the time of the last change.
    pub rings: Vec<String>,
    /// The first illegal actions of the card, such as a reference to unmapped host memory.
    pub faults: Vec<String>,
    /// Actions (`[[at]]` of the experiment) in order.
    pub timeline: Vec<ActionSummary>,
    /// Places of the paths of frames: `index` of their table is a position here.
    pub places: Vec<PlaceSummary>,
}

/// Rates while all directions with frames were active.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, JsonSchema)]
pub struct Rate {
    /// Frames counted.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: u64,
    /// The time in which they were counted.
    pub ns: f64,
    /// Frames per second.
    pub frames_per_s: f64,
    /// Gbit/s of frames without FCS, preamble and gap.
    pub gbps: f64,
}

/// Frames of one direction.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DirectionSummary {
    /// Frames that came out.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: u64,
    /// Frames given to the card.
    pub offered: u64,
    /// Frames that came out unchanged and in order.
    pub good: u64,
    /// Frames that did not come out although a later one did.
    pub lost: u64,
    /// Frames that came out after a later one, or twice.
    pub late: u64,
    /// Frames that came out and were never given.
    pub unknown: u64,
    /// Frames of the traffic by what happened to them. The counts add up to the frames of the traffic, unless the card sent some twice.
    pub fates: Fates,
    /// The first late or unknown frames, as texts.
    pub mismatches: Vec<String>,
    /// The steady rate.
    pub rate: Rate,
    /// Time from when a frame is given to the card until it comes out; `null` if no frame is known at both ends.
    pub latency_ns: Option<LatencySummary>,
}

/// A core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CoreSummary {
    /// Path of the core.
    pub path: String,
    /// True if the core is halted.
    pub is_halted: bool,
    /// Function and offset, or the address.
    pub place: String,
    /// Executed instructions.
    pub instructions: u64,
    /// Cycles in which the core was not halted.
    pub cycles: u64,
    /// The same by cause; they add up to `cycles`.
    pub cycles_by_cause: BTreeMap<&'static str, u64>,
    /// Instructions by class.
    pub instructions_by_class: BTreeMap<String, u64>,
    /// Cost of locks; `null` without a profile.
    pub locks: Option<LockSummary>,
    /// Why the core stopped by itself.
    pub trouble: Option<String>,
}

/// Cost of locks. A lock is a register that `locks` of `mips-core` names (those of the 10 Gigabit NIC, the Tigon-2's semaphores), or a word
/// that `ll` and `sc` access.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LockSummary {
    /// Cycles from the first attempt at a lock to its success, and those of freeing it.
    pub cycles: u64,
    /// Attempts.
    pub attempts: u64,
    /// Attempts that found the lock taken.
    pub vain: u64,
}

/// A function of the firmware.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FunctionSummary {
    /// Its name; `elsewhere` is code outside the program.
    pub name: String,
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles spent on locks.
    pub lock_cycles: u64,
}

/// Rates of both directions together; `None` if the logs are not complete.
fn steady(passages: &[Passages; 2]) -> Option<SteadySummary> {
    let mut series = Series::default();
    for way in passages {
        if way.frames != way.out.len() as u64 {
            return None;
        }
        way.given.iter().for_each(|frame| series.add(frame.at.ps(), None, frame.bytes.into()));
        way.out.iter().for_each(|frame| series.done(frame.at.ps(), frame.bytes.into()));
    }
    SteadySummary::of(&series, |ps| ps as f64 / 1e3)
}

fn ns(time: Time) -> f64 {
    time.fs() as f64 / 1e6
}

impl WiredCard {
    /// The summary so far.
    pub fn summarize(&self, wall: Duration) -> WiredSummary {
        let (mut sent, mut received) = (DirectionSummary::default(), DirectionSummary::default());
        let mut in_bytes = 0;
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
            in_bytes += host.posted().bytes();
        }
        for feeder in &self.feeders {
            received.offered += feeder.borrow().log().frames();
            in_bytes += feeder.borrow().log().bytes();
        }
        [sent.fates, received.fates] = self.fates();
        let passages = self.passages();
        let [sent_fs, received_fs] = [&passages[0], &passages[1]].map(|way| latencies(&way.given, &way.out));
        let latency_ns = LatencySummary::exact([&sent_fs[..], &received_fs].concat());
        [sent.latency_ns, received.latency_ns] = [sent_fs, received_fs].map(LatencySummary::exact);
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
        let measured = |rate: Rate| (rate.ns > 0.0).then_some(rate);
        let fates = [&sent.fates, &received.fates];
        let report = Report {
            kind: &kinds::MODULES,
            ended: self.ended_summary(),
            remarks: self.remarks(),
            packets: PacketSummary {
                packets_in: sent.offered + received.offered,
                in_bytes,
                out: sent.frames + received.frames,
                out_bytes: sent.bytes + received.bytes,
                dropped: fates.iter().map(|fates| fates.dropped()).sum(),
                dropped_by_reason: Fates::reasons_of([sent.fates, received.fates]),
                unfinished: fates.iter().map(|fates| fates.not_out).sum(),
                more: NoMore {},
            },
            throughput: ThroughputSummary {
                in_gbps: None,
                out_gbps: measured(total).map(|rate| rate.gbps),
                network_gbps: measured(sent.rate).map(|rate| rate.gbps),
                host_gbps: measured(received.rate).map(|rate| rate.gbps),
                done_packets_per_s: measured(total).map(|rate| rate.frames_per_s),
            },
            steady: steady(&passages),
            latency_ns,
            ingress_wait_ns: None,
            sources: self.source_summaries(),
            time: TimeSummary {
                simulated_ns: ns(self.simulated(self.now)),
                skipped_ns: ns(self.skipped()),
                started_ns: self.hosts.iter().find_map(|host| host.borrow().started()).map(ns),
                cycles: None,
                clock_mhz: None,
            },
        };
        let section = WiredSection {
            sent,
            received,
            total,
            unmeasured,
            short_window,
            cores: self.core_summaries(),
            functions: self.functions(),
            rings: self.hosts.iter().flat_map(|host| host.borrow().rings()).collect(),
            faults: self.hosts.iter().flat_map(|host| host.borrow().faults()).collect(),
            timeline: self.timeline.done.clone(),
            places: paths::places(&self.design, &self.card),
        };
        let experiment = &self.setup.experiment;
        Summary::of(self, (&experiment.common, experiment), wall, report, section)
    }

    fn source_summaries(&self) -> Vec<SourceSummary> {
        let common = &self.setup.experiment.common;
        let sides = [(&common.traffic, "network:0", &self.sides.network), (&common.send, "host:0", &self.sides.host)];
        let summaries = sides.into_iter().flat_map(|(specs, name, side)| {
            let report = |i| side.reports.get(i).cloned().unwrap_or_default();
            let of =
                move |(i, spec): (usize, &SourceSpec)| SourceSummary::of(spec.source.clone(), name.into(), report(i));
            specs.iter().enumerate().map(of)
        });
        summaries.collect()
    }

    /// The end of a complete run, as text.
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
        let not_out = self.fates().iter().map(|fates| fates.not_out).sum();
        let ended = EndedSummary::new(self.ended.as_ref(), text, not_out);
        match &self.ended {
            Some(Ended::Limit) => EndedSummary { is_unfinished: self.unfinished().is_some(), ..ended },
            _ => ended,
        }
    }

    /// The reason why a run was unfinished when it ended, if it was.
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
                cycles_by_cause: CYCLE_NAMES.into_iter().zip(counts).collect(),
                instructions_by_class: by_class,
                locks: core.profile().map(|profile| {
                    let (attempts, vain) = profile.lock_attempts();
                    LockSummary { cycles: profile.locks().cycles(), attempts, vain }
                }),
                trouble: core.fault().map(|trouble| format!("{} at {}", trouble.cause.text(), self.place(trouble.pc))),
            }
        };
        self.cores.iter().map(summary).collect()
    }

    /// Functions by the cycles spent in them, the largest number first.
    fn functions(&self) -> Vec<FunctionSummary> {
        let Some(elf) = &self.elf else { return Vec::new() };
        let mut found: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
        let mut code: Vec<_> = elf.symbols.iter().filter(|symbol| symbol.is_code).collect();
        code.sort_by_key(|symbol| (symbol.addr, symbol.size));
        let name = |addr: u32| {
            let before = code.partition_point(|symbol| symbol.addr <= addr);
            before.checked_sub(1).map_or("elsewhere", |at| code[at].name.as_str())
        };
        let mut add = |name, counts: [u64; 3]| {
            let sums = found.entry(name).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        };
        for (_, core) in &self.cores {
            let core = core.borrow();
            let Some(profile) = core.profile() else { continue };
            profile.code().rows().for_each(|(pc, counts)| add(name(pc), [counts.cycles(), counts.executed, 0]));
            profile.locks().rows().for_each(|(pc, counts)| add(name(pc), [0, 0, counts.cycles()]));
            let rest = profile.code().elsewhere();
            if rest.cycles() > 0 {
                add("elsewhere", [rest.cycles(), rest.executed, profile.locks().elsewhere().cycles()]);
            }
        }
        let summary = |(name, [cycles, instructions, lock_cycles]): (&str, [u64; 3])| FunctionSummary {
            name: name.to_owned(),
            cycles,
            instructions,
            lock_cycles,
        };
        let mut functions: Vec<FunctionSummary> = found.into_iter().map(summary).collect();
        functions.sort_by(|a, b| b.cycles.cmp(&a.cycles).then_with(|| a.name.cmp(&b.name)));
        functions
    }
}

impl DirectionSummary {
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
    /// The rates of a flow in a span of femtoseconds, which is not empty.
    fn of(flow: Flow, span_fs: u64) -> Rate {
        let seconds = span_fs as f64 / 1e15;
        let (frames_per_s, gbps) = (flow.frames as f64 / seconds, flow.bytes as f64 * 8.0 / seconds / 1e9);
        Rate { frames: flow.frames, bytes: flow.bytes, ns: span_fs as f64 / 1e6, frames_per_s, gbps }
    }
}

/// Femtoseconds that frames took from one place to another, by their numbers.
fn latencies(from: &[Passage], to: &[Passage]) -> Vec<u64> {
    let begun: BTreeMap<u64, Time> = from.iter().filter_map(|passage| Some((passage.id?, passage.at))).collect();
    let took = |passage: &Passage| passage.at.fs().checked_sub(begun.get(&passage.id?)?.fs());
    to.iter().filter_map(took).collect()
}
