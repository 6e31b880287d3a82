//! The tables of a run with chains: one row a packet, and one row a visit of a service.

use super::record::{Fate, Open};
use super::trail::Way;
use crate::columns::{Column, Columns, Kind};
use kernel::{Clock, Cycle};
use panic::protocol::{Message, NodeId};
use panic::world::Side;
use std::collections::BTreeMap;

/// Why packets are dropped, in the order of their numbers in the table; the first is that they are not.
///
/// A part that drops for a reason of its own has its line here, or the table says `other`.
pub const REASONS: [&str; 17] = [
    "",
    "rmt",
    "ingress_buffer",
    "entries",
    "cells",
    "too_long",
    "bad_descriptor",
    "full",
    "no_exit",
    "no_host_buffer",
    "long_for_host_buffer",
    "bad-digest",
    "trap",
    "watchdog",
    "bad-doorbell",
    "program",
    "other",
];

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
        let numbered = |(service, nodes): (usize, &Vec<NodeId>)| {
            nodes.iter().enumerate().map(move |(unit, node)| (node.0, (service, unit))).collect::<Vec<_>>()
        };
        let units = units.iter().enumerate().flat_map(numbered).collect();
        Tables { clock, packets: Columns::new(PACKET_COLUMNS), hops: Columns::new(HOP_COLUMNS), units }
    }

    /// Adds a packet, and what came out of it if it is not inside any more.
    pub fn add(&mut self, id: u64, open: &Open, (fate, reason): (Fate, &'static str), end: Option<(&Message, &Way)>) {
        let clock = self.clock;
        let ps = |cycle: Option<Cycle>| cycle.map_or(-1, |cycle| clock.edge(cycle).ps() as i64);
        let span = |cycles: Cycle| clock.edge(cycles).ps() as i64;
        let position = |position: Option<usize>| position.map_or(-1, |position| position as i64);
        let reason = REASONS.iter().position(|&known| known == reason).unwrap_or(REASONS.len() - 1);
        let (host_queue, port) = match open.from {
            Side::Network(port) => (-1, i64::from(port)),
            Side::Host(queue) => (i64::from(queue), -1),
        };
        let blank = Way { arrived: open.came, ..Way::default() };
        let way = end.map_or(&blank, |(_, way)| way);
        let bytes_out = end.map_or(-1, |(message, _)| message.data.len() as i64);
        let parts = way.parts.cycles().map(|cycles| if end.is_some() { span(cycles) } else { -1 });
        let [ingress, interconnect, queueing, detours, unit_wait, service] = parts;
        self.packets.push(&[
            id as i64,
            port,
            host_queue,
            position(open.chain),
            position(open.tenant),
            open.bytes.into(),
            bytes_out,
            fate as i64,
            reason as i64,
            ps(Some(open.due)),
            ps(Some(open.came)),
            ps(way.entered),
            ps(way.leaving),
            ps(way.left),
            way.latency().map_or(-1, span),
            ingress,
            interconnect,
            queueing,
            detours,
            unit_wait,
            service,
            way.visits.len() as i64,
            way.visits.iter().map(|visit| i64::from(visit.detours)).sum(),
        ]);
        for (hop, visit) in way.visits.iter().enumerate() {
            let place = visit.unit.and_then(|node| self.units.get(&node.0)).copied();
            let named = end.and_then(|(message, _)| message.descriptor.chain.get(hop));
            let [_, interconnect, queueing, detours, unit_wait, service] = visit.parts.cycles().map(span);
            self.hops.push(&[
                id as i64,
                hop as i64,
                named.map_or(-1, |hop| hop.service.into()),
                place.map_or(-1, |(_, unit)| unit as i64),
                i64::from(visit.is_pushed()),
                visit.detours.into(),
                ps(visit.queued),
                ps(visit.scheduled),
                ps(visit.taken),
                ps(visit.begun),
                ps(visit.finished),
                ps(visit.done),
                interconnect,
                queueing,
                detours,
                unit_wait,
                service,
            ]);
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

macro_rules! columns {
    ($(#[$about:meta])* $list:ident: $($name:literal $kind:ident $text:literal;)*) => {
        $(#[$about])*
        pub const $list: &[Column] = &[$(Column { name: $name, kind: Kind::$kind, about: $text }),*];
    };
}

columns! {
    /// Columns of the table of packets. `ps` are picoseconds since reset, or lengths of time; -1 stands for what never was.
    PACKET_COLUMNS:
    "packet" U64 "number of the packet, from 0, in the order in which the NIC took them";
    "port" I32 "network port where it came in";
    "queue" I32 "transmit queue of the host where it came in";
    "chain" I32 "position of its chain";
    "tenant" I32 "position of its tenant";
    "bytes" U32 "length when it came, without FCS";
    "bytes_out" I64 "length when it left or was dropped";
    "fate" U8 "what became of it";
    "reason" U8 "why it was dropped";
    "due_ps" I64 "when the traffic had it on the line";
    "arrival_ps" I64 "its first bytes came into the NIC";
    "entered_ps" I64 "its descriptor went into the interconnect";
    "leaving_ps" I64 "its first bytes left the interconnect";
    "left_ps" I64 "its last bytes left the NIC";
    "latency_ps" I64 "from arrival to leaving; the next six add up to it";
    "ingress_ps" I64 "on the line and in the RMT pipeline";
    "interconnect_ps" I64 "in the interconnect";
    "queueing_ps" I64 "in the scheduler";
    "detours_ps" I64 "from where a unit refused it until another took it";
    "unit_wait_ps" I64 "in units before their engines began with it and after they were done";
    "service_ps" I64 "in engines";
    "hops" U32 "services that it came to";
    "detours" U32 "how often a unit refused it";
}

columns! {
    /// Columns of the table of visits, in order of packets and hops.
    HOP_COLUMNS:
    "packet" U64 "number of the packet";
    "hop" U32 "position in its chain";
    "service" I32 "position of the service";
    "unit" I32 "the unit of that service that took it";
    "pushed" U8 "1 if it came from another unit and not from the scheduler";
    "detours" U32 "how often a unit refused it here";
    "queued_ps" I64 "it came into the scheduler";
    "scheduled_ps" I64 "it left the scheduler, the last time here";
    "taken_ps" I64 "the unit took it";
    "begun_ps" I64 "the engine began with it";
    "finished_ps" I64 "the engine was done with it";
    "done_ps" I64 "it left the unit";
    "interconnect_ps" I64 "in the interconnect, the way to here";
    "queueing_ps" I64 "in the scheduler";
    "detours_ps" I64 "from where a unit refused it until another took it";
    "unit_wait_ps" I64 "in the unit before the engine began with it and after it was done";
    "service_ps" I64 "in the engine";
}
