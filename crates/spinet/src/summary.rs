//! The summary of a run: the JSON that `docs/reference/summary.md` describes, which is generated from these types.
//!
//! [`Summary`] is what all kinds of cards report. Each kind adds a section of its own, and further counts of packets. Summaries are the
//! only place with floating-point numbers.

mod latency;

pub use latency::{LatencySummary, Split, Spread};

use crate::experiment::Common;
use crate::flows::{Flow, Series, Traffic};
use crate::kinds::{self, Kind};
use crate::lines::SourceLine;
use crate::run::{Card, Ended};
use crate::streams::FeedReport;
use blocks::mhz::Mhz;
use kernel::{Clock, Resource, Time, Use};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;
use wire::capture::CaptureCounts;
use wire::faults::FaultCounts;
use wire::pacing::PacingCounts;

/// The summary of a run on a card whose kind counts packets as `P` and has the section `S`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary<P, S> {
    /// Version of spinet.
    pub spinet: &'static str,
    /// Kind of the card: `handlers`, `chains`, `modules` or `network`.
    pub kind: &'static str,
    /// The card: a preset, or the path of its file.
    pub nic: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// 64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests on every machine.
    pub digest: String,
    /// How the run ended.
    pub ended: EndedSummary,
    /// Problems in the simulated world and likely mistakes, the most urgent first.
    pub remarks: Vec<Remark>,
    /// Number of packets.
    pub packets: PacketSummary<P>,
    /// Rates from the first packet to the last.
    pub throughput: ThroughputSummary,
    /// Rates while packets came, without the start and the end. `null` if that time was too short.
    pub steady: Option<SteadySummary>,
    /// Time of packets in the card.
    pub latency_ns: Option<LatencySummary>,
    /// Time from when a packet was due on the line until the card took it. It is not part of the latency.
    pub ingress_wait_ns: Option<Spread>,
    /// Sources of packets.
    pub sources: Vec<SourceSummary>,
    /// Simulated time.
    pub time: TimeSummary,
    /// Host time. It differs from run to run and is not part of the digest.
    pub wall: WallSummary,
    /// Every counter of every part, by path.
    pub counters: BTreeMap<String, u64>,
    /// Parts that can be full and were used, the busiest first.
    pub resources: Vec<ResourceSummary>,
    /// The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    /// that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts that
    /// hold things are named only if no other part was so busy, because they are also full if a part behind them is too
    /// slow. `null` if no part was.
    pub bottleneck: Option<String>,
    /// The experiment with all defaults; `spinet run` accepts it as a file.
    pub experiment: Value,
    /// The section of this kind of card.
    #[serde(flatten)]
    pub section: S,
}

/// An action of `[[at]]`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActionSummary {
    /// `install NAME`, `remove NAME`, `write NAME` or `read NAME`; of wired cards also `network down` and `network up`.
    pub what: String,
    /// Begin, since reset.
    pub begun_ns: f64,
    /// End, since reset.
    pub done_ns: f64,
    /// The bytes of a read in hexadecimal, otherwise `null`.
    pub data: Option<String>,
}

/// A part that can be full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResourceSummary {
    /// Path of its counter.
    pub name: String,
    /// Its description and its limit.
    pub limit: String,
    /// `passes`: it passes or processes things, one after the other in each unit. `holds`: it holds things until another part takes
    /// them, such as a queue.
    pub does: &'static str,
    /// Its busy cycles, or the quantity that it held summed over cycles.
    pub busy_cycles: u64,
    /// Number of its units.
    pub units: u64,
    /// Share of its units that were busy, from the start of the card to the end of the run.
    pub utilisation: f64,
}

/// End of the names of cores that run handlers.
pub(crate) const HPUS: &str = ".hpus";

/// The resources of a card that were busy at all, the busiest first.
fn resources(card: &impl Card, time: &TimeSummary) -> Vec<ResourceSummary> {
    let (from, resources) = card.resources();
    let end = Time::from_fs(((time.simulated_ns - time.skipped_ns) * 1e6) as u64);
    let simulated = end - from.min(end);
    let summary = |(clock, resource): (Clock, Resource)| {
        let Resource { path, limit, busy, units, does } = resource;
        let does = match does {
            Use::Passes => PASSES,
            Use::Holds => HOLDS,
        };
        let most = clock.cycle_at_or_after(simulated) as f64 * units as f64;
        let utilisation = if most > 0.0 { busy as f64 / most } else { 0.0 };
        ResourceSummary { name: path, limit, does, busy_cycles: busy, units, utilisation }
    };
    let mut found: Vec<_> = resources.into_iter().map(summary).filter(|one| one.busy_cycles > 0).collect();
    found.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation).then_with(|| a.name.cmp(&b.name)));
    found
}

const PASSES: &str = "passes";
const HOLDS: &str = "holds";

/// Least share of the time for which a part must be busy to be the bottleneck.
const BOTTLENECK: f64 = 0.9;

/// The part that limited the throughput.
fn bottleneck(resources: &[ResourceSummary]) -> Option<String> {
    let full: Vec<_> = resources.iter().filter(|one| one.utilisation >= BOTTLENECK).collect();
    let passing = |one: &&&ResourceSummary| one.does == PASSES && !one.name.ends_with(HPUS);
    let found = full.iter().find(passing).or_else(|| full.iter().find(|one| one.does == PASSES));
    found.or(full.first()).map(|one| one.name.clone())
}

/// The values of [`Summary`] that its card does not give by [`Card`].
pub(crate) struct Report<P> {
    pub kind: &'static Kind,
    pub ended: EndedSummary,
    pub remarks: Vec<Remark>,
    pub packets: PacketSummary<P>,
    pub throughput: ThroughputSummary,
    pub steady: Option<SteadySummary>,
    pub latency_ns: Option<LatencySummary>,
    pub ingress_wait_ns: Option<Spread>,
    pub sources: Vec<SourceSummary>,
    pub time: TimeSummary,
}

impl<P, S> Summary<P, S> {
    /// The summary of a run that took `wall` of host time so far.
    pub(crate) fn of(
        card: &impl Card,
        (common, experiment): (&Common, &impl Serialize),
        wall: Duration,
        report: Report<P>,
        section: S,
    ) -> Self {
        let Report { kind, ended, remarks, packets, throughput, steady, latency_ns, ingress_wait_ns, sources, time } =
            report;
        let unfinished = ended.is_unfinished.then(|| Remark::new("unfinished", ended.text.clone()));
        let remarks = unfinished.into_iter().chain(remarks).collect();
        let resources = resources(card, &time);
        let seconds = wall.as_secs_f64();
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        Summary {
            spinet: env!("CARGO_PKG_VERSION"),
            kind: kind.name,
            nic: common.nic.preset.clone(),
            seed: common.seed,
            digest: card.digest(),
            ended,
            remarks,
            throughput,
            steady,
            latency_ns,
            ingress_wait_ns,
            sources,
            wall: WallSummary {
                seconds,
                cycles_per_second: time.cycles.map(per_second),
                packets_per_second: per_second(packets.packets_in),
            },
            packets,
            time,
            counters: card.counters(),
            bottleneck: bottleneck(&resources),
            resources,
            experiment: json(experiment),
            section,
        }
    }
}

/// As in JSON, the keys of the section are on the same level as the common ones.
impl<P, S> Deref for Summary<P, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.section
    }
}

/// As in JSON, the kind's own counts are on the same level as the common ones.
impl<P> Deref for PacketSummary<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.more
    }
}

impl<P: Serialize, S: Serialize> Summary<P, S> {
    /// The summary as JSON.
    pub fn to_json(&self) -> Value {
        json(self)
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("summaries and experiments are numbers, texts, lists and tables with names")
}

/// Schemas of the common part, and by kind of card those of its section and of its counts of packets; why each kind drops packets.
pub fn schema() -> Value {
    let of_kind = |kind: &&Kind| {
        let [packets, section] = kind.summary;
        (kind.name.to_owned(), json!({ "packets": packets(), "section": section(), "drops": (kind.drops)() }))
    };
    let common = ("common".to_owned(), schema_of::<Summary<NoMore, NoMore>>());
    Value::Object([common].into_iter().chain(kinds::ALL.iter().map(of_kind)).collect())
}

/// The schema of a part of the summary.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    crate::schema::without_links(&generator().into_root_schema_for::<T>().to_value())
}

/// No keys besides the common ones.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct NoMore {}

fn generator() -> schemars::SchemaGenerator {
    schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// How the run ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndedSummary {
    /// The reason in one word.
    pub reason: &'static str,
    /// The reason as a sentence.
    pub text: String,
    /// True if the run ended before all packets were finished. A limit at which no packet was in the card, or with endless traffic, is a
    /// regular end. If true, `spinet run` reports the reason on stderr and exits with 2.
    pub is_unfinished: bool,
    /// Packets taken from the traffic and not finished.
    pub unfinished_packets: u64,
    /// Messages whose last packet never arrived. For cards that run handlers.
    pub open_messages: u64,
    /// Cores that were running a handler when the run ended early. For cards that run handlers.
    pub cores: Vec<BusyCore>,
}

impl EndedSummary {
    /// An end with packets in the card, or without.
    pub(crate) fn new(ended: Option<&Ended>, text: String, unfinished_packets: u64) -> Self {
        let is_unfinished = match ended {
            None | Some(Ended::Complete) => false,
            Some(Ended::Limit) => unfinished_packets > 0,
            Some(_) => true,
        };
        let reason = Ended::reason(ended);
        EndedSummary { reason, text, is_unfinished, unfinished_packets, open_messages: 0, cores: Vec::new() }
    }
}

/// A core that was running a handler.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BusyCore {
    /// Its cluster.
    pub cluster: u32,
    /// Its number in the cluster.
    pub core: u32,
    /// Program counter.
    pub pc: String,
    /// Function and offset.
    pub place: String,
    /// Source line of `pc`.
    #[serde(flatten)]
    pub source: SourceLine,
    /// The resource that the core waits for.
    pub waiting_for: &'static str,
    /// The stage of the handler: `header`, `payload` or `completion`; `null` outside of handlers.
    pub stage: Option<&'static str>,
    /// Number of the packet in the traffic.
    pub frame: Option<u64>,
}

/// A problem in the simulated world or a likely mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    /// The kind of problem, for programs.
    pub kind: &'static str,
    /// The problem as a sentence without a full stop.
    pub text: String,
}

impl Remark {
    /// A remark of a kind.
    pub fn new(kind: &'static str, text: String) -> Remark {
        Remark { kind, text }
    }
}

/// Number of packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketSummary<P> {
    /// Packets given to the card.
    #[serde(rename = "in")]
    pub packets_in: u64,
    /// Their bytes.
    pub in_bytes: u64,
    /// Packets that left the card: to the network, and for cards without handlers to the host.
    pub out: u64,
    /// Their bytes.
    pub out_bytes: u64,
    /// Packets that the card dropped.
    pub dropped: u64,
    /// The same by reason.
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    /// Packets not finished when the run ended.
    pub unfinished: u64,
    /// Further counts of this kind of card.
    #[serde(flatten)]
    pub more: P,
}

/// Gbit/s of packets without FCS, preamble and gap. `null` if fewer than two packets passed.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ThroughputSummary {
    /// Gbit/s into the card, without the bytes of the last packet. For cards that run handlers: into packet memory.
    pub in_gbps: Option<f64>,
    /// Gbit/s out of the card.
    pub out_gbps: Option<f64>,
    /// The part of `out_gbps` that left to the network.
    pub network_gbps: Option<f64>,
    /// The part of `out_gbps` that left to the host; `null` for cards that run handlers.
    pub host_gbps: Option<f64>,
    /// Finished packets per second, from the first to the last.
    pub done_packets_per_s: Option<f64>,
}

/// Rates of a card in steady state: while packets came, without the first quarter of that time. So packets count
/// neither while buffers fill at the start, nor while they empty at the end.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SteadySummary {
    /// Begin of the time, since reset.
    pub from_ns: f64,
    /// Its end.
    pub to_ns: f64,
    /// Gbit/s that came to the card. Endless traffic comes as fast as the card takes it. Rates are without FCS, preamble and gap, except those on the line.
    pub offered_gbps: f64,
    /// Gbit/s of packets that the card finished, with the sizes at which they came.
    pub held_gbps: f64,
    /// The offered rate on the line, with FCS, preamble and gap.
    pub offered_line_gbps: f64,
    /// The same of `held_gbps`.
    pub held_line_gbps: f64,
    /// The same in packets per second.
    pub offered_packets_per_s: f64,
    /// The same in packets per second.
    pub held_packets_per_s: f64,
}

impl SteadySummary {
    /// The steady state of a series whose ticks `ns` converts to nanoseconds.
    pub(crate) fn of(series: &Series, ns: impl Fn(u64) -> f64) -> Option<Self> {
        let (window, sum) = series.steady()?;
        let (from_ns, to_ns) = (ns(window.start), ns(window.end));
        let gbps = |traffic: Traffic| 8.0 * traffic.bytes as f64 / (to_ns - from_ns);
        let line =
            |traffic: Traffic| Traffic { bytes: traffic.bytes + wire::eth::LINE_LEN * traffic.packets, ..traffic };
        let packets_per_s = |traffic: Traffic| 1e9 * traffic.packets as f64 / (to_ns - from_ns);
        Some(SteadySummary {
            from_ns,
            to_ns,
            offered_gbps: gbps(sum.came),
            held_gbps: gbps(sum.done),
            offered_line_gbps: gbps(line(sum.came)),
            held_line_gbps: gbps(line(sum.done)),
            offered_packets_per_s: packets_per_s(sum.came),
            held_packets_per_s: packets_per_s(sum.done),
        })
    }
}

/// A source of packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourceSummary {
    /// The source, as the experiment names it.
    pub source: String,
    /// Where its packets enter the card: `network:PORT` or `host:QUEUE`.
    pub side: String,
    /// The contents of the capture; `null` for generated traffic.
    pub capture: Option<CaptureSummary>,
    /// Corrections of packets' times.
    pub pacing: PacingCounts,
    /// Packets that the network lost, duplicated and reordered.
    pub network: FaultCounts,
}

impl SourceSummary {
    /// The report of a source.
    pub(crate) fn of(source: String, side: String, report: FeedReport) -> Self {
        let FeedReport { capture, pacing, faults } = report;
        let capture = capture.map(|(counts, stop)| CaptureSummary { counts, stop });
        SourceSummary { source, side, capture, pacing, network: faults }
    }
}

/// The contents of a capture.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CaptureSummary {
    /// Packets and blocks by kind.
    #[serde(flatten)]
    pub counts: CaptureCounts,
    /// Why reading ended early.
    pub stop: Option<String>,
}

/// Simulated time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimeSummary {
    /// Simulated time. The complete run of a network ends with its last frame or the last event of a host, whichever is later.
    pub simulated_ns: f64,
    /// Idle time that was skipped: no frame was in the card, and its clocks stood still. It is part of `simulated_ns`.
    pub skipped_ns: f64,
    /// When the card was ready for packets; `null` if it never was, or is ready from the start.
    pub started_ns: Option<f64>,
    /// Simulated cycles; `null` for a card with several clocks.
    pub cycles: Option<u64>,
    /// Clock frequency; `null` for a card with several clocks.
    #[schemars(with = "Option<Mhz>")]
    pub clock_mhz: Option<Mhz>,
}

/// Host time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WallSummary {
    /// Seconds.
    pub seconds: f64,
    /// Simulated cycles per second; `null` for a card with several clocks.
    pub cycles_per_second: Option<f64>,
    /// Packets given to the card per second.
    pub packets_per_second: f64,
}

/// Cycles as nanoseconds.
pub(crate) fn ns(clock: Clock, cycles: f64) -> f64 {
    // Edges are exact; a mean of cycles needs the period.
    let many = 1u64 << 30;
    cycles * (clock.edge(many).fs() as f64 / many as f64) / 1e6
}

/// Gbit/s from the first packet to the last, without the bytes of the last, which take time after that. `None` without time in between.
pub(crate) fn gbps(clock: Clock, flow: Flow) -> Option<f64> {
    let (first, last) = flow.span.filter(|(first, last)| last > first)?;
    Some((flow.bytes - flow.last_bytes) as f64 * 8.0 / ns(clock, (last - first) as f64))
}

/// Packets per second from the first packet to the last.
pub(crate) fn packets_per_s(clock: Clock, flow: Flow) -> Option<f64> {
    let (first, last) = flow.span.filter(|(first, last)| last > first)?;
    Some((flow.packets - 1) as f64 / ns(clock, (last - first) as f64) * 1e9)
}

/// `all 28 packets`, `2 of 28 packets`.
pub(crate) fn part_of(part: u64, whole: u64, what: &str) -> String {
    let plural = if whole == 1 { "" } else { "s" };
    match whole {
        1 if part == 1 => format!("the only {what}"),
        _ if part == whole => format!("all {} {what}s", grouped(whole)),
        _ => format!("{} of {} {what}{plural}", grouped(part), grouped(whole)),
    }
}

/// `bad.c:7` of `/home/me/bad.c:7`.
pub(crate) fn file_name(line: &str) -> &str {
    line.rsplit(['/', '\\']).next().unwrap_or(line)
}

/// A number with separators between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chains, handlers};
    use pspin::delivery::DropReason;

    const PAGE: &str = include_str!("../../../docs/reference/summary.md");

    /// Keys below `schema` without a description, and all keys.
    fn keys(schema: &Value, path: &str, silent: &mut Vec<String>, all: &mut Vec<String>) {
        match schema {
            Value::Object(table) => {
                for (key, value) in table.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    all.push(key.clone());
                    if value["description"].as_str().is_none_or(str::is_empty) {
                        silent.push(format!("{path}.{key}"));
                    }
                }
                table.iter().for_each(|(key, value)| keys(value, &format!("{path}.{key}"), silent, all));
            }
            Value::Array(items) => items.iter().for_each(|item| keys(item, path, silent, all)),
            _ => {}
        }
    }

    #[test]
    fn every_key_has_a_description_and_is_on_the_page() {
        let (mut silent, mut all) = (Vec::new(), Vec::new());
        keys(&schema(), "", &mut silent, &mut all);
        assert_eq!(silent, [""; 0], "keys without a description");
        let words = handlers::packets::Part::NAMES.into_iter().chain(chains::Part::NAMES).chain(DropReason::NAMES);
        all.extend(words.map(str::to_owned));
        all.retain(|key| !PAGE.contains(&format!("`{key}`")));
        assert_eq!(all, [""; 0], "not in docs/reference/summary.md; `make docs` writes it");
    }

    /// Median and 99 % of frames that took 1 ns, 2 ns, ..., `n` ns.
    fn check_latency(n: u64, want: (f64, f64)) {
        let found = LatencySummary::exact((1..=n).rev().map(|ns| ns * 1_000_000).collect()).expect("there are times");
        assert_eq!((found.count, found.min, found.max), (n, 1.0, n as f64));
        assert!((found.median - want.0).abs() < 1e-9 && (found.p99 - want.1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn ninety_nine_of_a_hundred_frames_took_at_most_the_99th_percentile() {
        check_latency(1, (1.0, 1.0));
        check_latency(10, (5.0, 10.0));
        check_latency(100, (50.0, 99.0));
        check_latency(101, (51.0, 100.0));
        check_latency(200, (100.0, 198.0));
    }
}
