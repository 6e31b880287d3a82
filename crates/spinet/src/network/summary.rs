//! The section of the summary for networks.

use super::card::NetworkCard;
use super::gather::CardCounts;
use super::messages::MessagesSummary;
use crate::experiment::NicSpec;
use crate::goal::{GoalSummary, StepRow};
use crate::kinds;
use crate::run::{Card, Ended, Simulated};
use crate::summary::{
    EndedSummary, LatencySummary, PacketSummary, Remark, Report, Summary, ThroughputSummary, TimeSummary, grouped,
    part_of,
};
use kernel::Time;
use net::design::DesignNode;
use net::observe::DropReason;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The summary of a run of a network.
pub type NetworkSummary = Summary<NetworkPackets, NetworkSection>;

/// Counts of frames in a network.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NetworkPackets {
    /// Copies that faulty links made.
    pub copied: u64,
    /// Frames that waited in nodes or were on links when the run ended.
    pub in_flight: u64,
    /// Frames in which switches marked congestion.
    pub marked: u64,
}

/// Keys of networks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NetworkSection {
    /// Nodes in the order of their numbers.
    pub nodes: Vec<NodeSummary>,
    /// Switches in the order of their numbers.
    pub switches: Vec<SwitchSummary>,
    /// Links, with an entry for each direction.
    pub links: Vec<LinkSummary>,
    /// Greatest number of bytes in a queue of a switch.
    pub deepest_queue_bytes: u64,
    /// Messages between hosts. Only the first of several processes knows them.
    pub messages: Option<MessagesSummary>,
    /// The schedule that the hosts ran; null if there was none, or if it did not end.
    pub schedule: Option<ScheduleSummary>,
}

/// The run of a schedule on the hosts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScheduleSummary {
    /// Times at which the hosts ended, and the critical path.
    #[serde(flatten)]
    pub run: GoalSummary,
    /// Steps of the critical path; of a long path, only the longest steps.
    pub steps: Vec<StepRow>,
}

/// Kinds of remarks on the programs of cards.
const OF_PROGRAMS: [&str; 6] =
    ["traps", "findings", "refused_commands", "message_timeouts", "no_queue", "kept_packets"];

/// Maximum number of nodes in a list of a remark.
const MOST_NAMES: usize = 8;

/// The first texts of a list, and the number of the others.
fn few(all: &[String], separator: &str) -> String {
    let first = all.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(separator);
    if all.len() <= MOST_NAMES { first } else { format!("{first} and {} more", all.len() - MOST_NAMES) }
}

/// Maximum number of steps of a critical path in a summary.
const MOST_STEPS: usize = 100;

/// A node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// Its card.
    pub nic: String,
    /// Kind of its card; `plain` for a plain NIC.
    pub kind: &'static str,
    /// Its IPv4 address.
    pub ip: String,
    /// Digest of everything that left its card.
    pub digest: String,
    /// Packets that its card took.
    #[serde(rename = "in")]
    pub packets_in: u64,
    /// Packets that its card finished.
    pub done: u64,
    /// Frames that were too long for its card.
    pub refused: u64,
    /// Packets that its card dropped, by reason; reasons without a drop are not listed.
    pub dropped_by_reason: BTreeMap<String, u64>,
}

/// A switch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SwitchSummary {
    /// Its name.
    pub name: String,
    /// Frames that it dropped.
    pub dropped: u64,
    /// The same by reason; reasons without a drop are not listed.
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
    /// Frames in which it marked congestion.
    pub marked: u64,
    /// Pauses that it asked for.
    pub pauses: u64,
    /// Greatest number of bytes in one of its queues.
    pub deepest_queue_bytes: u64,
}

/// A direction of a link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinkSummary {
    /// Name of the link.
    pub name: String,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Frames that began to cross it.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: u64,
    /// Share of the simulated time in which frames were on it.
    pub utilisation: f64,
    /// Frames that a fault lost.
    pub lost: u64,
    /// Pause frames.
    pub pauses: u64,
}

impl NetworkCard {
    /// The summary so far; `wall` is the host time that the run took.
    pub(super) fn summarize(&self, wall: Duration) -> NetworkSummary {
        let ledger = self.ledger();
        let counts = self.counts();
        let (entered, delivered, dropped) = (ledger.entered, ledger.delivered, ledger.all_dropped());
        let unfinished = ledger.in_flight.frames + self.sum().inside;
        let seconds =
            self.observed().frames.span.map(|(first, last)| (last - first).fs() as f64 / 1e15).filter(|&s| s > 0.0);
        let gbps = |bytes: u64| seconds.map(|seconds| bytes as f64 * 8.0 / seconds / 1e9);
        let latency_ns = LatencySummary::exact(self.observed().frames.latencies().to_vec());
        let simulated = match (&self.ended, self.observed().frames.span) {
            // The check that finds the end comes later than the end.
            (Some(Ended::Complete), span) => {
                let told = Time::from_fs(self.sum().told_fs);
                let last = span.map_or(told, |(_, last)| last.max(told));
                if last == Time::ZERO { self.now() } else { last }
            }
            _ => self.now(),
        };
        let report = Report {
            kind: &kinds::NETWORK,
            ended: EndedSummary::new(self.ended.as_ref(), self.end_text(unfinished), unfinished),
            remarks: self.remarks(dropped.frames, &counts),
            packets: PacketSummary {
                packets_in: entered.frames,
                in_bytes: entered.bytes,
                out: delivered.frames,
                out_bytes: delivered.bytes,
                dropped: dropped.frames,
                dropped_by_reason: self.dropped().into_iter().filter(|&(_, n)| n > 0).collect(),
                unfinished,
                more: NetworkPackets {
                    copied: ledger.copied.frames,
                    in_flight: ledger.in_flight.frames,
                    marked: self.observed().frames.marked,
                },
            },
            throughput: ThroughputSummary {
                in_gbps: gbps(entered.bytes),
                out_gbps: gbps(delivered.bytes),
                network_gbps: gbps(delivered.bytes),
                host_gbps: None,
                done_packets_per_s: seconds.map(|seconds| delivered.frames as f64 / seconds),
            },
            steady: None,
            latency_ns,
            ingress_wait_ns: None,
            sources: Vec::new(),
            time: TimeSummary {
                simulated_ns: simulated.fs() as f64 / 1e6,
                skipped_ns: 0.0,
                started_ns: None,
                cycles: None,
                clock_mhz: None,
            },
        };
        let section = self.section(simulated.fs(), counts);
        let mut common = self.setup.experiment.common.clone();
        common.nic = NicSpec { preset: kinds::NETWORK.name.into(), ..NicSpec::default() };
        Summary::of(self, (&common, &self.setup.experiment), wall, report, section)
    }

    fn end_text(&self, unfinished: u64) -> String {
        let left =
            format!("{} unfinished", part_of(unfinished, self.observed().frames.entered().max(unfinished), "packet"));
        match &self.ended {
            None => "it is running".into(),
            Some(Ended::Complete) => "all packets are done".into(),
            Some(Ended::Limit) if unfinished == 0 => "the limit came; no packet was under way".into(),
            Some(Ended::Limit) => format!("the limit came with {left}"),
            Some(Ended::Trouble(text)) => text.clone(),
            Some(Ended::Stalled(Some(text))) => format!("nothing moves any more; {text}"),
            Some(_) => format!("nothing moves any more, with {left}"),
        }
    }

    /// Packets that cards dropped or refused.
    fn card_drops(&self, counts: &[CardCounts]) -> Option<Remark> {
        let (mut cards, mut total) = (Vec::new(), 0);
        for (node, counts) in self.nodes().iter().zip(counts) {
            let refused = (counts.refused > 0).then_some(("too_long", counts.refused));
            let dropped = counts.dropped_by_reason.iter().map(|(reason, &n)| (reason.as_str(), n));
            let mut reasons = Vec::new();
            for (reason, n) in dropped.chain(refused) {
                total += n;
                reasons.push(format!("{} {reason}", grouped(n)));
            }
            if !reasons.is_empty() {
                cards.push(format!("`{}` {}", node.name, reasons.join(" and ")));
            }
        }
        let packets = if total == 1 { "1 packet".to_owned() } else { format!("{} packets", grouped(total)) };
        (total > 0).then(|| Remark::new("card_drops", format!("cards dropped {packets}: {}", few(&cards, ", "))))
    }

    /// Hosts that gave up peers.
    fn silent_peers(&self, counts: &[CardCounts]) -> Option<Remark> {
        let name = |node: usize| format!("`{}`", self.nodes()[node].name);
        let mut hosts = Vec::new();
        for (node, CardCounts { silent_peers, .. }) in counts.iter().enumerate() {
            let peers: Vec<String> = silent_peers.iter().map(|&peer| name(peer as usize)).collect();
            if !peers.is_empty() {
                hosts.push(format!("{} gave up sending to {}", name(node), few(&peers, ", ")));
            }
        }
        let why = "no acknowledgment came during `retries` timeouts in a row";
        (!hosts.is_empty()).then(|| Remark::new("silent_peers", format!("{}: {why}", few(&hosts, "; "))))
    }

    /// Drops of the network and of cards, and problems of programs. For each kind of problem, the remark of the first node is given, with
    /// the names of other nodes that have it.
    fn remarks(&self, dropped: u64, counts: &[CardCounts]) -> Vec<Remark> {
        let drops = (dropped > 0).then(|| {
            Remark::new(
                "network_drops",
                format!("the network dropped {}", part_of(dropped, self.observed().frames.entered(), "frame")),
            )
        });
        let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
        let remarks = self.program_remarks();
        for (&node, (kind, text)) in remarks.iter().flat_map(|(node, all)| all.iter().map(move |one| (node, one))) {
            let name = format!("`{}`", self.nodes()[node].name);
            match found.iter_mut().find(|(known, ..)| known == kind) {
                Some((.., others)) => others.push(name),
                None => found.push((kind.clone(), format!("node {name}: {text}"), Vec::new())),
            }
        }
        let programs = found.into_iter().filter_map(|(kind, text, others)| {
            let kind = OF_PROGRAMS.into_iter().find(|known| *known == kind)?;
            let more = if others.is_empty() { String::new() } else { format!("; also on {}", few(&others, ", ")) };
            Some(Remark::new(kind, text + &more))
        });
        let cards = self.card_drops(counts).into_iter().chain(self.silent_peers(counts));
        drops.into_iter().chain(cards).chain(programs).collect()
    }

    fn section(&self, simulated_fs: u64, counts: Vec<CardCounts>) -> NetworkSection {
        let reports = self.reports();
        let name =
            |node: net::NodeId| reports.get(node.0 as usize).map_or_else(String::new, |report| report.name.clone());
        let node = |(number, setup): (usize, &super::NodeSetup)| {
            let CardCounts { packets_in, done, refused, dropped_by_reason, .. } = counts[number].clone();
            NodeSummary {
                name: setup.name.clone(),
                nic: setup.nic.clone(),
                kind: setup.kind.map_or(super::plain::PLAIN, |kind| kind.name),
                ip: self.setup.ip(number).to_string(),
                digest: reports.get(number).map_or_else(String::new, |report| report.digest.clone()),
                packets_in,
                done,
                refused,
                dropped_by_reason,
            }
        };
        let network = self.network.borrow();
        let mut links = Vec::new();
        for link in network.links() {
            for end in 0..2 {
                let ((from, port), (to, _)) = (link.ends[end], link.ends[1 - end]);
                let line =
                    reports.get(from.0 as usize).and_then(|report| report.lines.get(usize::from(port.0))?.as_ref());
                let counts = line.map(|(counts, _)| *counts).unwrap_or_default();
                links.push(LinkSummary {
                    name: link.name.clone(),
                    from: name(from),
                    to: name(to),
                    frames: counts.sent.frames,
                    bytes: counts.sent.bytes,
                    utilisation: counts.busy_fs as f64 / simulated_fs.max(1) as f64,
                    lost: counts.faults.lost,
                    pauses: counts.pauses,
                });
            }
        }
        drop(network);
        let nodes = self.nodes().iter().enumerate().map(node).collect();
        let switch = |(number, design): (usize, &DesignNode)| {
            let observed = self.observed();
            let seen = observed.frames.of_node(number);
            let by_reason = DropReason::ALL.iter().map(|&reason| (reason.name(), seen.dropped[reason as usize]));
            SwitchSummary {
                name: design.name.clone(),
                dropped: seen.dropped.iter().sum(),
                dropped_by_reason: by_reason.filter(|&(_, n)| n > 0).collect(),
                marked: seen.marked,
                pauses: seen.pauses,
                deepest_queue_bytes: seen.deepest,
            }
        };
        let all = self.setup.design.nodes.iter().enumerate();
        let switches = all.skip(self.nodes().len()).map(switch).collect();
        let finished = self.finished.borrow();
        let schedule = finished
            .as_ref()
            .map(|finished| ScheduleSummary { run: finished.summary(), steps: finished.steps(MOST_STEPS) });
        let observed = self.observed();
        let messages = observed.messages.as_ref().map(|messages| messages.summary(name));
        NetworkSection { nodes, switches, links, deepest_queue_bytes: observed.frames.deepest, messages, schedule }
    }
}
