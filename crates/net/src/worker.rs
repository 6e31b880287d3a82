//! A thread of a network: it runs its nodes window by window, and exchanges frames with the others between windows.

use crate::NodeId;
use crate::address::Directory;
use crate::barrier::{Barrier, Broken};
use crate::capture::{Captured, Captures};
use crate::error::NetError;
use crate::exchange::{Exchange, Message};
use crate::link::{Delivery, Link, Wire};
use crate::network::node_error;
use crate::node::{BuildNode, Place};
use crate::observe::{Ledger, Row};
use crate::plan::Plan;
use crate::shard::{NodeReport, Shard};
use kernel::Time;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// Longest window of a network with an observer, so that rows do not pile up.
const OBSERVED_WINDOW: Time = Time::from_ns(20_000);

/// Rows that are handed on at once. A hand-over wakes the thread of the observer, which costs microseconds.
const BATCH: usize = 1024;

/// The same for a network of one thread in one process: the observer would use a second core, so it waits for the end of most runs.
const LARGE_BATCH: usize = 1 << 16;

/// First number of a home in another process.
const REMOTE: u32 = 1 << 31;

/// Where each node lives: the number of a thread, or [`REMOTE`] and the number of a process.
#[derive(Clone)]
pub(crate) struct Homes {
    pub all: Vec<u32>,
}

impl Homes {
    pub fn new(me: u32, ranks: &[u32], threads: &[u32]) -> Self {
        let home = |(&rank, &thread): (&u32, &u32)| if rank == me { thread } else { REMOTE + rank };
        Homes { all: ranks.iter().zip(threads).map(home).collect() }
    }

    /// The thread of a node; `None` if it does not live in this process.
    pub fn thread(&self, node: NodeId) -> Option<usize> {
        self.all.get(node.0 as usize).filter(|&&home| home < REMOTE).map(|&home| home as usize)
    }

    /// The home of nodes on a thread.
    pub fn local(&self, thread: usize) -> u32 {
        thread as u32
    }

    /// Least delay of the links for which `holds` is true, given the homes of both ends.
    pub fn least_delay(&self, links: &[Link], holds: impl Fn([u32; 2]) -> bool) -> Time {
        let homes = |link: &Link| link.ends.map(|(node, _)| self.all[node.0 as usize]);
        let delays =
            links.iter().filter(|link| holds(homes(link))).flat_map(|link| link.directions.map(|way| way.delay));
        delays.min().unwrap_or(Time::MAX)
    }
}

/// A node to build, with the directions of links that begin at it.
pub(crate) type Work = (Place, BuildNode, Vec<Option<Wire>>);

/// A function that is called with the nodes of a thread.
pub(crate) type Call = Box<dyn FnOnce(&mut Shard) -> Box<dyn Any + Send> + Send>;

pub(crate) enum Command {
    Run(Time),
    Call(Call),
    Report,
    Ledger,
}

pub(crate) enum Reply {
    Built(Option<Time>),
    Ran {
        next: Option<Time>,
        windows: u64,
    },
    Called {
        answer: Box<dyn Any + Send>,
        next: Option<Time>,
    },
    Reported(Vec<NodeReport>),
    Counted(Ledger),
    /// Rows of all threads for the observer, in arbitrary order, but after all earlier ones. The sender does not wait for an answer.
    Rows(Vec<Row>),
    /// If several threads fail, the first error is returned.
    Failed(Order, NetError),
}

/// The order of errors: by time, then by node. So a run ends with the same error on any number of threads.
pub(crate) type Order = (Time, u32);

/// Errors of the run as a whole come before those of nodes.
const OF_RUN: Order = (Time::ZERO, 0);
/// Errors of the exchange with other processes, of a thread, and those that only say that another thread has failed come last.
const OF_EXCHANGE: Order = (Time::MAX, u32::MAX - 2);
const OF_THREAD: Order = (Time::MAX, u32::MAX - 1);
const OF_ANOTHER: Order = (Time::MAX, u32::MAX);

/// A thread's message to the others at a window's end.
struct Slot {
    /// Its next event, in femtoseconds; `u64::MAX` for none.
    next: AtomicU64,
    /// It cannot go on.
    has_failed: AtomicBool,
    /// Frames for each home.
    mail: Vec<Mutex<Vec<Delivery>>>,
    rows: Mutex<Vec<Row>>,
    captured: Mutex<Vec<Captured>>,
}

/// Data that the threads of a network share. All data of a window exist twice: while one thread still reads the data of the last
/// window, another thread writes the data of this window.
pub(crate) struct Shared {
    barrier: Barrier,
    slots: [Vec<Slot>; 2],
    /// Least delay of the links that join threads or processes.
    lookahead: Time,
    n_threads: usize,
    remote: Option<Mutex<Remote>>,
    is_observed: bool,
    /// The observer's error, until the first thread ends the run because of it.
    refusal: Mutex<Option<NetError>>,
    captures: Option<Mutex<Captures>>,
}

/// The other processes.
struct Remote {
    exchange: Arc<dyn Exchange>,
    homes: Homes,
    directory: Directory,
    /// The next event of any rank.
    next: u64,
    /// Frames that arrived for each thread.
    mail: Vec<Vec<Delivery>>,
    failure: Option<NetError>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(
        n_threads: usize,
        homes: &Homes,
        plan: &Plan,
        exchange: Option<Arc<dyn Exchange>>,
        is_observed: bool,
        captures: Option<Captures>,
    ) -> Self {
        let n_ranks = exchange.as_ref().map_or(0, |exchange| exchange.n_ranks() as usize);
        let slot = |_| Slot {
            next: AtomicU64::new(u64::MAX),
            has_failed: AtomicBool::new(false),
            mail: (0..n_threads + n_ranks).map(|_| Mutex::default()).collect(),
            rows: Mutex::default(),
            captured: Mutex::default(),
        };
        let remote = exchange.map(|exchange| {
            let (homes, directory) = (homes.clone(), plan.directory.clone());
            let mail = vec![Vec::new(); n_threads];
            Mutex::new(Remote { exchange, homes, directory, next: u64::MAX, mail, failure: None })
        });
        // With several processes, links between other processes count, too: all must have the same windows.
        let lookahead = match &remote {
            Some(_) => homes.least_delay(&plan.links, |_| true),
            None => homes.least_delay(&plan.links, |[one, other]| one != other),
        };
        Shared {
            barrier: Barrier::new(n_threads),
            slots: [(0..n_threads).map(slot).collect(), (0..n_threads).map(slot).collect()],
            lookahead,
            n_threads,
            remote,
            is_observed,
            refusal: Mutex::default(),
            captures: captures.map(Mutex::new),
        }
    }

    /// Ends the run at the end of a window: the observer has refused rows.
    pub fn refuse(&self, error: NetError) {
        lock(&self.refusal).get_or_insert(error);
    }

    /// The observer's error, if it has not ended a run yet.
    pub fn take_refusal(&self) -> Option<NetError> {
        lock(&self.refusal).take()
    }

    /// Writes all captured frames and closes the captures.
    pub fn close_captures(&self) -> Result<(), NetError> {
        self.captures.as_ref().map_or(Ok(()), |captures| lock(captures).close())
    }
}

/// A thread of a network.
pub(crate) struct Worker {
    me: usize,
    shard: Shard,
    shared: Arc<Shared>,
    orders: mpsc::Receiver<Command>,
    reply: mpsc::Sender<(usize, Reply)>,
    parity: usize,
    windows: u64,
    /// Earliest frame that was put into a mailbox in this window.
    mailed: u64,
    /// Rows to hand on; only on the first thread.
    rows: Vec<Row>,
    /// End of the last window.
    until: Time,
}

/// Why a run ended early on this thread.
enum Stop {
    /// Its own failure.
    Own(Order, NetError),
    /// Another thread's error, which that thread reports.
    Other,
}

impl From<Broken> for Stop {
    fn from(_: Broken) -> Self {
        Stop::Other
    }
}

impl Worker {
    pub fn new(
        me: usize,
        shard: Shard,
        shared: Arc<Shared>,
        orders: mpsc::Receiver<Command>,
        reply: mpsc::Sender<(usize, Reply)>,
    ) -> Self {
        Worker {
            me,
            shard,
            shared,
            orders,
            reply,
            parity: 0,
            windows: 0,
            mailed: u64::MAX,
            rows: Vec::new(),
            until: Time::ZERO,
        }
    }

    /// Builds the nodes, and carries out commands until the network is dropped.
    pub fn serve(mut self, work: Vec<Work>) {
        let first = match self.build(work) {
            Ok(()) => Reply::Built(self.shard.next_event()),
            Err((order, error)) => Reply::Failed(order, error),
        };
        let mut is_wanted = self.reply.send((self.me, first)).is_ok();
        while is_wanted {
            let Ok(order) = self.orders.recv() else { return };
            let reply = match order {
                Command::Run(until) => self.guarded_run(until),
                Command::Call(call) => self.call(call),
                Command::Report => Reply::Reported(self.shard.report()),
                Command::Ledger => Reply::Counted(self.shard.ledger()),
            };
            is_wanted = self.reply.send((self.me, reply)).is_ok();
        }
    }

    fn build(&mut self, work: Vec<Work>) -> Result<(), (Order, NetError)> {
        for (place, build, wires) in work {
            let (name, order) = (place.name.clone(), (Time::ZERO, place.node.0));
            let node = match catch_unwind(AssertUnwindSafe(|| build(&place))) {
                Ok(Ok(node)) => node,
                Ok(Err(failure)) => return Err((order, NetError::Build { name, failure: Arc::from(failure) })),
                Err(panic) => return Err((order, NetError::Panic { name, message: text_of(&*panic) })),
            };
            self.shard.add(node, &place, wires, self.shared.is_observed);
        }
        Ok(())
    }

    fn call(&mut self, call: Call) -> Reply {
        let shard = &mut self.shard;
        match catch_unwind(AssertUnwindSafe(|| call(shard))) {
            Ok(answer) => Reply::Called { answer, next: self.shard.next_event() },
            Err(panic) => {
                let message = text_of(&*panic);
                let (node, name, at) = self.shard.running().unwrap_or_default();
                Reply::Failed((at, node.0), NetError::Panic { name, message })
            }
        }
    }

    /// Runs. A panic outside of nodes, which would be a bug here, wakes the other threads.
    fn guarded_run(&mut self, until: Time) -> Reply {
        let ran = catch_unwind(AssertUnwindSafe(|| self.run(until)));
        self.hand_on_rows();
        match ran {
            Ok(Ok(next)) => Reply::Ran { next, windows: self.windows },
            Ok(Err(Stop::Own(order, error))) => Reply::Failed(order, error),
            Ok(Err(Stop::Other)) => {
                Reply::Failed(OF_ANOTHER, NetError::Thread { message: "another thread failed".into() })
            }
            Err(panic) => {
                self.shared.barrier.break_down();
                Reply::Failed(OF_THREAD, NetError::Thread { message: text_of(&*panic) })
            }
        }
    }

    fn run(&mut self, until: Time) -> Result<Option<Time>, Stop> {
        let shared = Arc::clone(&self.shared);
        let mut failure: Option<(Order, NetError)> = None;
        loop {
            if self.me == 0 && failure.is_none() {
                failure = shared.take_refusal().map(|error| (OF_RUN, error));
            }
            let own = self.shard.next_event().map_or(u64::MAX, Time::fs).min(self.mailed);
            self.mailed = u64::MAX;
            shared.slots[self.parity][self.me].next.store(own, Ordering::SeqCst);
            shared.slots[self.parity][self.me].has_failed.store(failure.is_some(), Ordering::SeqCst);
            shared.barrier.wait()?;
            if let Some(remote) = &shared.remote {
                if self.me == 0 {
                    self.exchange(&mut lock(remote), failure.as_ref().map(|(_, error)| error));
                }
                shared.barrier.wait()?;
            }
            let slots = &shared.slots[self.parity];
            let observed = if self.me == 0 { self.observe(slots) } else { Ok(()) };
            if let Some((order, error)) = failure.take() {
                return Err(Stop::Own(order, error));
            }
            // The thread that failed wrote this before the barrier, so all threads stop after the same window.
            if slots.iter().any(|slot| slot.has_failed.load(Ordering::SeqCst)) {
                return Err(Stop::Other);
            }
            let mut next = slots.iter().map(|slot| slot.next.load(Ordering::SeqCst)).min().unwrap_or(u64::MAX);
            for slot in slots {
                let mail = std::mem::take(&mut *lock(&slot.mail[self.me]));
                mail.into_iter().for_each(|delivery| self.shard.accept(delivery));
            }
            if let Some(remote) = &shared.remote {
                let mut remote = lock(remote);
                next = next.min(remote.next);
                std::mem::take(&mut remote.mail[self.me]).into_iter().for_each(|delivery| self.shard.accept(delivery));
                if let Some(error) = &remote.failure {
                    return Err(Stop::Own(OF_EXCHANGE, error.clone()));
                }
            }
            self.parity = 1 - self.parity;
            if next > until.fs() || next == u64::MAX {
                // All threads leave here. The leader reports a failure of the captures as its own.
                observed.map_err(|error| Stop::Own(OF_RUN, error))?;
                self.run_shard(until).map_err(|(order, error)| Stop::Own(order, error))?;
                return Ok((next != u64::MAX).then_some(Time::from_fs(next)));
            }
            self.windows += 1;
            let mut end = next.saturating_add(shared.lookahead.fs() - 1).min(until.fs());
            if shared.is_observed || shared.captures.is_some() {
                end = end.min(next.saturating_add(OBSERVED_WINDOW.fs()));
            }
            self.until = Time::from_fs(end);
            failure = observed.err().map(|error| (OF_RUN, error));
            if failure.is_none() {
                failure = self.run_shard(Time::from_fs(end)).err();
            }
        }
    }

    /// Runs the own nodes, and puts frames for others into mailboxes.
    fn run_shard(&mut self, until: Time) -> Result<(), (Order, NetError)> {
        let Worker { shard, shared, mailed, .. } = self;
        let slot = &shared.slots[self.parity][self.me];
        let n_threads = shared.n_threads;
        let mut away = |home: u32, delivery: Delivery| {
            *mailed = (*mailed).min(delivery.arrival.head.fs());
            let place = if home < REMOTE { home as usize } else { n_threads + (home - REMOTE) as usize };
            lock(&slot.mail[place]).push(delivery);
        };
        let ran = catch_unwind(AssertUnwindSafe(|| shard.run_until(until, &mut away)));
        if shared.is_observed {
            shard.take_rows(&mut lock(&slot.rows));
        }
        if shared.captures.is_some() {
            shard.take_captured(&mut lock(&slot.captured));
        }
        match ran {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failure)) => {
                let order = (failure.at, failure.node.0);
                Err((order, node_error(failure.name, failure.at, failure.failure)))
            }
            Err(panic) => {
                let message = text_of(&*panic);
                Err(match shard.running() {
                    Some((node, name, end)) => ((end, node.0), NetError::Panic { name, message }),
                    None => (OF_THREAD, NetError::Thread { message }),
                })
            }
        }
    }

    /// Gives the frames of a window to the captures, and collects its rows.
    fn observe(&mut self, slots: &[Slot]) -> Result<(), NetError> {
        if self.shared.is_observed {
            slots.iter().for_each(|slot| self.rows.append(&mut lock(&slot.rows)));
            let is_alone = self.shared.n_threads == 1 && self.shared.remote.is_none();
            let batch = if is_alone { LARGE_BATCH } else { BATCH };
            if self.rows.len() >= batch {
                self.hand_on_rows();
            }
        }
        let Some(captures) = &self.shared.captures else { return Ok(()) };
        let mut frames: Vec<Captured> = Vec::new();
        slots.iter().for_each(|slot| frames.append(&mut lock(&slot.captured)));
        lock(captures).take(&mut frames, self.until)
    }

    /// Sends the collected rows to the thread of the observer. If that thread is gone, the rows are not needed.
    fn hand_on_rows(&mut self) {
        if !self.rows.is_empty() {
            let _ = self.reply.send((self.me, Reply::Rows(std::mem::take(&mut self.rows))));
        }
    }

    /// Exchanges the window's frames with other processes.
    fn exchange(&self, remote: &mut Remote, own: Option<&NetError>) {
        let slots = &self.shared.slots[self.parity];
        let next = slots.iter().map(|slot| slot.next.load(Ordering::SeqCst)).min().unwrap_or(u64::MAX);
        let has_failed = slots.iter().any(|slot| slot.has_failed.load(Ordering::SeqCst));
        let failure = has_failed.then(|| own.map_or("a thread of it failed".to_owned(), NetError::to_string));
        let me = remote.exchange.rank() as usize;
        let outgoing = (0..remote.exchange.n_ranks() as usize).map(|rank| {
            if rank == me {
                return Vec::new();
            }
            let deliveries =
                slots.iter().flat_map(|slot| std::mem::take(&mut *lock(&slot.mail[self.shared.n_threads + rank])));
            let next = (next != u64::MAX).then_some(Time::from_fs(next));
            Message { next, failure: failure.clone(), deliveries: deliveries.collect() }.emit()
        });
        remote.next = next;
        if let Err(error) = remote.swap(outgoing.collect(), me) {
            remote.failure = Some(error);
        }
    }
}

impl Remote {
    fn swap(&mut self, outgoing: Vec<Vec<u8>>, me: usize) -> Result<(), NetError> {
        let incoming =
            self.exchange.exchange(outgoing).map_err(|failure| NetError::Exchange { failure: Arc::from(failure) })?;
        for (rank, bytes) in incoming.iter().enumerate().filter(|&(rank, _)| rank != me) {
            let message = Message::parse(rank, bytes, &self.directory);
            let message = message.map_err(|error| NetError::Exchange { failure: Arc::new(error) })?;
            if let Some(message) = message.failure {
                return Err(NetError::Rank { rank: rank as u32, message });
            }
            self.next = self.next.min(message.next.map_or(u64::MAX, Time::fs));
            for delivery in message.deliveries {
                if let Some(thread) = self.homes.thread(delivery.node) {
                    self.mail[thread].push(delivery);
                }
            }
        }
        Ok(())
    }
}

/// The text of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
