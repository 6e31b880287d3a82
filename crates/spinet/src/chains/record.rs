//! What a run leaves behind: the other side of the NIC's edge.

use super::captures::{CaptureFailed, Captures};
use super::check::CheckedChains;
use super::classify::Chains;
use super::stats::Stats;
use super::table::Tables;
use super::trail::Way;
use crate::digest::{Digest, Stream};
use crate::feed::FeedError;
use kernel::{Clock, Cycle};
use panic::protocol::{Descriptor, Message};
use panic::world::{Classifier, Outlet, Side, Verdict};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The traffic.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The captures of what leaves.
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
}

/// A packet that is inside.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// When it was due on the line.
    pub due: Cycle,
    /// When the NIC took it.
    pub came: Cycle,
    /// Where.
    pub from: Side,
    /// Its length then.
    pub bytes: u32,
    /// Position of its chain; none if no chain took it.
    pub chain: Option<usize>,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It left to a network.
    Network,
    /// It left to the host.
    Host,
    /// It was dropped.
    Dropped,
    /// It was inside when the run ended.
    Inside,
}

impl Fate {
    /// All, in the order of their numbers in the table.
    pub const NAMES: [&str; 4] = ["network", "host", "dropped", "inside"];
}

/// Everything that a run leaves behind.
pub struct Record {
    /// The NIC's clock.
    pub clock: Clock,
    /// Sums.
    pub stats: Stats,
    /// The digest so far.
    pub digest: Digest,
    /// Rows, if wanted.
    pub tables: Option<Tables>,
    /// Packets out, if wanted.
    pub captures: Option<Captures>,
    /// What ends the run.
    pub error: Option<RecordError>,
    /// Last cycle in which a packet came, left or was dropped.
    pub progress_at: Cycle,
    /// Packets inside, by number; the number of the first.
    open: VecDeque<Option<Open>>,
    first_open: u64,
    n_open: u64,
    names: Vec<(String, usize)>,
    n_tenants: usize,
}

/// A record that the NIC's edge and the run share.
pub type SharedRecord = Rc<RefCell<Record>>;

impl Record {
    /// Nothing has happened.
    pub fn new(checked: &CheckedChains, clock: Clock) -> Record {
        let names: Vec<_> = checked.chains.iter().map(|chain| (chain.name.clone(), chain.tenant)).collect();
        let mut stats = Stats::default();
        stats.tenants.resize_with(checked.tenants.len() + 1, Default::default);
        stats.chains.resize_with(checked.chains.len() + 1, Default::default);
        stats.services.resize_with(checked.nic.services.len(), Default::default);
        stats.hops = checked.chains.iter().map(|chain| vec![Default::default(); chain.hops.len()]).collect();
        stats.units = checked.nic.nodes().units.iter().flatten().map(|node| (node.0, Default::default())).collect();
        Record {
            clock,
            stats,
            digest: Digest::default(),
            tables: None,
            captures: None,
            error: None,
            progress_at: 0,
            open: VecDeque::new(),
            first_open: 0,
            n_open: 0,
            names,
            n_tenants: checked.tenants.len(),
        }
    }

    /// A packet has come; its number.
    pub fn came(&mut self, now: Cycle, due: Cycle, from: Side, bytes: usize) -> u64 {
        self.open.push_back(Some(Open { due, came: now, from, bytes: bytes as u32, chain: None }));
        self.n_open += 1;
        self.progress_at = now;
        self.stats.all.came.add(now, bytes as u64);
        self.stats.line_wait.add(now - due);
        self.first_open + self.open.len() as u64 - 1
    }

    /// The packet that came last takes this chain.
    fn takes(&mut self, chain: Option<usize>) {
        let Some(Some(open)) = self.open.back_mut() else { return };
        open.chain = chain;
        let (came, bytes) = (open.came, open.bytes.into());
        let (chain, tenant) = self.groups(chain);
        self.stats.chains[chain].came.add(came, bytes);
        self.stats.tenants[tenant].came.add(came, bytes);
    }

    /// Positions of the sums of a chain and of its tenant.
    fn groups(&self, chain: Option<usize>) -> (usize, usize) {
        chain.map_or((self.names.len(), self.n_tenants), |chain| (chain, self.names[chain].1))
    }

    /// Packets that are inside.
    pub fn n_open(&self) -> u64 {
        self.n_open
    }

    /// What was kept of a packet until now.
    fn close(&mut self, id: u64) -> Open {
        let slot = id.checked_sub(self.first_open).and_then(|at| self.open.get_mut(at as usize));
        let open = slot.and_then(Option::take).expect("a packet ends once, and has come before");
        self.n_open -= 1;
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first_open += 1;
        }
        open
    }

    /// Rows for what is still inside, once the run has ended.
    pub fn close_rest(&mut self) {
        let inside: Vec<(u64, Open)> =
            (self.first_open..).zip(&self.open).filter_map(|(id, open)| Some((id, (*open)?))).collect();
        for (id, open) in inside {
            let tenant = open.chain.map(|chain| self.names[chain].1);
            if let Some(tables) = &mut self.tables {
                tables.add(id, &open, tenant, (Fate::Inside, ""), None);
            }
        }
    }

    /// Ends the run.
    pub fn fail(&mut self, error: RecordError) {
        self.error.get_or_insert(error);
    }

    fn count_visits(&mut self, chain: Option<usize>, descriptor: &Descriptor, way: &Way) {
        for (i, visit) in way.visits.iter().enumerate().filter(|(_, visit)| visit.done.is_some()) {
            if let Some(hop) = descriptor.chain.get(i) {
                self.stats.services[usize::from(hop.service)].add(visit);
            }
            if let Some(hop) = chain.and_then(|chain| self.stats.hops[chain].get_mut(i)) {
                hop.add(visit);
            }
            if let Some(unit) = visit.unit.and_then(|node| self.stats.units.get_mut(&node.0)) {
                unit.packets += 1;
                unit.service_cycles += visit.parts.service;
            }
        }
    }

    fn row(&mut self, open: &Open, fate: (Fate, &'static str), message: &Message, way: &Way) {
        let tenant = open.chain.map(|chain| self.names[chain].1);
        if let Some(tables) = &mut self.tables {
            tables.add(message.descriptor.id, open, tenant, fate, Some((message, way)));
        }
    }
}

impl Outlet for Record {
    fn leave(&mut self, now: Cycle, side: Side, message: Message) {
        let id = message.descriptor.id;
        let (open, way) = (self.close(id), Way::of(&message.descriptor.trail));
        self.progress_at = now;
        let bytes = message.data.len() as u64;
        let (chain, tenant) = self.groups(open.chain);
        let stats = &mut self.stats;
        for group in [&mut stats.all, &mut stats.chains[chain], &mut stats.tenants[tenant]] {
            group.leave(now, bytes, &way);
        }
        let (flow, fate, stream, place) = match side {
            Side::Network(port) => (&mut stats.to_network, Fate::Network, Stream::Out, u64::from(port)),
            Side::Host(queue) => (&mut stats.to_host, Fate::Host, Stream::Host, u64::from(queue)),
        };
        flow.add(now, bytes);
        self.digest.add(stream, &[now, id, place], &message.data);
        self.count_visits(open.chain, &message.descriptor, &way);
        if let Some(captures) = &mut self.captures {
            let name = open.chain.map_or("no chain", |chain| &self.names[chain].0);
            let written = captures.write(side, self.clock.edge(now).ns(), &message.data, id, name);
            if let Err(error) = written {
                self.fail(error.into());
            }
        }
        self.row(&open, (fate, ""), &message, &way);
    }

    fn drop(&mut self, now: Cycle, message: Message, reason: &'static str) {
        let id = message.descriptor.id;
        let (open, way) = (self.close(id), Way::of(&message.descriptor.trail));
        self.progress_at = now;
        let (chain, tenant) = self.groups(open.chain);
        let stats = &mut self.stats;
        for group in [&mut stats.all, &mut stats.chains[chain], &mut stats.tenants[tenant]] {
            group.drop(open.bytes.into(), reason);
        }
        self.digest.add(Stream::Done, &[now, id], reason.as_bytes());
        self.count_visits(open.chain, &message.descriptor, &way);
        self.row(&open, (Fate::Dropped, reason), &message, &way);
    }
}

/// Asks the chains about each packet, and notes what they said.
pub struct Watched {
    /// The chains.
    pub chains: Rc<RefCell<Chains>>,
    /// Where it is noted.
    pub record: SharedRecord,
}

impl Classifier for Watched {
    fn classify(&mut self, now: Cycle, from: Side, packet: &mut Vec<u8>) -> Verdict {
        let mut chains = self.chains.borrow_mut();
        let verdict = chains.classify(now, from, packet);
        self.record.borrow_mut().takes(chains.taken());
        verdict
    }
}
