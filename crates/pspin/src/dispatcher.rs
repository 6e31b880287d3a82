//! Task dispatcher: selects the cluster that runs a task.

use crate::arbiter::requests;
use crate::events::{Hold, TASK_DISPATCHED, TASK_HELD, TASK_SENT};
use crate::mpq::MpqEngine;
use crate::protocol::{Feedback, Task};
use blocks::policy::RoundRobinTree;
use kernel::trace::{Counter, Level, Tracer};
use kernel::{CounterList, Cycle, Ports, Rx, Tx};

/// Sends tasks to clusters and collects their feedback. Part of [`crate::scheduler::PacketScheduler`].
///
/// A task goes to its home cluster, `msgid % n_clusters`, if that has room for a task and its channel is free.
/// Otherwise it goes to the cluster with the fewest tasks among those that can accept it (the lowest index wins a
/// tie). If none can, the task waits for cluster 0 and blocks all tasks behind it.
///
/// Ports:    `tasks[c]` out and `feedbacks[c]` in for each cluster, up to 1 task and 1 feedback per cycle in total.
/// Timing:   a task leaves in the cycle in which it is at the engine's output, if the channel is free.
/// Fairness: round robin over the clusters' feedback.
/// Source:   PsPIN RTL a49fec8, `scheduler.sv`. The channels are its spill registers: capacity 2, latency 1.
pub struct Dispatcher {
    max_tasks: u32,
    tasks: Vec<Tx<Task>>,
    feedbacks: Vec<Rx<Feedback>>,
    /// Tasks of each cluster without feedback so far.
    occupancy: Vec<u32>,
    /// The task waits for cluster 0.
    pinned: Option<Task>,
    /// The task at the engine's output waits.
    is_held: bool,
    arbiter: RoundRobinTree,
    away_from_home: Counter,
    /// Tasks without feedback so far, of all clusters: their number, also over time.
    n_given: u64,
    given: Level,
}

impl Dispatcher {
    /// Creates a dispatcher with at most `max_tasks` tasks in each cluster.
    pub fn new(max_tasks: u32, tasks: Vec<Tx<Task>>, feedbacks: Vec<Rx<Feedback>>) -> Self {
        assert!(!tasks.is_empty(), "a dispatcher needs a cluster");
        assert_eq!(tasks.len(), feedbacks.len(), "each cluster takes tasks and gives feedback");
        let occupancy = vec![0; tasks.len()];
        let (arbiter, away_from_home, given) = (RoundRobinTree::default(), Counter::default(), Level::default());
        let (pinned, is_held, n_given) = (None, false, 0);
        Dispatcher { max_tasks, tasks, feedbacks, occupancy, pinned, is_held, arbiter, away_from_home, n_given, given }
    }

    /// Sends the waiting task if possible. Returns true if anything changed.
    pub fn dispatch(&mut self, engine: &mut MpqEngine, now: Cycle, trace: &Tracer) -> bool {
        if self.pinned.is_some() {
            return self.release_pinned(now, trace);
        }
        let Some(home) = engine.task().map(|task| usize::from(task.msgid) % self.tasks.len()) else { return false };
        let Some(target) = self.target(home) else {
            if !std::mem::replace(&mut self.is_held, true) {
                hold(engine.task().expect("a task waits"), Hold::ClustersFull, now, trace);
            }
            return false;
        };
        self.is_held = false;
        let task = engine.take_task().expect("a task waits");
        self.occupancy[target] += 1;
        self.n_given += 1;
        self.away_from_home.add(u64::from(target != home));
        trace.emit(&TASK_SENT, now, &[task.packet.0, task.stage as u64]);
        match self.tasks[target].has_room() {
            true => self.send(target, task, now, trace),
            false => {
                hold(&task, Hold::Channel, now, trace);
                self.pinned = Some(task);
            }
        }
        true
    }

    /// The cluster for a task with this home; `None` if it has its maximum number of tasks.
    fn target(&self, home: usize) -> Option<usize> {
        let is_full = |cluster: usize| self.occupancy[cluster] >= self.max_tasks;
        if !is_full(home) && self.tasks[home].has_room() {
            return Some(home);
        }
        let with_room = (0..self.tasks.len()).filter(|&cluster| self.tasks[cluster].has_room());
        let target = with_room.min_by_key(|&cluster| self.occupancy[cluster]).unwrap_or(0);
        (!is_full(target)).then_some(target)
    }

    /// The next feedback and its cluster, if any.
    pub fn collect(&mut self, now: Cycle) -> Option<(usize, Feedback)> {
        let asking = requests(self.feedbacks.len(), |c| self.feedbacks[c].is_due(now));
        let cluster = self.arbiter.take(asking)? as usize;
        self.feedbacks[cluster].take().map(|feedback| (cluster, feedback))
    }

    /// Counts the end of a task of this cluster.
    pub fn ended(&mut self, cluster: usize) {
        assert!(self.occupancy[cluster] > 0, "cluster {cluster} ends a task that it was given");
        self.occupancy[cluster] -= 1;
        self.n_given -= 1;
    }

    /// Ends a cycle.
    pub fn end_cycle(&mut self, now: Cycle) {
        self.given.set(now, self.n_given);
    }

    /// Reports the ports.
    pub fn ports(&self, ports: &mut Ports) {
        ports.outputs("tasks", &self.tasks);
        ports.inputs("feedbacks", &self.feedbacks);
    }

    /// Reports the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("tasks_away_from_home", self.away_from_home.total());
        let most = u64::from(self.max_tasks) * self.tasks.len() as u64;
        let limit = format!("tasks at clusters: at most {} each", self.max_tasks);
        counters.held("given_task_cycles", &self.given, most, &limit);
    }

    fn release_pinned(&mut self, now: Cycle, trace: &Tracer) -> bool {
        if !self.tasks[0].has_room() {
            return false;
        }
        let task = self.pinned.take().expect("a task is pinned");
        self.send(0, task, now, trace);
        true
    }

    fn send(&mut self, cluster: usize, task: Task, now: Cycle, trace: &Tracer) {
        trace.emit(&TASK_DISPATCHED, now, &[task.packet.0, task.stage as u64, cluster as u64]);
        self.tasks[cluster].send(task);
    }
}

fn hold(task: &Task, hold: Hold, now: Cycle, trace: &Tracer) {
    trace.emit(&TASK_HELD, now, &[task.packet.0, task.stage as u64, hold as u64]);
}
