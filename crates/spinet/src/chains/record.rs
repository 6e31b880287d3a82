//! The results of a run: the outside of the NIC's ports.

use super::captures::Captures;
use super::check::CheckedChains;
use super::classify::Chains;
use super::paths::{InUnits, path};
use super::shares::Shares;
use super::stats::Stats;
use super::table::{Tables, numbered};
use super::trail::{Part, Visit, Way};
use crate::captured::CaptureFailed;
use crate::digest::{Digest, Stream};
use crate::milestones::Inside;
use crate::paths::PathLog;
use crate::run::{Departure, Port};
use crate::streams::FeedError;
use crate::tracks::{Subject, TracksError};
use kernel::{Clock, Cycle};
use panic::drops::DropReason;
use panic::protocol::{Descriptor, Message, NodeId};
use panic::world::{Classifier, ExternalPort, Outlet, Verdict};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The traffic.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The captures of departing packets.
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
    /// The timeline.
    #[error(transparent)]
    Tracks(#[from] TracksError),
}

/// A packet that is inside.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Cycle in which it was due on the line.
    pub due: Cycle,
    /// Cycle in which the NIC took it.
    pub came: Cycle,
    /// Port at which the NIC took it.
    pub from: ExternalPort,
    /// Its length when the NIC took it.
    pub bytes: u32,
    /// Position of its chain; none if no chain took it.
    pub chain: Option<usize>,
    /// Position of its tenant; none if it has none.
    pub tenant: Option<usize>,
    /// The pipeline has classified it.
    is_looked_at: bool,
}

kernel::words! {
    /// The fate of a packet, in the order of the table's numbers.
    pub enum Fate {
        /// It left to a network.
        Network = "network",
        /// It left to the host.
        Host = "host",
        /// It was dropped.
        Dropped = "dropped",
        /// It was inside when the run ended.
        Inside = "inside",
    }
}

impl From<ExternalPort> for Port {
    fn from(port: ExternalPort) -> Port {
        match port {
            ExternalPort::Network(port) => Port::Network(port),
            ExternalPort::Host(queue) => Port::Host(queue),
        }
    }
}

/// A packet that is finished.
pub struct Kept {
    /// Its number.
    pub id: u64,
    /// Its fate, and why it was dropped.
    pub fate: (Fate, Option<DropReason>),
    /// Position of its chain; none if no chain took it.
    pub chain: Option<usize>,
    /// Its visits of services.
    pub visits: Vec<Visit>,
}

/// All results of a run.
pub struct Record {
    /// The NIC's clock.
    pub clock: Clock,
    /// Sums.
    pub stats: Stats,
    /// The digest so far.
    pub digest: Digest,
    /// Rows, if wanted.
    pub tables: Option<Tables>,
    /// Paths of packets, if wanted.
    pub paths: Option<PathLog>,
    /// Sent and dropped packets, if wanted.
    pub captures: Captures,
    /// Departed packets that the caller has not taken, if wanted.
    pub departures: Option<Vec<Departure>>,
    /// Finished packets that the caller has not taken, if wanted.
    pub kept: Option<Vec<Kept>>,
    /// The error that ends the run.
    pub error: Option<RecordError>,
    /// Last cycle in which a packet came, left or was dropped.
    pub progress_at: Cycle,
    /// Packets inside.
    open: Inside<Open>,
    /// Packets that the pipeline has not classified yet, in order, by the port at which they entered.
    unseen: BTreeMap<ExternalPort, VecDeque<u64>>,
    /// Names and tenants of chains.
    names: Vec<(String, usize)>,
    /// Names of services.
    services: Vec<String>,
    /// Traffic classes of tenants.
    classes: Vec<u8>,
    /// The service of each unit and its position in it, by node.
    units: BTreeMap<u8, (usize, usize)>,
    /// Packets in units, for the paths of packets that waited for them.
    in_units: InUnits,
}

/// A record that the NIC's edge and the run share.
pub type SharedRecord = Rc<RefCell<Record>>;

impl Record {
    /// A record without packets.
    pub fn new(checked: &CheckedChains, clock: Clock) -> Record {
        let chains = checked.chains.all();
        let names: Vec<_> = chains.iter().map(|chain| (chain.params.name.clone(), chain.tenant)).collect();
        let mut stats = Stats::default();
        stats.tenants.resize_with(checked.tenants.len() + 1, Default::default);
        stats.shares = Shares::new(checked.tenants.len());
        stats.chains.resize_with(chains.len() + 1, Default::default);
        stats.services.resize_with(checked.services.len(), Default::default);
        stats.hops = chains.iter().map(|chain| vec![Default::default(); chain.params.services.len()]).collect();
        Record {
            clock,
            stats,
            digest: Digest::default(),
            tables: None,
            captures: Captures::default(),
            departures: None,
            kept: None,
            error: None,
            progress_at: 0,
            open: Inside::default(),
            unseen: BTreeMap::new(),
            names,
            services: checked.services.iter().map(|service| service.name.clone()).collect(),
            classes: checked.tenants.iter().map(|tenant| tenant.class).collect(),
            units: BTreeMap::new(),
            in_units: InUnits::default(),
            paths: None,
        }
    }

    /// Sets the service of each node that is a unit.
    pub fn set_units(&mut self, units: &[Vec<NodeId>]) {
        self.units = numbered(units);
        self.stats.units = self.units.keys().map(|&node| (node, Default::default())).collect();
    }

    /// Records an arriving packet; returns its number.
    pub fn came(&mut self, now: Cycle, due: Cycle, from: ExternalPort, data: &[u8]) -> u64 {
        let bytes = data.len();
        if let Some(paths) = &mut self.paths {
            paths.enter(self.open.next(), data);
        }
        let (chain, tenant, is_looked_at) = (None, None, false);
        let id = self.open.enter(Open { due, came: now, from, bytes: bytes as u32, chain, tenant, is_looked_at });
        self.progress_at = now;
        self.stats.all.came.add(now, bytes as u64);
        self.stats.line_wait.add(now - due);
        self.unseen.entry(from).or_default().push_back(id);
        id
    }

    /// Notes chain and tenant of the oldest unclassified packet of this port. Without a chain, the class identifies the tenant.
    fn looked_at(&mut self, from: ExternalPort, chain: Option<usize>, class: Option<u8>) {
        let Some(id) = self.unseen.get_mut(&from).and_then(VecDeque::pop_front) else { return };
        let of_class = || self.classes.iter().position(|&known| Some(known) == class);
        let tenant = chain.map(|chain| self.names[chain].1).or_else(of_class);
        self.count(id, chain, tenant);
    }

    /// Counts an arrived packet for its chain and its tenant.
    fn count(&mut self, id: u64, chain: Option<usize>, tenant: Option<usize>) {
        let Some(open) = self.open.get_mut(id) else { return };
        (open.chain, open.tenant, open.is_looked_at) = (chain, tenant, true);
        let (came, bytes) = (open.came, open.bytes.into());
        let (chain, tenant) = self.groups(chain, tenant);
        self.stats.chains[chain].came.add(came, bytes);
        self.stats.tenants[tenant].came.add(came, bytes);
    }

    /// Positions of the sums of a chain and of a tenant.
    fn groups(&self, chain: Option<usize>, tenant: Option<usize>) -> (usize, usize) {
        (chain.unwrap_or(self.names.len()), tenant.unwrap_or(self.classes.len()))
    }

    /// Packets that are inside.
    pub fn n_open(&self) -> u64 {
        self.open.count()
    }

    /// Returns the data collected about a packet.
    fn close(&mut self, id: u64) -> Open {
        if let Some(&Open { is_looked_at: false, from, .. }) = self.open.get(id) {
            // The packet ended before its classification, such as a host's packet that is too long.
            self.unseen.entry(from).or_default().retain(|&other| other != id);
            self.count(id, None, None);
        }
        self.open.leave(id).expect("a packet ends once, and has come before")
    }

    /// Rows of packets that are still inside at the end of the run.
    pub fn close_rest(&mut self) {
        for (id, open) in self.open.iter() {
            self.stats.series.add(open.due, None, open.bytes.into());
            if let Some(tables) = &mut self.tables {
                tables.add(id, open, (Fate::Inside, None), None);
            }
        }
    }

    /// Ends the run.
    pub fn fail(&mut self, error: RecordError) {
        self.error.get_or_insert(error);
    }

    /// The packet's way. Cores that only forward a packet are not part of a service: their time counts in the total,
    /// but not as a visit.
    fn way(&self, message: &Message) -> Way {
        let mut way = Way::of(&message.descriptor.trail);
        way.visits.retain(|visit| visit.unit.is_none_or(|node| self.units.contains_key(&node.0)));
        way
    }

    /// The comment of a packet in a capture: its chain, its time so far by part, and the units that it visited.
    fn comment(&self, open: &Open, message: &Message, way: &Way) -> String {
        let chain = open.chain.map_or("no chain", |chain| &self.names[chain].0);
        let ns =
            |cycles: Cycle| (self.clock.edge(way.arrived + cycles) - self.clock.edge(way.arrived)).ps() as f64 / 1e3;
        let mut comment =
            format!("packet {}, {chain}, {} ns inside", message.descriptor.id, ns(way.parts.iter().sum()));
        for (name, cycles) in Part::NAMES.iter().zip(way.parts).filter(|&(_, cycles)| cycles > 0) {
            comment += &format!(", {} {} ns", name.replace('_', " "), ns(cycles));
        }
        for visit in &way.visits {
            if let Some(&(service, unit)) = visit.unit.and_then(|node| self.units.get(&node.0)) {
                let cycles = visit.parts[Part::Service as usize];
                comment += &format!(", {}[{unit}] took {cycles} cycles", self.services[service]);
            }
        }
        comment
    }

    fn count_visits(&mut self, chain: Option<usize>, descriptor: &Descriptor, way: &Way) {
        for (i, visit) in way.visits.iter().enumerate().filter(|(_, visit)| visit.done.is_some()) {
            let planned = descriptor.chain.get(i).map(|hop| usize::from(hop.service));
            let service = visit.unit.and_then(|node| self.units.get(&node.0).map(|(service, _)| *service)).or(planned);
            if let Some(service) = service.and_then(|service| self.stats.services.get_mut(service)) {
                service.add(visit);
            }
            if let Some(hop) = chain.and_then(|chain| self.stats.hops[chain].get_mut(i)) {
                hop.add(visit);
            }
            if let Some(unit) = visit.unit.and_then(|node| self.stats.units.get_mut(&node.0)) {
                unit.packets += 1;
                unit.service_cycles += visit.parts[Part::Service as usize];
            }
        }
    }

    fn row(&mut self, open: &Open, fate: (Fate, Option<DropReason>), message: &Message, way: &Way) {
        if let Some(paths) = &mut self.paths {
            let id = message.descriptor.id;
            let path = path(&message.descriptor.trail, &self.units, &self.in_units);
            self.in_units.note(id, &message.descriptor.trail);
            let subject = Subject {
                packet: id,
                group: open.chain.unwrap_or(self.names.len()),
                message: None,
                bytes: open.bytes.into(),
                held: None,
                left: way.left.map(|at| (at, message.data.len() as u64)),
            };
            paths.add(subject, &path);
            let oldest = self.open.iter().next().map(|(packet, open)| (open.came, packet));
            let (came, packet) = oldest.unwrap_or((open.came, self.open.next()));
            if let Err(error) = paths.settle(came, packet) {
                self.fail(error.into());
            }
        }
        if let Some(kept) = &mut self.kept {
            let (id, chain, visits) = (message.descriptor.id, open.chain, way.visits.clone());
            kept.push(Kept { id, fate, chain, visits });
        }
        if let Some(tables) = &mut self.tables {
            tables.add(message.descriptor.id, open, fate, Some((message, way)));
        }
    }
}

impl Outlet for Record {
    fn leave(&mut self, now: Cycle, side: ExternalPort, message: Message) {
        let id = message.descriptor.id;
        let (open, way) = (self.close(id), self.way(&message));
        self.progress_at = now;
        let bytes = message.data.len() as u64;
        let (chain, tenant) = self.groups(open.chain, open.tenant);
        let stats = &mut self.stats;
        for group in [&mut stats.all, &mut stats.chains[chain], &mut stats.tenants[tenant]] {
            group.leave(now, bytes, &way);
        }
        stats.shares.add(now, tenant, bytes);
        stats.series.add(open.due, Some(now), open.bytes.into());
        let (flow, fate, stream, place) = match side {
            ExternalPort::Network(port) => (&mut stats.to_network, Fate::Network, Stream::Out, u64::from(port)),
            ExternalPort::Host(queue) => (&mut stats.to_host, Fate::Host, Stream::Host, u64::from(queue)),
        };
        flow.add(now, bytes);
        self.digest.add(stream, &[now, id, place], &message.data);
        self.count_visits(open.chain, &message.descriptor, &way);
        if self.captures.are_wanted() {
            let comment = format!("{}, left", self.comment(&open, &message, &way));
            let written = self.captures.write(side, self.clock.edge(now).ns(), &message.data, &comment);
            if let Err(error) = written {
                self.fail(error.into());
            }
        }
        self.row(&open, (fate, None), &message, &way);
        if let Some(departures) = &mut self.departures {
            departures.push(Departure { at: self.clock.edge(now), port: side.into(), frame: message.data.into() });
        }
    }

    fn drop(&mut self, now: Cycle, message: Message, reason: DropReason) {
        let id = message.descriptor.id;
        let (open, way) = (self.close(id), self.way(&message));
        self.progress_at = now;
        let (chain, tenant) = self.groups(open.chain, open.tenant);
        let stats = &mut self.stats;
        for group in [&mut stats.all, &mut stats.chains[chain], &mut stats.tenants[tenant]] {
            group.drop(open.bytes.into(), reason);
        }
        stats.series.add(open.due, None, open.bytes.into());
        self.digest.add(Stream::Done, &[now, id], reason.word().as_bytes());
        if self.captures.drops.is_some() {
            let (comment, about) = (self.comment(&open, &message, &way), DropReason::ABOUT[reason as usize]);
            let (comment, ns) = (format!("{comment}, dropped: {}: {about}", reason.word()), self.clock.edge(now).ns());
            let port = Port::from(open.from).to_string();
            let written =
                self.captures.drops.as_mut().map(|drops| drops.write(&port, ns, &message.data, Some(&comment)));
            if let Some(Err(error)) = written {
                self.fail(error.into());
            }
        }
        self.count_visits(open.chain, &message.descriptor, &way);
        self.row(&open, (Fate::Dropped, Some(reason)), &message, &way);
    }
}

/// Classifies each packet by the chains, and records the result.
pub struct Watched {
    /// The chains.
    pub chains: Rc<RefCell<Chains>>,
    /// The record that notes the result.
    pub record: SharedRecord,
}

impl Classifier for Watched {
    fn classify(&mut self, now: Cycle, from: ExternalPort, packet: &mut Vec<u8>) -> Verdict {
        let mut chains = self.chains.borrow_mut();
        let verdict = chains.classify(now, from, packet);
        let class = (!verdict.chain.is_empty()).then_some(verdict.class);
        self.record.borrow_mut().looked_at(from, chains.taken(), class);
        verdict
    }
}
