//! A network at run time: nodes on threads, which meet at windows.
//!
//! A node never moves: it is built on its thread and stays there. In a window, each thread runs its nodes on its own. The window
//! ends before anything that happens in it can reach a node of another thread: its length is the least delay of the links that
//! join threads (or processes). A window begins at the next time at which anything happens anywhere, so windows without work do
//! not exist.

use crate::NodeId;
use crate::capture::{Capture, Captures};
use crate::error::NetError;
use crate::exchange::Exchange;
use crate::link::{Link, Wire};
use crate::node::{Node, NodeFailure, Place};
use crate::observe::{Ledger, Observer, Row};
use crate::plan::Plan;
use crate::shard::{NodeReport, Shard};
use crate::worker::{Call, Command, Homes, Reply, Shared, Work, Worker};
use kernel::Time;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Options of a run. None of them changes a result.
#[derive(Default)]
pub struct Options {
    /// Number of threads; 0 means one for each core.
    pub threads: usize,
    /// The thread of each node, if the default (equal shares of neighbouring numbers) does not fit.
    pub placement: Option<Vec<u32>>,
    /// Other processes that simulate parts of the network.
    pub exchange: Option<Arc<dyn Exchange>>,
    /// The process of each node; needed with `exchange`. `placement` then counts threads within the process.
    pub ranks: Option<Vec<u32>>,
    /// Receives rows, on the thread that calls [`Network::run_until`]: during the run. A network of one thread collects more rows
    /// before it hands them on, so that short runs use one core.
    pub observer: Option<Box<dyn Observer>>,
    /// Captures. [`Network::close`] completes the files.
    pub captures: Vec<Capture>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// The next time at which anything happens; `None` if nothing can happen any more.
    pub next: Option<Time>,
    /// Windows so far.
    pub windows: u64,
}

/// A network of nodes.
pub struct Network {
    commands: Vec<mpsc::Sender<Command>>,
    replies: mpsc::Receiver<(usize, Reply)>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
    homes: Homes,
    links: Vec<Link>,
    progress: Progress,
    observer: Option<Box<dyn Observer>>,
    /// Rows given to the observer.
    n_rows: u64,
    failure: Option<NetError>,
}

impl Network {
    /// Builds all nodes, each on its thread.
    pub fn build(plan: Plan, mut options: Options) -> Result<Self, NetError> {
        let places = plan.places()?;
        let n_threads = threads(options.threads, places.len());
        let homes = homes(places.len(), n_threads, &mut options)?;
        let mut wires = wires(&places, &plan);
        let captures = captures(std::mem::take(&mut options.captures), &plan, &mut wires)?;
        let (exchange, observer) = (options.exchange.take(), options.observer.take());
        let shared = Arc::new(Shared::new(n_threads, &homes, &plan, exchange, observer.is_some(), captures));
        let (reply, replies) = mpsc::channel();
        let mut work: Vec<Vec<Work>> = (0..n_threads).map(|_| Vec::new()).collect();
        for ((place, node), wires) in places.into_iter().zip(plan.nodes).zip(wires) {
            if let Some(thread) = homes.thread(place.node) {
                work[thread].push((place, node.build, wires));
            }
        }
        let (mut commands, mut handles) = (Vec::new(), Vec::new());
        for (thread, work) in work.into_iter().enumerate() {
            let (command, orders) = mpsc::channel();
            let (shared, reply, homes) = (Arc::clone(&shared), reply.clone(), homes.clone());
            let lookahead = homes.least_delay(&plan.links, |ends| ends.iter().all(|&home| home == homes.local(thread)));
            commands.push(command);
            let name = format!("net-{thread}");
            let body = move || {
                let shard = Shard::new(homes.local(thread), homes.all.clone(), lookahead);
                Worker::new(thread, shard, shared, orders, reply).serve(work);
            };
            let handle = std::thread::Builder::new().name(name).spawn(body);
            let handle = handle.map_err(|error| NetError::NoThread { message: error.to_string() })?;
            handles.push(handle);
        }
        let progress = Progress { now: Time::ZERO, next: None, windows: 0 };
        let links = plan.links;
        let (n_rows, failure) = Default::default();
        let threads = handles;
        let mut network =
            Network { commands, replies, threads, shared, homes, links, progress, observer, n_rows, failure };
        for reply in network.collect(n_threads)? {
            if let Reply::Built(next) = reply {
                network.progress.next = [network.progress.next, next].into_iter().flatten().min();
            }
        }
        Ok(network)
    }

    /// Simulates up to `until`, `until` included. The times of the calls change no result.
    pub fn run_until(&mut self, until: Time) -> Result<Progress, NetError> {
        self.run_until_while(until, || ())
    }

    /// Does the same as [`Self::run_until`], and calls `meanwhile` on this thread while the threads of the nodes simulate.
    pub fn run_until_while(&mut self, until: Time, meanwhile: impl FnOnce()) -> Result<Progress, NetError> {
        self.send_all(|| Command::Run(until))?;
        meanwhile();
        for reply in self.collect(self.commands.len())? {
            if let Reply::Ran { next, windows } = reply {
                self.progress = Progress { now: until, next, windows };
            }
        }
        match self.shared.take_refusal() {
            Some(error) => Err(self.failure.insert(error).clone()),
            None => Ok(self.progress),
        }
    }

    /// The state of the run.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Its links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Calls `act` with a node, on the node's thread, and returns its answer. `act` may change the node between two runs.
    pub fn with_node<R: Send + 'static>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(&mut dyn Node) -> R + Send + 'static,
    ) -> Result<R, NetError> {
        self.check()?;
        let thread = self.thread(node)?;
        let call: Call = Box::new(move |shard| Box::new(shard.call(node, act)));
        self.order(thread, Command::Call(call))?;
        let (_, reply) = self.reply()?;
        self.answer::<Option<R>>(reply)?.ok_or_else(|| self.elsewhere(node))
    }

    /// Calls `act` with each of these nodes, and returns the answers in the same order. Threads work at the same time, each on its own
    /// nodes. If several nodes fail, returns the error of the one with the lowest number.
    pub fn with_nodes<R: Send + 'static>(
        &mut self,
        nodes: &[NodeId],
        act: impl Fn(NodeId, &mut dyn Node) -> R + Send + Sync + 'static,
    ) -> Result<Vec<R>, NetError> {
        self.check()?;
        let mut lists: Vec<Vec<(usize, NodeId)>> = vec![Vec::new(); self.commands.len()];
        for (place, &node) in nodes.iter().enumerate() {
            lists[self.thread(node)?].push((place, node));
        }
        let act = Arc::new(act);
        let mut n_calls = 0;
        for (thread, mut list) in lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            list.sort_unstable_by_key(|&(_, node)| node);
            let act = Arc::clone(&act);
            let call: Call = Box::new(move |shard| {
                let answer = |(place, node)| (place, shard.call(node, |resident| act(node, resident)));
                Box::new(list.into_iter().map(answer).collect::<Vec<(usize, Option<R>)>>())
            });
            self.order(thread, Command::Call(call))?;
            n_calls += 1;
        }
        let mut answers: Vec<Option<R>> = nodes.iter().map(|_| None).collect();
        for reply in self.collect(n_calls)? {
            for (place, answer) in self.answer::<Vec<(usize, Option<R>)>>(reply)? {
                answers[place] = answer;
            }
        }
        let given = nodes.iter().zip(answers);
        given.map(|(&node, answer)| answer.ok_or_else(|| self.elsewhere(node))).collect()
    }

    /// The thread of a node of this process.
    fn thread(&self, node: NodeId) -> Result<usize, NetError> {
        self.homes.thread(node).ok_or_else(|| self.elsewhere(node))
    }

    fn elsewhere(&self, node: NodeId) -> NetError {
        let all = self.homes.all.len();
        let n_here = (0..all).filter(|&number| self.homes.thread(NodeId(number as u32)).is_some()).count();
        NetError::Elsewhere { number: node.0, n_here, n_nodes: all }
    }

    /// The answer to a call.
    fn answer<R: 'static>(&mut self, reply: Reply) -> Result<R, NetError> {
        match reply {
            Reply::Called { answer, next } => {
                self.progress.next = [self.progress.next, next].into_iter().flatten().min();
                let answer = answer.downcast::<R>();
                Ok(*answer.expect("a call returns what its closure returns"))
            }
            Reply::Failed(_, error) => Err(self.failure.insert(error).clone()),
            _ => Err(self.broken("a thread answered another question")),
        }
    }

    /// Digests and counters of the nodes that live in this process, in order of their numbers.
    pub fn report(&mut self) -> Result<Vec<NodeReport>, NetError> {
        self.send_all(|| Command::Report)?;
        let mut all = Vec::new();
        for reply in self.collect(self.commands.len())? {
            if let Reply::Reported(reports) = reply {
                all.extend(reports);
            }
        }
        all.sort_by_key(|report| report.node);
        Ok(all)
    }

    /// Where the frames of this process are.
    pub fn ledger(&mut self) -> Result<Ledger, NetError> {
        self.send_all(|| Command::Ledger)?;
        let mut sum = Ledger::default();
        for reply in self.collect(self.commands.len())? {
            if let Reply::Counted(ledger) = reply {
                sum.merge(&ledger);
            }
        }
        Ok(sum)
    }

    /// The digest of everything that happened: of all nodes, and of all frames that crossed links, with their times.
    pub fn digest(&mut self) -> Result<String, NetError> {
        Ok(digest_of(&self.report()?))
    }

    /// Completes the captures. Without this call, their last frames may be missing.
    pub fn close(&mut self) -> Result<(), NetError> {
        self.shared.close_captures()
    }

    fn send_all(&mut self, command: impl Fn() -> Command) -> Result<(), NetError> {
        self.check()?;
        (0..self.commands.len()).try_for_each(|thread| self.order(thread, command()))
    }

    fn order(&mut self, thread: usize, command: Command) -> Result<(), NetError> {
        match self.commands[thread].send(command) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.broken("a thread ended")),
        }
    }

    fn check(&self) -> Result<(), NetError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Waits for `n` replies, each from another thread. If several threads failed, returns the earliest error.
    fn collect(&mut self, n: usize) -> Result<Vec<Reply>, NetError> {
        let mut replies = Vec::new();
        let mut failures = Vec::new();
        for _ in 0..n {
            match self.reply()? {
                (_, Reply::Failed(order, error)) => failures.push((order, error)),
                (_, reply) => replies.push(reply),
            }
        }
        failures.sort_by_key(|&(order, _)| order);
        match failures.into_iter().next() {
            Some((_, error)) => {
                self.failure = Some(error.clone());
                Err(error)
            }
            None => Ok(replies),
        }
    }

    fn reply(&mut self) -> Result<(usize, Reply), NetError> {
        loop {
            match self.replies.recv() {
                Ok((_, Reply::Rows(rows))) => self.observe(rows),
                Ok(reply) => return Ok(reply),
                Err(_) => return Err(self.broken("all threads ended")),
            }
        }
    }

    /// Gives rows to the observer, in order.
    fn observe(&mut self, mut rows: Vec<Row>) {
        let Some(observer) = &mut self.observer else { return };
        // The numbers that nodes give to their rows depend on windows, but the order of a node's rows of one time does
        // not.
        rows.sort_unstable_by_key(|row| (row.at, row.node, row.number));
        for row in &mut rows {
            row.number = self.n_rows;
            self.n_rows += 1;
        }
        if let Err(failure) = observer.rows(&rows) {
            self.observer = None;
            self.shared.refuse(NetError::Observer { failure: Arc::from(failure) });
        }
    }

    fn broken(&mut self, message: &str) -> NetError {
        let error = NetError::Thread { message: message.to_owned() };
        self.failure.get_or_insert(error).clone()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.commands.clear();
        // A thread that panicked has already reported its panic.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The digest of a whole network, from the reports of all its nodes in order of their numbers. If there are several ranks, they
/// must combine their reports first.
pub fn digest_of(reports: &[NodeReport]) -> String {
    let mut hasher = blake3::Hasher::new();
    for NodeReport { node, name, digest, lines, .. } in reports {
        hasher.update(format!("{} {name} {digest}", node.0).as_bytes());
        for (port, line) in lines.iter().enumerate() {
            if let Some((counts, hash)) = line {
                hasher.update(format!("\n{port} {hash:016x} {counts:?}").as_bytes());
            }
        }
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex().to_string()
}

fn threads(wanted: usize, n_nodes: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let n = if wanted == 0 { cores() } else { wanted };
    n.clamp(1, n_nodes)
}

/// The directions of links that begin at each node, by port.
fn wires(places: &[Place], plan: &Plan) -> Vec<Vec<Option<Wire>>> {
    let wire = |place: &Place, port: usize| {
        let link = place.ports[port].as_ref()?.link;
        let plan_of = &plan.links[link.0 as usize];
        let end = usize::from(plan_of.ends[0] != (place.node, crate::PortId(port as u16)));
        Some(Wire::new(link, plan_of, end, plan.seed))
    };
    places.iter().map(|place| (0..place.ports.len()).map(|port| wire(place, port)).collect()).collect()
}

/// Begins the captures, and taps their lines.
fn captures(
    captures: Vec<Capture>,
    plan: &Plan,
    wires: &mut [Vec<Option<Wire>>],
) -> Result<Option<Captures>, NetError> {
    if captures.is_empty() {
        return Ok(None);
    }
    for (number, capture) in captures.iter().enumerate() {
        let link = plan.links.get(capture.link.0 as usize).filter(|_| capture.end < 2);
        let Some(link) = link else {
            let found = format!("end {} of link {}", capture.end, capture.link.0);
            let allowed = format!("end 0 or 1 of a link below {}", plan.links.len());
            return Err(NetError::Plan { key: format!("captures[{number}]"), found, allowed });
        };
        for (tap, end) in [capture.end, 1 - capture.end].into_iter().enumerate() {
            let (node, port) = link.ends[end];
            let wire = &mut wires[node.0 as usize][usize::from(port.0)];
            let taps = wire.as_mut().map(|wire| &mut wire.taps[tap]);
            if let Some(Some(other)) = taps.map(|tap| tap.replace(number as u32)) {
                let found = format!("end {} of link `{}`", capture.end, link.name);
                let allowed = format!("an end without a capture; captures[{other}] has it");
                return Err(NetError::Plan { key: format!("captures[{number}]"), found, allowed });
            }
        }
    }
    let describe = |link: crate::LinkId, end: usize| {
        let link = &plan.links[link.0 as usize];
        let (node, port) = link.ends[end];
        let rate = |end: usize| link.directions[end].rate.in_bps().unwrap_or(0);
        (format!("{}:{port}", plan.nodes[node.0 as usize].name), [rate(end), rate(1 - end)])
    };
    Captures::new(captures, describe).map(Some)
}

fn homes(n_nodes: usize, n_threads: usize, options: &mut Options) -> Result<Homes, NetError> {
    let refuse = |key: &str, found: String, allowed: String| Err(NetError::Plan { key: key.into(), found, allowed });
    let (me, n_ranks) = options.exchange.as_ref().map_or((0, 1), |exchange| (exchange.rank(), exchange.n_ranks()));
    let ranks = match options.ranks.take() {
        Some(ranks) if ranks.len() != n_nodes => {
            return refuse("ranks", format!("{} numbers", ranks.len()), format!("one for each of {n_nodes} nodes"));
        }
        Some(ranks) => ranks,
        None => (0..n_nodes).map(|node| (node as u64 * u64::from(n_ranks) / n_nodes as u64) as u32).collect(),
    };
    if let Some(rank) = ranks.iter().find(|&&rank| rank >= n_ranks) {
        return refuse("ranks", rank.to_string(), format!("below {n_ranks}, the number of ranks"));
    }
    let here: Vec<usize> = (0..n_nodes).filter(|&node| ranks[node] == me).collect();
    let share = |position: usize| (position * n_threads / here.len().max(1)) as u32;
    let mut threads = vec![0; n_nodes];
    match options.placement.take() {
        Some(placement) if placement.len() != n_nodes => {
            return refuse(
                "placement",
                format!("{} numbers", placement.len()),
                format!("one for each of {n_nodes} nodes"),
            );
        }
        Some(placement) => {
            if let Some(thread) = here.iter().map(|&node| placement[node]).find(|&thread| thread as usize >= n_threads)
            {
                return refuse("placement", thread.to_string(), format!("below {n_threads}, the number of threads"));
            }
            threads = placement;
        }
        None => here.iter().enumerate().for_each(|(position, &node)| threads[node] = share(position)),
    }
    Ok(Homes::new(me, &ranks, &threads))
}

/// Turns the error of a node into that of a network.
pub(crate) fn node_error(name: String, at: Time, failure: NodeFailure) -> NetError {
    NetError::Node { name, at, failure: Arc::from(failure) }
}
