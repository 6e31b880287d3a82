//! A network as a run sees it: cards on its nodes, links and switches between them.

use super::device::{CardDevice, CardEnded};
use super::experiment::NetworkError;
use super::frames::{FrameLog, Frames};
use super::progress::{NodeProgress, Sum};
use super::setup::{NodeSetup, Setup};
use crate::goal::{self, Finished};
use crate::run::{Card, Ended, HORIZON, InjectError, Port, Progress, Rows, RunError, Simulated, Wanted};
use kernel::{Clock, Mode, Resource, Time};
use net::device::Attached;
use net::error::NetError;
use net::network::{Network, Options};
use net::node::Node;
use net::observe::Row;
use net::{NodeId, NodeReport};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which a network looks for the end of its run.
const LOOK: Time = Time::from_ns(2_000);
/// A network whose cards are done with all packets, and in which no frame moved for this long, has finished: cards with cores that poll
/// never stop by themselves. It is longer than any access to a host takes.
const CALM: Time = Time::from_ns(20_000);

/// Rows of operations in one call: all that a schedule can have.
const MOST_ROWS: usize = usize::MAX;
/// Nodes that the reason of a stall names.
const MOST_NAMED: usize = 8;

/// A network with the cards of its nodes.
pub struct NetworkCard {
    pub(super) setup: Setup,
    /// Calls into a node need it, and some of them come with a shared reference.
    pub(super) network: RefCell<Network>,
    progress: Vec<Arc<NodeProgress>>,
    rows: Arc<Mutex<Vec<Row>>>,
    pub(super) frames: Frames,
    now: Time,
    pub(super) ended: Option<Ended>,
    is_closed: bool,
    /// The schedule that the hosts have run.
    pub(super) finished: RefCell<Option<Finished>>,
    keeps_tables: bool,
}

impl NetworkCard {
    /// Builds all nodes, each on its thread.
    pub fn new(setup: Setup, wanted: &Wanted) -> Result<Self, NetworkError> {
        setup.check_hosts(wanted)?;
        let progress: Vec<Arc<NodeProgress>> = setup.nodes.iter().map(|_| Arc::default()).collect();
        let plan = setup.plan(wanted, &progress);
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let kept = rows.clone();
        let observer = move |rows: &[Row]| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(rows);
            Ok(())
        };
        let threads = wanted.threads;
        let options = Options { threads, observer: Some(Box::new(observer)), ..Options::default() };
        let network = RefCell::new(Network::build(plan, options)?);
        let frames = Frames::new(wanted.tables.then(FrameLog::default));
        let (ended, is_closed) = (None, false);
        let keeps_tables = wanted.tables;
        let (now, finished) = (Time::ZERO, RefCell::new(None));
        Ok(NetworkCard { setup, network, progress, rows, frames, now, ended, is_closed, finished, keeps_tables })
    }

    /// Sum over the nodes.
    pub(super) fn sum(&self) -> Sum {
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

    /// Digests and counters of all nodes.
    pub(super) fn reports(&self) -> Vec<NodeReport> {
        self.network.borrow_mut().report().unwrap_or_default()
    }

    /// Names and cards of the nodes.
    pub(super) fn nodes(&self) -> &[NodeSetup] {
        &self.setup.nodes
    }

    fn limit(&self) -> Time {
        self.setup.experiment.common.limit.map_or(HORIZON, |limit| limit.time().min(HORIZON))
    }

    /// The next time at which the run checks for its end. It depends only on the state at the last check, so slices change no result.
    fn next_look(&self) -> Time {
        let after = self.network.borrow().progress().next.unwrap_or(self.now).max(self.now);
        let look = Time::from_fs((after.fs() / LOOK.fs() + 1).saturating_mul(LOOK.fs()));
        look.min(self.limit())
    }

    /// Why the run has ended at this look, if it has.
    fn judge(&mut self) -> Result<Option<Ended>, NetError> {
        let (sum, next) = (self.sum(), self.network.borrow().progress().next);
        let is_quiet = next.is_none();
        let is_done = !sum.has_more && sum.inside == 0;
        let moved_at = sum.active_at.max(self.frames.moved_at());
        if is_done
            && (is_quiet || self.now >= moved_at + CALM)
            && self.network.borrow_mut().ledger()?.in_flight.frames == 0
        {
            return Ok(Some(match self.take_schedule() {
                Some(Err(text)) => Ended::Stalled(Some(text)),
                Some(Ok(finished)) => {
                    self.finished.replace(Some(finished));
                    Ended::Complete
                }
                None => Ended::Complete,
            }));
        }
        let stall = self.setup.experiment.common.stall_limit.time();
        let waits = sum.has_more && next.is_some_and(|next| next > self.now + stall);
        Ok(match () {
            _ if self.now >= self.limit() => Some(Ended::Limit),
            _ if is_quiet || (self.now >= moved_at + stall && !waits) => Some(Ended::Stalled(self.stuck_at())),
            _ => None,
        })
    }

    /// The nodes with unfinished packets.
    fn stuck_at(&self) -> Option<String> {
        if let Some(Err(text)) = self.take_schedule() {
            return Some(text);
        }
        let stuck = self.nodes().iter().zip(&self.progress).filter_map(|(node, progress)| {
            let inside = NodeProgress::sum([&**progress]).inside;
            (inside > 0).then(|| format!("`{}` has {inside}", node.name))
        });
        let stuck: Vec<String> = stuck.take(MOST_NAMED).collect();
        let packets = (!stuck.is_empty()).then(|| format!("unfinished packets: {}", stuck.join(", ")));
        let parts: Vec<String> = packets.into_iter().chain(self.waiting_hosts()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The waits of hosts' programs.
    fn waiting_hosts(&self) -> Option<String> {
        let names = self.nodes().iter().zip(&self.progress).enumerate();
        let waiting = names.filter(|(_, (_, progress))| NodeProgress::sum([&***progress]).has_more);
        let texts = waiting.filter_map(|(number, (node, _))| {
            let act = |device: &mut CardDevice| device.side()?.endpoint().waits_for();
            let what = self.with_card(number, act).ok().flatten()?;
            Some(format!("the host of `{}` waits for {what}", node.name))
        });
        let texts: Vec<String> = texts.take(MOST_NAMED).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    fn take_rows(&mut self) {
        let rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        self.frames.add(&rows);
    }
}

/// A card that stopped is an event of the simulated world; anything else is an error.
fn stopped(error: NetError) -> Result<Ended, RunError> {
    match &error {
        NetError::Node { name, failure, .. } if failure.is::<CardEnded>() => {
            Ok(Ended::Trouble(format!("node `{name}`: {failure}")))
        }
        _ => Err(RunError::new(error)),
    }
}

impl Simulated for NetworkCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        while self.ended.is_none() && self.now < until {
            let look = self.next_look();
            let result = self.network.borrow_mut().run_until(look);
            self.now = look;
            self.take_rows();
            self.ended = match result {
                Ok(_) => self.judge().map_err(RunError::new)?,
                Err(error) => Some(stopped(error)?),
            };
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.now
    }

    fn next_event(&self) -> Option<Time> {
        self.network.borrow().progress().next
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let (sum, offered) = (self.sum(), self.setup.offered());
        let limit = self.setup.experiment.common.limit;
        let by_time = limit.map(|limit| self.now.fs() as f64 / limit.time().fs().max(1) as f64);
        let by_frames = offered.filter(|&total| total > 0).map(|total| self.frames.entered() as f64 / total as f64);
        Progress {
            is_done: self.ended.is_some(),
            packets_in: self.frames.entered(),
            packets_done: self.frames.entered() - sum.inside.min(self.frames.entered()),
            packets_total: offered,
            fraction: by_time.into_iter().chain(by_frames).reduce(f64::max).map(|part| part.min(1.0)),
            simulated: self.now,
            cycles: None,
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        for node in 0..self.nodes().len() {
            // A network that failed reports it when it runs.
            let _ = self.with_card(node, move |device| device.set_mode(mode));
        }
    }

    fn close(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        (0..self.nodes().len()).try_for_each(|node| match self.with_card(node, CardDevice::close) {
            Ok(result) => result,
            // After a node failed, the others cannot be reached; `ended` has the reason.
            Err(_) => Ok(()),
        })
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let reports = self.reports().into_iter();
        let all = reports.flat_map(|report| {
            let name = report.name;
            report.counters.into_iter().map(move |(path, value)| (format!("{name}.{path}"), value))
        });
        all.collect()
    }
}

impl Card for NetworkCard {
    fn digest(&self) -> String {
        self.network.borrow_mut().digest().unwrap_or_default()
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        (Time::ZERO, Vec::new())
    }

    fn summary(&self, wall: Duration) -> Value {
        self.summarize(wall).to_json()
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        if !self.keeps_tables {
            return Vec::new();
        }
        let frames = Rows { table: super::FRAMES, columns: self.frames.take() };
        let mut finished = self.finished.borrow_mut();
        let columns = finished.as_mut().map(|finished| finished.take_operations(MOST_ROWS));
        // Without a schedule and after its last row, there are none.
        let columns = columns.filter(|columns| columns.iter().any(|(_, bytes)| !bytes.is_empty()));
        let operations = columns.map(|columns| Rows { table: goal::OPERATIONS.name, columns });
        std::iter::once(frames).chain(operations).collect()
    }

    fn ports(&self) -> Vec<Port> {
        Vec::new()
    }

    fn inject(&mut self, port: Port, _at: Time, _frame: Box<[u8]>) -> Result<(), InjectError> {
        Err(InjectError::NoLines { port })
    }
}
