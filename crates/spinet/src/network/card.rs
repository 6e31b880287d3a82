//! A network as a run sees it: cards on its nodes, links and switches between them.

use super::device::CardDevice;
use super::experiment::NetworkError;
use super::frames::{FrameLog, Frames};
use super::gather::{CardCounts, Closing, Failure, NodeRecord, Status};
use super::meeting::together;
use super::messages::{MESSAGES, MessageLog};
use super::observed::Observed;
use super::place::{Places, place};
use super::progress::{NodeProgress, Sum};
use super::select::{Kept, refused};
use super::setup::{NodeSetup, Setup};
use super::taps::captures;
use crate::goal::{self, Finished};
use crate::ranks::Ranks;
use crate::run::{Card, Ended, HORIZON, InjectError, Nodes, Port, Progress, Rows, RunError, Simulated, Wanted};
use crate::wired::paths::picoseconds;
use kernel::{Clock, Mode, Resource, Time, Use};
use net::device::Attached;
use net::error::NetError;
use net::network::{Network, Options, digest_of};
use net::node::Node;
use net::observe::{DropReason, Ledger, Row};
use net::switch::BUFFER_FULL_PS;
use net::{NodeId, NodeReport};
use serde_json::Value;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Interval at which a network checks for the end of its run.
const LOOK: Time = Time::from_ns(2_000);
/// A run ends when all cards are done with all packets, and no frame has moved and no card has finished a packet for this long. Cards
/// with cores that poll never stop by themselves. This time is longer than any access to a host takes.
const SETTLE_TIME: Time = Time::from_ns(20_000);

/// Maximum number of operation rows in one call: all rows of a schedule.
const MOST_ROWS: usize = usize::MAX;
/// Maximum number of nodes that the reason of a stall names.
const MOST_NAMED: usize = 8;

/// A network with the cards of its nodes. Each process simulates a part of it, and all processes check for the end at the same times.
pub struct NetworkCard {
    pub(super) setup: Setup,
    /// In a cell, because calls into a node need it mutable, and some of them have only a shared reference.
    pub(super) network: RefCell<Network>,
    pub(super) progress: Vec<Arc<NodeProgress>>,
    observed: Rc<RefCell<Observed>>,
    now: Time,
    /// Time of the next event, as of the last check.
    next: Option<Time>,
    /// Time of the next check for the end, once it is known.
    look: Option<Time>,
    /// Progress of all cards, and time of the last movement of a frame, as of the last check.
    sum: Sum,
    moved_at: Time,
    /// Time of the last check, and time of the last check after which a card has finished a packet.
    looked_at: Time,
    done_after: Time,
    pub(super) ended: Option<Ended>,
    pub(super) is_closed: bool,
    /// The finished run of the hosts' schedule.
    pub(super) finished: RefCell<Option<Finished>>,
    pub(super) wanted: Wanted,
    /// Nodes of this process.
    pub(super) is_here: Vec<bool>,
    /// Rows of the nodes' tables that were taken from their cards.
    pub(super) tables: Vec<(usize, Rows)>,
    /// For each node, the number of packets whose rows were taken.
    pub(super) taken: Vec<u64>,
    /// Digests and counters of all nodes, once the run has ended.
    reports: RefCell<Option<Rc<[NodeReport]>>>,
    /// Records of all processes. Only the first process has them, after the end.
    pub(super) gathered: Option<Closing>,
}

impl NetworkCard {
    /// Builds all nodes, each on its thread.
    pub fn new(setup: Setup, wanted: &Wanted) -> Result<Self, NetworkError> {
        setup.check_hosts(wanted)?;
        let kept = Kept::new(&setup, wanted)?;
        let timeline = setup.timeline(wanted)?;
        let progress: Vec<Arc<NodeProgress>> = setup.nodes.iter().map(|_| Arc::default()).collect();
        let plan = setup.plan(wanted, &progress);
        let ends = &setup.experiment.captures;
        if let (Some(end), true) = (ends.first(), wanted.ranks.is_some()) {
            return Err(refused("captures", end, "empty in a run of several processes".into()).into());
        }
        let captures = captures(ends, &plan, wanted.captures.as_deref())?;
        let is_first = wanted.ranks.as_ref().is_none_or(Ranks::is_first);
        let log = (wanted.tables && is_first).then(FrameLog::default);
        let observed = Rc::new(RefCell::new(Observed {
            frames: Frames::new(log, kept, setup.design.nodes.len()),
            timeline,
            messages: is_first.then(|| MessageLog::new(&setup, wanted)),
            unshared: wanted.ranks.is_some().then(Vec::new),
            gathered: Vec::new(),
            moved_at: Time::ZERO,
        }));
        let shared = observed.clone();
        let observer = move |rows: &[Row]| {
            shared.borrow_mut().take(rows);
            Ok(())
        };
        let Places { ranks, threads, n_threads } = place(&setup, wanted.threads, wanted.ranks.as_ref())?;
        let me = wanted.ranks.as_ref().map_or(0, |ranks| ranks.0.rank());
        let is_here = |node: usize| ranks.as_ref().is_none_or(|ranks| ranks[node] == me);
        let is_here: Vec<bool> = (0..setup.nodes.len()).map(is_here).collect();
        let options = Options {
            threads: n_threads,
            placement: Some(threads),
            exchange: wanted.ranks.as_ref().map(|ranks| ranks.0.clone()),
            ranks,
            observer: Some(Box::new(observer)),
            captures,
        };
        let built = Network::build(plan, options);
        let (next, network) = match &wanted.ranks {
            None => built.map(|network| (network.progress().next, network))?,
            Some(ranks) => together(ranks, built)?,
        };
        let mut card = NetworkCard {
            taken: vec![0; setup.nodes.len()],
            setup,
            network: RefCell::new(network),
            progress,
            observed,
            now: Time::ZERO,
            next,
            look: None,
            sum: Sum::default(),
            moved_at: Time::ZERO,
            looked_at: Time::ZERO,
            done_after: Time::ZERO,
            ended: None,
            is_closed: false,
            wanted: wanted.clone(),
            is_here,
            tables: Vec::new(),
            reports: RefCell::new(None),
            gathered: None,
            finished: RefCell::new(None),
        };
        card.sum = card.own_sum();
        Ok(card)
    }

    /// Sum over the nodes, as of the last check.
    pub(super) fn sum(&self) -> Sum {
        self.sum
    }

    fn own_sum(&self) -> Sum {
        NodeProgress::sum(self.progress.iter().map(|progress| &**progress))
    }

    /// Calls `act` with the card of a node, on its thread.
    pub(super) fn with_card<R: Send + 'static>(
        &self,
        node: usize,
        act: impl FnOnce(&mut CardDevice) -> R + Send + 'static,
    ) -> Result<R, NetError> {
        let act = move |node: &mut dyn Node| {
            let attached = node.as_any().downcast_mut::<Attached<CardDevice>>();
            act(attached.expect("the first nodes are the cards").device())
        };
        self.network.borrow_mut().with_node(NodeId(node as u32), act)
    }

    /// Calls `act` with the cards of several nodes, each on its thread, and returns the answers in the same order.
    pub(super) fn with_cards<R: Send + 'static>(
        &self,
        nodes: &[usize],
        act: impl Fn(usize, &mut CardDevice) -> R + Send + Sync + 'static,
    ) -> Result<Vec<R>, NetError> {
        let act = move |id: NodeId, node: &mut dyn Node| {
            let attached = node.as_any().downcast_mut::<Attached<CardDevice>>();
            act(id.0 as usize, attached.expect("the first nodes are the cards").device())
        };
        let ids: Vec<NodeId> = nodes.iter().map(|&node| NodeId(node as u32)).collect();
        self.network.borrow_mut().with_nodes(&ids, act)
    }

    /// The nodes of this process.
    pub(super) fn here(&self) -> Vec<usize> {
        (0..self.nodes().len()).filter(|&node| self.is_here[node]).collect()
    }

    /// Digests and counters of all nodes; before the end, only of the nodes of this process.
    pub(super) fn reports(&self) -> Rc<[NodeReport]> {
        if let Some(reports) = &*self.reports.borrow() {
            return reports.clone();
        }
        let reports: Rc<[NodeReport]> = match &self.gathered {
            Some(gathered) => gathered.reports.clone().into(),
            None => self.network.borrow_mut().report().unwrap_or_default().into(),
        };
        // After the end, reports do not change. With several processes, they are complete only when all records have been gathered.
        if self.is_closed && (self.gathered.is_some() || self.wanted.ranks.is_none()) {
            self.reports.replace(Some(reports.clone()));
        }
        reports
    }

    /// Counts of entered, delivered, dropped and waiting frames; before the end, only of this process.
    pub(super) fn ledger(&self) -> Ledger {
        match &self.gathered {
            Some(gathered) => gathered.ledger,
            None => self.network.borrow_mut().ledger().unwrap_or_default(),
        }
    }

    /// Counts of each node's card. Before the end, these are 0 for nodes of other processes.
    pub(super) fn counts(&self) -> Vec<CardCounts> {
        let mut counts = vec![CardCounts::default(); self.nodes().len()];
        let here = self.here();
        let own = self.with_cards(&here, |_, device| device.counts());
        for (&node, own) in here.iter().zip(own.unwrap_or_default()) {
            counts[node] = own;
        }
        for record in self.gathered.iter().flat_map(|gathered| &gathered.nodes).filter(|it| !self.is_here[it.node]) {
            counts[record.node] = record.counts.clone();
        }
        counts
    }

    /// The record of a node of another process.
    pub(super) fn record(&self, node: usize) -> Option<&NodeRecord> {
        let gathered = self.gathered.as_ref().filter(|_| !self.is_here[node])?;
        gathered.nodes.iter().find(|record| record.node == node)
    }

    /// Names and cards of the nodes.
    pub(super) fn nodes(&self) -> &[NodeSetup] {
        &self.setup.nodes
    }

    /// Frames and messages so far.
    pub(super) fn observed(&self) -> Ref<'_, Observed> {
        if self.observed.borrow().is_behind() {
            self.observed.borrow_mut().catch_up();
        }
        self.observed.borrow()
    }

    pub(super) fn observed_mut(&self) -> RefMut<'_, Observed> {
        self.observed.borrow_mut()
    }

    fn limit(&self) -> Time {
        self.setup.experiment.common.limit.map_or(HORIZON, |limit| limit.time().min(HORIZON))
    }

    /// The next time at which the run checks for its end. It depends only on the state at the last check, so slices change no result.
    fn next_look(&mut self) -> Time {
        if let Some(look) = self.look {
            return look;
        }
        let after = self.next.unwrap_or(self.now).max(self.now);
        let look = Time::from_fs((after.fs() / LOOK.fs() + 1).saturating_mul(LOOK.fs()));
        *self.look.insert(look.min(self.limit()))
    }

    /// Status of the nodes of this process.
    pub(super) fn status(&self, failure: Option<Failure>) -> Status {
        let sum = self.own_sum();
        let (next, in_flight) = match failure {
            Some(_) => (None, 0),
            None => {
                let mut network = self.network.borrow_mut();
                // The ledger is slow, and frames in flight matter only when all cards are done.
                let is_done = !sum.has_more && sum.inside == 0;
                let in_flight = if is_done { network.ledger().unwrap_or_default().in_flight.frames } else { 0 };
                (network.progress().next, in_flight)
            }
        };
        let stall = self.setup.experiment.common.stall_limit.time();
        let is_slow = next.is_none() || self.now.fs() >= self.moved_at.fs().saturating_add(stall.fs() / 2);
        let stuck = if sum.inside > 0 && is_slow { self.own_stuck() } else { Vec::new() };
        let is_waiting = sum.has_more && is_slow && next.is_none();
        let waiting = if is_waiting { self.waiting_hosts() } else { Vec::new() };
        let moved_fs = self.observed.borrow().moved_at.fs();
        let stopped = if failure.is_some() { None } else { self.own_stopped() };
        Status { next_fs: next.map(Time::fs), failure, sum, moved_fs, in_flight, stuck, stopped, waiting }
    }

    /// Notes the status of all processes, and the reason if the run has ended.
    pub(super) fn judge(&mut self, all: &[Status]) -> Result<(), NetError> {
        let done_before = self.sum.packets_done;
        self.sum = all.iter().map(|status| status.sum).fold(Sum::default(), Sum::and);
        let looked_before = std::mem::replace(&mut self.looked_at, self.now);
        if self.sum.packets_done > done_before {
            self.done_after = looked_before;
        }
        self.next = all.iter().filter_map(|status| status.next_fs).min().map(Time::from_fs);
        let moved = all.iter().map(|status| status.moved_fs).max().unwrap_or(0);
        self.moved_at = Time::from_fs(moved.max(self.sum.active_fs)).max(self.done_after);
        if self.ended.is_some() {
            return Ok(());
        }
        if let Some((node, why)) = all.iter().filter_map(|status| status.stopped.as_ref()).min() {
            self.ended = Some(Ended::Trouble(format!("node `{}`: {why}", self.nodes()[*node].name)));
            return Ok(());
        }
        let in_flight: u64 = all.iter().map(|status| status.in_flight).sum();
        let is_quiet = self.next.is_none();
        let is_done = !self.sum.has_more && self.sum.inside == 0;
        if is_done && (is_quiet || self.now >= self.moved_at + SETTLE_TIME) && in_flight == 0 {
            let (finished, stuck) = self.take_schedule()?;
            self.finished.replace(finished);
            self.ended = Some(stuck.map_or(Ended::Complete, |text| Ended::Stalled(Some(text))));
            return Ok(());
        }
        let stall = self.setup.experiment.common.stall_limit.time();
        let waits = self.sum.has_more && self.next.is_some_and(|next| next > self.now + stall);
        let named = |list: fn(&Status) -> &Vec<String>| {
            let all: Vec<String> = all.iter().flat_map(|status| list(status).clone()).take(MOST_NAMED).collect();
            (!all.is_empty()).then(|| all.join(", "))
        };
        let stuck = || -> Result<Option<String>, NetError> {
            if let (_, Some(text)) = self.take_schedule()? {
                return Ok(Some(text));
            }
            let packets = named(|status| &status.stuck).map(|nodes| format!("unfinished packets: {nodes}"));
            let parts: Vec<String> = packets.into_iter().chain(named(|status| &status.waiting)).collect();
            Ok((!parts.is_empty()).then(|| parts.join("; ")))
        };
        self.ended = match () {
            _ if self.now >= self.limit() => Some(Ended::Limit),
            _ if is_quiet || (self.now >= self.moved_at + stall && !waits) => Some(Ended::Stalled(stuck()?)),
            _ => None,
        };
        Ok(())
    }

    /// The nodes of this process with unfinished packets.
    fn own_stuck(&self) -> Vec<String> {
        let stuck = self.nodes().iter().zip(&self.progress).filter_map(|(node, progress)| {
            let inside = NodeProgress::sum([&**progress]).inside;
            (inside > 0).then(|| format!("`{}` has {inside}", node.name))
        });
        stuck.take(MOST_NAMED).collect()
    }

    /// The first node of this process whose card has stopped, and the reason.
    fn own_stopped(&self) -> Option<(usize, String)> {
        let node = self.progress.iter().position(|progress| progress.has_stopped())?;
        let why = self.with_cards(&[node], |_, device| device.stopped()).ok()?.pop()??;
        Some((node, why))
    }

    /// The waits of host programs of this process, as texts.
    fn waiting_hosts(&self) -> Vec<String> {
        let mut waiting = self.here();
        waiting.retain(|&node| NodeProgress::sum([&*self.progress[node]]).has_more);
        let texts = self.with_cards(&waiting, |_, device| device.side()?.endpoint().waits_for()).unwrap_or_default();
        let named = waiting
            .iter()
            .zip(texts)
            .filter_map(|(&node, what)| Some(format!("the host of `{}` waits for {}", self.nodes()[node].name, what?)));
        named.take(MOST_NAMED).collect()
    }
}

impl Simulated for NetworkCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        while self.ended.is_none() && self.now < until {
            let look = self.next_look();
            // Slices depend on host time. Several processes stop only at checks, so that all of them exchange equally often.
            let stop = if self.wanted.ranks.is_some() { look } else { look.min(until) };
            let catch_up = || self.observed.borrow_mut().catch_up();
            let result = self.network.borrow_mut().run_until_while(stop, catch_up).map(drop);
            self.now = stop;
            if look <= stop || result.is_err() {
                self.look = None;
                self.look(result)?;
            }
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.now
    }

    fn next_event(&self) -> Option<Time> {
        // Before its first window, the network knows the events of time 0 only.
        self.next.map(|next| next.max(self.now))
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let (sum, offered) = (self.sum, self.setup.offered());
        let limit = self.setup.experiment.common.limit;
        let by_time = limit.map(|limit| self.now.fs() as f64 / limit.time().fs().max(1) as f64);
        let entered = self.observed.borrow().entered();
        let by_frames = offered.filter(|&total| total > 0).map(|total| entered as f64 / total as f64);
        Progress {
            is_done: self.ended.is_some(),
            packets_in: entered,
            packets_done: entered - sum.inside.min(entered),
            packets_total: offered,
            fraction: by_time.into_iter().chain(by_frames).reduce(f64::max).map(|part| part.min(1.0)),
            simulated: self.now,
            cycles: None,
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        // A network that failed reports its error when it runs next.
        let _ = self.with_cards(&self.here(), move |_, device| device.set_mode(mode));
    }

    fn close(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        self.observed.borrow_mut().close();
        // After an error, which the run has returned, the nodes cannot be reached.
        let end = self.now;
        let results = self.with_cards(&self.here(), move |_, device| device.close(end)).unwrap_or_default();
        let closed: Result<(), RunError> = results.into_iter().collect();
        self.collect(true);
        match self.wanted.ranks.clone() {
            None => {
                closed?;
                self.network.borrow_mut().close().map_err(RunError::new)?;
                self.observed.borrow_mut().finish_timeline()
            }
            Some(ranks) => self.gather(&ranks, closed.err().map(|error| error.to_string())),
        }
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let reports = self.reports();
        let all = reports
            .iter()
            .flat_map(|report| report.counters.iter().map(|(path, value)| (format!("{}.{path}", report.name), *value)));
        all.collect()
    }
}

impl Card for NetworkCard {
    fn digest(&self) -> String {
        digest_of(&self.reports())
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        let (reports, network) = (self.reports(), self.network.borrow());
        let mut resources = Vec::new();
        for link in network.links() {
            for end in 0..2 {
                let ((from, port), (to, _)) = (link.ends[end], link.ends[1 - end]);
                let [from, to] = [from, to].map(|node| reports.get(node.0 as usize));
                let (Some(from), Some(to), Some(bps)) = (from, to, link.directions[end].rate.in_bps()) else {
                    continue;
                };
                let Some(Some((counts, _))) = from.lines.get(usize::from(port.0)) else { continue };
                resources.push(Resource {
                    path: format!("{}:{} > {}", from.name, port.0, to.name),
                    limit: format!("the line from {} to {}: {} Gbit/s", from.name, to.name, bps as f64 / 1e9),
                    busy: counts.busy_fs / 1000,
                    units: 1,
                    does: Use::Passes,
                });
            }
        }
        for report in reports.iter() {
            let full = report.counters.iter().find(|(name, _)| name == BUFFER_FULL_PS);
            resources.extend(full.map(|(name, full_ps)| Resource {
                path: format!("{}.{name}", report.name),
                limit: format!("the buffer of {}: its bytes", report.name),
                busy: *full_ps,
                units: 1,
                does: Use::Holds,
            }));
        }
        (Time::ZERO, resources.into_iter().map(|one| (picoseconds(), one)).collect())
    }

    fn summary(&self, wall: Duration) -> Value {
        self.summarize(wall).to_json()
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let ledger = self.ledger();
        DropReason::ALL.iter().map(|&reason| (reason.name(), ledger.dropped_for(reason).frames)).collect()
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        if !self.wanted.tables {
            return Vec::new();
        }
        let mut observed = self.observed.borrow_mut();
        let frames = Rows { table: super::FRAMES, columns: observed.frames.take() };
        let mut finished = self.finished.borrow_mut();
        let columns = finished.as_mut().map(|finished| finished.take_operations(MOST_ROWS));
        // There are no rows without a schedule, and none after its last row.
        let columns = columns.filter(|columns| columns.iter().any(|(_, bytes)| !bytes.is_empty()));
        let operations = columns.map(|columns| Rows { table: goal::OPERATIONS.name, columns });
        let messages = observed.messages.as_mut().and_then(MessageLog::take);
        let messages = messages.map(|columns| Rows { table: MESSAGES.name, columns });
        std::iter::once(frames).chain(messages).chain(operations).collect()
    }

    fn as_nodes(&mut self) -> Option<&mut dyn Nodes> {
        Some(self)
    }

    fn ports(&self) -> Vec<Port> {
        Vec::new()
    }

    fn inject(&mut self, port: Port, _at: Time, _frame: Box<[u8]>) -> Result<(), InjectError> {
        Err(InjectError::NoLines { port })
    }
}
