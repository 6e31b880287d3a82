//! Sums over packets; they do not grow with their number.

use super::shares::Shares;
use super::trail::{N_PARTS, Visit, Way};
use crate::flows::{Flow, Series, Traffic};
use crate::histogram::Histogram;
use crate::milestones::Latency;
use kernel::Cycle;
use panic::drops::DropReason;
use std::collections::BTreeMap;

/// Packets of a tenant, of a chain, or all.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Packets that came in.
    pub came: Flow,
    /// Packets that left, by the time of their last bytes.
    pub left: Flow,
    /// Packets that were dropped.
    pub dropped: Traffic,
    /// Number of dropped packets, by the name of the reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// From first bytes in to first bytes out.
    pub latency: Latency<N_PARTS>,
    /// Packets that a unit refused at least once.
    pub detoured: u64,
}

impl Group {
    /// A packet has left.
    pub fn leave(&mut self, at: Cycle, bytes: u64, way: &Way) {
        self.left.add(at, bytes);
        self.latency.add(way.latency().unwrap_or(0), &way.parts);
        self.detoured += u64::from(way.visits.iter().any(|visit| visit.detours > 0));
    }

    /// A packet was dropped.
    pub fn drop(&mut self, bytes: u64, reason: DropReason) {
        self.dropped.add(bytes);
        *self.reasons.entry(reason.word()).or_default() += 1;
    }
}

/// Visits of a service, or of a hop of a chain.
#[derive(Clone, Debug, Default)]
pub struct Visits {
    /// Visits that were done.
    pub packets: u64,
    /// Visits that came from another unit and not from the scheduler.
    pub pushed: u64,
    /// Refusals by units that had no room.
    pub detours: u64,
    /// Times of the visits. Their ingress part is 0.
    pub latency: Latency<N_PARTS>,
}

impl Visits {
    /// Counts a visit that was done.
    pub fn add(&mut self, visit: &Visit) {
        self.packets += 1;
        self.pushed += u64::from(visit.is_pushed());
        self.detours += u64::from(visit.detours);
        self.latency.add(visit.parts.iter().sum(), &visit.parts);
    }
}

/// A unit.
#[derive(Clone, Debug, Default)]
pub struct UnitStats {
    /// Packets that it finished, and their bytes when they left the NIC.
    pub packets: u64,
    /// Cycles that its engine worked on packets, all packets together.
    pub service_cycles: u64,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// All packets.
    pub all: Group,
    /// Packets that left to the networks.
    pub to_network: Flow,
    /// Packets that left to the host.
    pub to_host: Flow,
    /// Packets that were due on the line, and those that left, by cycle.
    pub series: Series,
    /// Time from when a packet was due on the line until the NIC took it.
    pub line_wait: Histogram,
    /// By tenant; the last entry is for packets that no chain took.
    pub tenants: Vec<Group>,
    /// Bytes of each tenant that left, over time.
    pub shares: Shares,
    /// By chain; the last entry is for packets that no chain took.
    pub chains: Vec<Group>,
    /// Hops of each chain.
    pub hops: Vec<Vec<Visits>>,
    /// By service.
    pub services: Vec<Visits>,
    /// By node.
    pub units: BTreeMap<u8, UnitStats>,
}
