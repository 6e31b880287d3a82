//! Task dispatcher: selects the cluster that runs a task.

use crate::arbiter::requests;
use crate::events::{Hold, TASK_DISPATCHED, TASK_HELD, TASK_SENT};
use crate::mpq::MpqEngine;
use crate::params::MAX_CLUSTERS;
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
    /// Tasks without feedback so far, of all clusters.
    given: Level,
}

impl Dispatcher {
    /// Creates a dispatcher with at most `max_tasks` tasks in each cluster.
    pub fn new(max_tasks: u32, tasks: Vec<Tx<Task>>, feedbacks: Vec<Rx<Feedback>>) -> Self {
        assert!(!tasks.is_empty(), "a dispatcher needs a cluster");
        assert_eq!(tasks.len(), feedbacks.len(), "each cluster takes tasks and gives feedback");
        let occupancy = vec![0; tasks.len()];
        let (arbiter, away_from_home, given) = (RoundRobinTree::default(), Counter::default(), Level::default());
        let (pinned, is_held) = (None, false);
        Dispatcher { max_tasks, tasks, feedbacks, occupancy, pinned, is_held, arbiter, away_from_home, given }
    }

    /// Sends the waiting task if possible. Returns true if anything changed.
    pub fn dispatch(&mut self, engine: &mut MpqEngine, now: Cycle, trace: &Tracer) -> bool {
        if self.pinned.is_some() {
            return self.release_pinned(now, trace);
        }
        let Some(home) = engine.task().map(|task| usize::from(task.msgid) % self.tasks.len()) else { return false };
        let takes: [bool; MAX_CLUSTERS] = std::array::from_fn(|c| self.tasks.get(c).is_some_and(Tx::has_room));
        let least = (0..self.tasks.len()).filter(|&c| takes[c]).min_by_key(|&c| self.occupancy[c]);
        let target = least.unwrap_or(0);
        if self.occupancy[target] >= self.max_tasks {
            if !std::mem::replace(&mut self.is_held, true) {
                hold(engine.task().expect("a task waits"), Hold::ClustersFull, now, trace);
            }
            return false;
        }
        self.is_held = false;
        let at_home = takes[home] && self.occupancy[home] < self.max_tasks;
        let target = if at_home { home } else { target };
        let task = engine.take_task().expect("a task waits");
        self.occupancy[target] += 1;
        self.away_from_home.add(u64::from(target != home));
        trace.emit(&TASK_SENT, now, &[task.packet.0, task.stage as u64]);
        match takes[target] {
            true => self.send(target, task, now, trace),
            false => {
                hold(&task, Hold::Channel, now, trace);
                self.pinned = Some(task);
            }
        }
        true
    }

    /// The next feedback and its cluster, if any.
    pub fn collect(&mut self) -> Option<(usize, Feedback)> {
        let asking = requests(self.feedbacks.len(), |c| self.feedbacks[c].has_item());
        let cluster = self.arbiter.take(asking)? as usize;
        self.feedbacks[cluster].take().map(|feedback| (cluster, feedback))
    }

    /// Counts the end of a task of this cluster.
    pub fn ended(&mut self, cluster: usize) {
        assert!(self.occupancy[cluster] > 0, "cluster {cluster} ends a task that it was given");
        self.occupancy[cluster] -= 1;
    }

    /// Ends a cycle.
    pub fn end_cycle(&mut self, now: Cycle) {
        self.given.set(now, self.occupancy.iter().map(|&n| u64::from(n)).sum());
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
