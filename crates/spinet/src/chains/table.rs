//! The tables of a run with chains: one row for each packet, and one row for each visit of a service.

use super::record::{Fate, Open};
use super::trail::{Part, Visit, Way};
use crate::columns::{Columns, columns};
use kernel::{Clock, Cycle};
use panic::drops::DropReason;
use panic::protocol::{Hop, Message, NodeId};
use panic::world::ExternalPort;
use std::collections::BTreeMap;

/// Words that the numbers of a column stand for. Reason 0 stands for packets that were not dropped.
pub fn words(column: &str) -> Vec<&'static str> {
    match column {
        "fate" => Fate::NAMES.to_vec(),
        "reason" => [""].into_iter().chain(DropReason::NAMES).collect(),
        _ => Vec::new(),
    }
}

/// Both tables, filled a batch at a time.
pub struct Tables {
    clock: Clock,
    packets: Columns,
    hops: Columns,
    /// Service and unit of each node that is a unit.
    units: BTreeMap<u8, (usize, usize)>,
}

impl Tables {
    /// Empty tables of times by this clock, for units at these nodes.
    pub fn new(clock: Clock, units: &[Vec<NodeId>]) -> Tables {
        let units = numbered(units);
        Tables { clock, packets: Columns::new(PACKET_COLUMNS), hops: Columns::new(HOP_COLUMNS), units }
    }

    /// Adds a packet, with its result unless it is still inside the card.
    pub fn add(
        &mut self,
        id: u64,
        open: &Open,
        (fate, reason): (Fate, Option<DropReason>),
        end: Option<(&Message, &Way)>,
    ) {
        let blank = Way { arrived: open.came, ..Way::default() };
        let way = end.map_or(&blank, |(_, way)| way);
        let message = end.map(|(message, _)| message);
        let packet = Packet { clock: self.clock, id, open, fate, reason, message, way };
        self.packets.push(&packet_values(&packet));
        for (hop, visit) in way.visits.iter().enumerate() {
            let place = visit.unit.and_then(|node| self.units.get(&node.0)).copied();
            let named = message.and_then(|message| message.descriptor.chain.get(hop));
            let stay = Stay { clock: self.clock, id, hop, visit, unit: place.map(|(_, unit)| unit), named };
            self.hops.push(&hop_values(&stay));
        }
    }

    /// The rows of packets since the last call, column by column as little-endian arrays.
    pub fn take_packets(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.packets.take()
    }

    /// The same for visits.
    pub fn take_hops(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.hops.take()
    }
}

/// Service and unit of each node that is a unit, for the nodes of each service.
pub fn numbered(units: &[Vec<NodeId>]) -> BTreeMap<u8, (usize, usize)> {
    let of_service = |(service, nodes): (usize, &Vec<NodeId>)| {
        nodes.iter().enumerate().map(move |(unit, node)| (node.0, (service, unit))).collect::<Vec<_>>()
    };
    units.iter().enumerate().flat_map(of_service).collect()
}

/// The values of a row of the table of packets.
struct Packet<'a> {
    clock: Clock,
    id: u64,
    open: &'a Open,
    fate: Fate,
    reason: Option<DropReason>,
    /// The packet as it left the NIC, or `None` if it is inside.
    message: Option<&'a Message>,
    way: &'a Way,
}

impl Packet<'_> {
    fn port(&self) -> i64 {
        if let ExternalPort::Network(port) = self.open.from { port.into() } else { -1 }
    }

    fn queue(&self) -> i64 {
        if let ExternalPort::Host(queue) = self.open.from { queue.into() } else { -1 }
    }

    fn reason(&self) -> i64 {
        self.reason.map_or(0, |reason| reason as i64 + 1)
    }

    /// A part of its latency.
    fn part(&self, part: Part) -> i64 {
        if self.message.is_some() { span(self.clock, self.way.parts[part as usize]) } else { -1 }
    }
}

/// The values of a row of the table of visits.
struct Stay<'a> {
    clock: Clock,
    id: u64,
    hop: usize,
    visit: &'a Visit,
    unit: Option<usize>,
    named: Option<&'a Hop>,
}

fn ps(clock: Clock, cycle: Option<Cycle>) -> i64 {
    cycle.map_or(-1, |cycle| span(clock, cycle))
}

fn span(clock: Clock, cycles: Cycle) -> i64 {
    clock.edge(cycles).ps() as i64
}

fn position(position: Option<usize>) -> i64 {
    position.map_or(-1, |position| position as i64)
}

columns! {
    /// Columns of the table of packets. `ps` are picoseconds since reset, or lengths of time; -1 means that it did not happen.
    PACKET_COLUMNS, packet_values(p: &Packet):
    "packet" U64 "number of the packet, from 0, in the order in which the NIC took them" => p.id as i64;
    "port" I32 "network port where it came in" => p.port();
    "queue" I32 "transmit queue of the host where it came in" => p.queue();
    "chain" I32 "position of its chain" => position(p.open.chain);
    "tenant" I32 "position of its tenant" => position(p.open.tenant);
    "bytes" U32 "length when it came, without FCS" => p.open.bytes.into();
    "bytes_out" I64 "length when it left or was dropped" => p.message.map_or(-1, |message| message.data.len() as i64);
    "fate" U8 "its fate" => p.fate as i64;
    "reason" U8 "why it was dropped" => p.reason();
    "due_ps" I64 "when the traffic put it on the line" => span(p.clock, p.open.due);
    "arrival_ps" I64 "its first bytes came into the NIC" => span(p.clock, p.open.came);
    "entered_ps" I64 "its descriptor went into the interconnect" => ps(p.clock, p.way.entered);
    "leaving_ps" I64 "its first bytes left the interconnect" => ps(p.clock, p.way.leaving);
    "left_ps" I64 "its last bytes left the NIC" => ps(p.clock, p.way.left);
    "latency_ps" I64 "from arrival to leaving; the next six add up to it" => ps(p.clock, p.way.latency());
    "ingress_ps" I64 "on the line and in the RMT pipeline" => p.part(Part::Ingress);
    "interconnect_ps" I64 "in the interconnect" => p.part(Part::Interconnect);
    "queueing_ps" I64 "in the scheduler" => p.part(Part::Queueing);
    "detours_ps" I64 "from where a unit refused it until another took it" => p.part(Part::Detours);
    "unit_wait_ps" I64 "in units before their engines began with it and after they were done" => p.part(Part::UnitWait);
    "service_ps" I64 "in engines" => p.part(Part::Service);
    "hops" U32 "services that it came to" => p.way.visits.len() as i64;
    "detours" U32 "how often a unit refused it" => p.way.visits.iter().map(|visit| i64::from(visit.detours)).sum();
}

columns! {
    /// Columns of the table of visits, in order of packets and hops.
    HOP_COLUMNS, hop_values(v: &Stay):
    "packet" U64 "number of the packet" => v.id as i64;
    "hop" U32 "position in its chain" => v.hop as i64;
    "service" I32 "position of the service" => v.named.map_or(-1, |hop| hop.service.into());
    "unit" I32 "the unit of that service that took it" => position(v.unit);
    "pushed" U8 "1 if it came from another unit and not from the scheduler" => i64::from(v.visit.is_pushed());
    "detours" U32 "how often a unit refused it here" => v.visit.detours.into();
    "queued_ps" I64 "it came into the scheduler" => ps(v.clock, v.visit.queued);
    "scheduled_ps" I64 "it left the scheduler, the last time here" => ps(v.clock, v.visit.scheduled);
    "taken_ps" I64 "the unit took it" => ps(v.clock, v.visit.taken);
    "begun_ps" I64 "the engine began with it" => ps(v.clock, v.visit.begun);
    "finished_ps" I64 "the engine was done with it" => ps(v.clock, v.visit.finished);
    "done_ps" I64 "it left the unit" => ps(v.clock, v.visit.done);
    "interconnect_ps" I64 "in the interconnect, the way to here" => span(v.clock, v.visit.parts[Part::Interconnect as usize]);
    "queueing_ps" I64 "in the scheduler" => span(v.clock, v.visit.parts[Part::Queueing as usize]);
    "detours_ps" I64 "from where a unit refused it until another took it" => span(v.clock, v.visit.parts[Part::Detours as usize]);
    "unit_wait_ps" I64 "in the unit before the engine began with it and after it was done" => span(v.clock, v.visit.parts[Part::UnitWait as usize]);
    "service_ps" I64 "in the engine" => span(v.clock, v.visit.parts[Part::Service as usize]);
}
