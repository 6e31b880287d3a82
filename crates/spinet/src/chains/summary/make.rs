//! From the record of a run to its summary.

use super::*;
use crate::chains::card::ChainCard;
use crate::chains::check::SideSource;
use crate::chains::classify::Chain;
use crate::chains::stats::{Group, Stats, UnitStats, Visits};
use crate::chains::tenants::Tenant;
use crate::chains::trail::Part;
use crate::kinds;
use crate::lines::line_of;
use crate::run::{Ended, Port};
use crate::summary::{
    EndedSummary, PacketSummary, Remark, Report, SourceSummary, SteadySummary, ThroughputSummary, TimeSummary, gbps,
    ns, packets_per_s,
};
use kernel::{Clock, Cycle};
use panic::fairness::{jain, shares};
use panic::protocol::NodeId;
use panic::unit::riscv::{Program, Trouble};
use panic::world::ExternalPort;
use std::time::Duration;

/// Computes the summary from the sums of a run.
pub(super) struct Maker {
    clock: Clock,
}

impl Maker {
    pub(super) fn ns(&self, cycles: f64) -> f64 {
        ns(self.clock, cycles)
    }

    fn group(&self, group: &Group) -> GroupSummary {
        let dropped = group.dropped.packets;
        let done = group.left.packets + dropped;
        GroupSummary {
            packets_in: group.came.packets,
            in_bytes: group.came.bytes,
            in_gbps: gbps(self.clock, group.came),
            out: group.left.packets,
            out_bytes: group.left.bytes,
            out_gbps: gbps(self.clock, group.left),
            dropped,
            dropped_percent: if dropped == 0 { 0.0 } else { dropped as f64 / group.came.packets as f64 * 100.0 },
            dropped_by_reason: group.reasons.clone(),
            unfinished: group.came.packets - done,
            detoured: group.detoured,
            latency_ns: group.latency.summary(self.clock, Part::NAMES),
        }
    }

    fn visits(&self, service: &str, visits: &Visits) -> VisitSummary {
        let times = visits.latency.summary(self.clock, Part::NAMES);
        VisitSummary {
            service: service.to_owned(),
            packets: visits.packets,
            pushed: visits.pushed,
            detours: visits.detours,
            total_ns: times.as_ref().map(|times| Spread { mean: times.mean, p99: times.p99, max: times.max }),
            split_ns: times.map(|times| {
                Split(times.split.0.into_iter().filter(|&(name, _)| name != Part::Ingress.word()).collect())
            }),
        }
    }
}

impl ChainCard {
    /// The remarks about programs of units.
    pub fn remarks_on_programs(&self) -> Vec<Remark> {
        self.trap_remark(&Maker { clock: self.clock }).into_iter().collect()
    }

    /// The summary so far.
    pub fn summarize(&self, wall: Duration) -> ChainSummary {
        let record = self.record.borrow();
        let (stats, maker) = (&record.stats, Maker { clock: self.clock });
        let experiment = &self.checked.experiment;
        let all = maker.group(&stats.all);
        let services = self.services(&stats.services, &stats.units, &maker);
        let (window, got) = self.got(stats);
        let report = Report {
            kind: &kinds::CHAINS,
            ended: self.ended_summary(record.n_open()),
            remarks: self.remarks(&maker),
            packets: PacketSummary {
                packets_in: all.packets_in,
                in_bytes: all.in_bytes,
                out: all.out,
                out_bytes: all.out_bytes,
                dropped: all.dropped,
                dropped_by_reason: all.dropped_by_reason,
                unfinished: record.n_open(),
                more: ChainPackets {
                    to_network: stats.to_network.packets,
                    to_host: stats.to_host.packets,
                    dropped_bytes: stats.all.dropped.bytes,
                    detoured: all.detoured,
                },
            },
            throughput: ThroughputSummary {
                in_gbps: all.in_gbps,
                out_gbps: all.out_gbps,
                network_gbps: gbps(self.clock, stats.to_network),
                host_gbps: gbps(self.clock, stats.to_host),
                done_packets_per_s: packets_per_s(self.clock, stats.all.left),
            },
            steady: SteadySummary::of(&stats.series, |cycle| maker.ns(cycle as f64)),
            latency_ns: all.latency_ns,
            ingress_wait_ns: Spread::of(self.clock, &stats.line_wait),
            sources: self.source_summaries(),
            time: TimeSummary {
                simulated_ns: maker.ns(self.cycles() as f64),
                skipped_ns: 0.0,
                started_ns: None,
                cycles: Some(self.cycles()),
                clock_mhz: Some(self.checked.nic.clock_mhz()),
            },
        };
        let section = ChainSection {
            jain_index: self.jain_index(stats, window, &got),
            share_window_ns: window.map(|(from, to)| (maker.ns(from as f64), maker.ns(to as f64))),
            tenants: self.tenants(&stats.tenants, &got, &maker),
            chains: self.chains(&stats.chains, &stats.hops, &maker),
            unused: Unused::of(&self.checked, stats, &services),
            services,
            credits: self.credit_summary(&maker),
            troubles: self.troubles(&maker),
            tables: pipeline::tables(self.chains.borrow().rmt()),
            registers: pipeline::registers(self.chains.borrow().rmt()),
        };
        Summary::of(self, (&experiment.common, experiment), wall, report, section)
    }

    fn ended_summary(&self, unfinished_packets: u64) -> EndedSummary {
        let inside = match unfinished_packets {
            0 => "no packet is inside".to_owned(),
            1 => "1 packet is inside".into(),
            n => format!("{n} packets are inside"),
        };
        let experiment = &self.checked.experiment;
        let text = match &self.ended {
            None => format!("the run goes on; {inside}"),
            Some(Ended::Complete) => "all packets have left or were dropped".to_owned(),
            Some(Ended::Limit) => {
                let limit = experiment.common.limit.map_or("5 hours".into(), |limit| limit.to_string());
                format!("the limit of {limit} is reached; {inside}")
            }
            Some(_) => format!("{inside} and none has left for {}, or ever will", experiment.common.stall_limit),
        };
        EndedSummary::new(self.ended.as_ref(), text, unfinished_packets)
    }

    /// The span in which all sending tenants sent, and the bytes of each tenant that left in it. If there is no such
    /// span, the bytes of the whole run.
    fn got(&self, stats: &Stats) -> (Option<(Cycle, Cycle)>, Vec<u64>) {
        let groups = &stats.tenants[..self.checked.tenants.len()];
        let spans: Vec<_> = groups.iter().map(|group| group.came.span).collect();
        match stats.shares.together(&spans) {
            Some((window, bytes)) => (Some(window), bytes),
            None => (None, groups.iter().map(|group| group.left.bytes).collect()),
        }
    }

    /// Jain's index of the shares of the tenants that sent packets, by their weights over time.
    fn jain_index(&self, stats: &Stats, window: Option<(Cycle, Cycle)>, got: &[u64]) -> f64 {
        let has_sent: Vec<bool> = stats.tenants.iter().map(|group| group.came.packets > 0).collect();
        let mut weights = self.weights();
        for (_, weights) in &mut weights {
            weights.iter_mut().zip(&has_sent).filter(|(_, sent)| !**sent).for_each(|(weight, _)| *weight = 0);
        }
        let due = stats.shares.due(window, &weights);
        let of_senders = due.iter().zip(got).filter(|(due, _)| **due > 0.0);
        let (due, got): (Vec<f64>, Vec<u64>) = of_senders.unzip();
        jain(&got, &due)
    }

    /// The weights of the tenants, each with its first cycle.
    fn weights(&self) -> Vec<(Cycle, Vec<u32>)> {
        let mut now: Vec<u32> = self.checked.tenants.iter().map(|tenant| tenant.weight).collect();
        let mut weights = vec![(0, now.clone())];
        for change in self.changes_made().iter().filter(|change| !change.weights.is_empty()) {
            change.weights.iter().for_each(|&(tenant, weight)| now[tenant] = weight);
            weights.push((self.clock.cycle_at_or_after(change.time), now.clone()));
        }
        weights
    }

    fn tenants(&self, groups: &[Group], got: &[u64], maker: &Maker) -> Vec<TenantSummary> {
        let last = self.weights().pop().map_or_else(Vec::new, |(_, weights)| weights);
        let named = self.checked.tenants.iter().zip(groups).zip(shares(got)).zip(last);
        let summary = |(((tenant, group), share), last_weight): (((&Tenant, &Group), f64), u32)| TenantSummary {
            name: tenant.name.clone(),
            weight: tenant.weight,
            last_weight,
            priority: tenant.priority,
            class: tenant.class,
            share,
            group: maker.group(group),
        };
        named.map(summary).collect()
    }

    /// The chains, and an entry for packets that no chain took, if there were any.
    fn chains(&self, groups: &[Group], hops: &[Vec<Visits>], maker: &Maker) -> Vec<ChainGroupSummary> {
        let summary = |((chain, group), hops): ((&Chain, &Group), &Vec<Visits>)| {
            let services: Vec<String> = chain.params.services.iter().map(|hop| hop.service.clone()).collect();
            ChainGroupSummary {
                name: chain.params.name.clone(),
                tenant: Some(self.checked.tenants[chain.tenant].name.clone()),
                group: maker.group(group),
                hops: services.iter().zip(hops).map(|(service, visits)| maker.visits(service, visits)).collect(),
                services,
            }
        };
        let all = self.checked.chains.all();
        let mut chains: Vec<_> = all.iter().zip(groups).zip(hops).map(summary).collect();
        if let Some(others) = groups.last().filter(|others| others.came.packets > 0) {
            let (name, group) = ("(no chain)".to_owned(), maker.group(others));
            chains.push(ChainGroupSummary { name, tenant: None, services: Vec::new(), group, hops: Vec::new() });
        }
        chains
    }

    fn services(&self, visits: &[Visits], units: &BTreeMap<u8, UnitStats>, maker: &Maker) -> Vec<ServiceSummary> {
        let span = self.busy_span();
        let credits = self.credits.borrow();
        let unit = |service: &str, i: usize, node: &NodeId| {
            let stats = units.get(&node.0).cloned().unwrap_or_default();
            let lane = credits.lanes().iter().find(|lane| lane.node == *node);
            let mean = lane.and_then(|lane| lane.mean(span.0, span.1));
            UnitSummary {
                path: format!("{service}[{i}]"),
                node: node.0,
                packets: stats.packets,
                busy_percent: mean.map(|(_, busy)| busy * 100.0),
                in_engine: (span.1 > span.0).then(|| stats.service_cycles as f64 / (span.1 - span.0) as f64),
                credits_held: mean.map(|(held, _)| held),
            }
        };
        let services = self.checked.services.iter().zip(visits).zip(&self.nic.nodes.units);
        let summary = |((service, visits), nodes): ((&panic::params::ServiceSpec, &Visits), &Vec<NodeId>)| {
            let units = nodes.iter().enumerate().map(|(i, node)| unit(&service.name, i, node)).collect();
            ServiceSummary { visits: maker.visits(&service.name, visits), initial_credits: service.credits, units }
        };
        services.map(summary).collect()
    }

    /// Cycle of the first packet in, and cycle of the end of the run.
    fn busy_span(&self) -> (Cycle, Cycle) {
        let first = self.record.borrow().stats.all.came.span.map_or(0, |(first, _)| first);
        (first, self.cycles().max(first))
    }

    fn credit_summary(&self, maker: &Maker) -> CreditSummary {
        let end = self.cycles();
        let (mut interval_ns, mut units) = (0.0, BTreeMap::new());
        let credits = self.credits.borrow();
        let paths = self.checked.services.iter();
        let paths = paths.flat_map(|service| (0..service.units).map(|i| format!("{}[{i}]", service.name)));
        for (path, lane) in paths.zip(credits.lanes()) {
            let (cycles, series) = lane.series(end);
            interval_ns = maker.ns(cycles as f64);
            units.insert(path, series);
        }
        CreditSummary { interval_ns, units }
    }

    fn source_summaries(&self) -> Vec<SourceSummary> {
        let mut reports: BTreeMap<ExternalPort, _> =
            self.ports.iter().map(|port| (port.side(), port.reports().into_iter())).collect();
        let summary = |source: &SideSource| {
            let report = reports.get_mut(&source.side).and_then(Iterator::next);
            let side = Port::from(source.side).to_string();
            SourceSummary::of(source.name.clone(), side, report.unwrap_or_default())
        };
        self.checked.sources.iter().map(summary).collect()
    }

    pub(in crate::chains) fn all_counters(&self) -> BTreeMap<String, u64> {
        let mut counters: BTreeMap<String, u64> = self.nic.system.counters().into_iter().collect();
        let rmt = self.chains.borrow().rmt().counters();
        let rmt = serde_json::to_value(rmt).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
        counters.extend(rmt.into_iter().filter_map(|(name, count)| Some((format!("rmt.{name}"), count.as_u64()?))));
        counters
    }

    /// The first faults of the units' programs.
    pub(super) fn troubles(&self, maker: &Maker) -> Vec<TroubleSummary> {
        let of_unit = |(unit, program): &(String, Program)| {
            let summary = |trouble: &Trouble| TroubleSummary {
                unit: unit.clone(),
                time_ns: maker.ns(trouble.at as f64),
                packet: trouble.packet,
                text: trouble.cause.to_string(),
                pc: format!("{:#010x}", trouble.pc),
                place: trouble.symbol.as_ref().map(|(name, offset)| format!("{name}+{offset:#x}")),
                source: self.program_of(unit).map(|elf| line_of(elf, trouble.pc)).unwrap_or_default(),
            };
            program.troubles.borrow().iter().map(summary).collect::<Vec<_>>()
        };
        self.nic.programs.iter().flat_map(of_unit).collect()
    }
}
