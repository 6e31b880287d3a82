//! Packet scheduler: message queues and task dispatcher, which hand over a task within a cycle.

use crate::dispatcher::Dispatcher;
use crate::host_events::Notice;
use crate::mpq::MpqEngine;
use crate::params::SchedulerParams;
use crate::protocol::{Feedback, Her, Task};
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// The ports of a [`PacketScheduler`].
pub struct SchedulerPorts {
    /// Handler execution requests from the inbound engine; capacity 2, latency 1.
    pub hers: Rx<Her>,
    /// To each cluster scheduler; capacity 2, latency 1.
    pub tasks: Vec<Tx<Task>>,
    /// From each cluster; latency 1.
    pub feedbacks: Vec<Rx<Feedback>>,
    /// Ends of tasks that free a packet, to the inbound engine; capacity 2, latency 1.
    pub released: Tx<Feedback>,
    /// What the host is told; room for two a cycle, which whoever receives them takes.
    pub notices: Tx<Notice>,
}

/// [`MpqEngine`] and [`Dispatcher`] in one component.
///
/// Ports:    `hers` and `feedbacks[c]` in, `tasks[c]` and `released` out; up to 1 item a cycle each, of the feedbacks 1
///           in all. A request whose queue is full waits, and all behind it.
/// Timing:   request seen at t: task seen by a cluster at t + 3. Feedback of a cluster seen at f: a task that
///           waited for it is seen by a cluster at f + 3. The inbound engine sees it at f + 1, and knows that it is from f.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv` and `scheduler.sv`.
/// Differs:  in the RTL the inbound engine may see that a queue has room when it is another queue's request that waits,
///           and lose a request or hold it back.
pub struct PacketScheduler {
    hers: Rx<Her>,
    released: Tx<Feedback>,
    notices: Tx<Notice>,
    engine: MpqEngine,
    dispatcher: Dispatcher,
    /// Since when the request at the head has been waiting.
    stalled_since: Option<Cycle>,
    her_stall_cycles: Counter,
    trace: Tracer,
}

impl PacketScheduler {
    /// A scheduler for as many clusters as there are `tasks` ports.
    pub fn new(params: &SchedulerParams, ports: SchedulerPorts, trace: Tracer) -> Self {
        PacketScheduler {
            hers: ports.hers,
            released: ports.released,
            notices: ports.notices,
            engine: MpqEngine::new(params.n_mpqs, params.shared_cells),
            dispatcher: Dispatcher::new(params.max_tasks_per_cluster, ports.tasks, ports.feedbacks),
            stalled_since: None,
            her_stall_cycles: Counter::default(),
            trace,
        }
    }

    /// Whether the request that waits finds a descriptor.
    fn her_fits(&mut self, now: Cycle) -> bool {
        let Some(fits) = self.hers.peek().map(|her| self.engine.has_room(her.msgid)) else { return false };
        let since = *self.stalled_since.get_or_insert(now);
        if fits {
            self.her_stall_cycles.add(now - since);
            self.stalled_since = None;
        }
        fits
    }

    fn collect_feedback(&mut self) -> bool {
        if !self.released.has_room() {
            return false;
        }
        let Some((cluster, feedback)) = self.dispatcher.collect() else { return false };
        if feedback.trigger_feedback {
            self.released.send(feedback);
        }
        if let Some(notice) = self.engine.feedback(&feedback) {
            self.notices.send(notice);
        }
        self.dispatcher.ended(cluster);
        true
    }
}

impl Component for PacketScheduler {
    fn tick(&mut self, now: Cycle) -> Activity {
        // All registers change together: what is decided first must not see what changes below it.
        let her_fits = self.her_fits(now);
        let mut changed = self.dispatcher.dispatch(&mut self.engine, now, &self.trace);
        changed |= self.engine.arbitrate();
        changed |= self.collect_feedback();
        if her_fits {
            self.engine.push(self.hers.take().expect("a request waits"));
            changed = true;
        }
        if changed { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("hers", &self.hers);
        ports.output("released", &self.released);
        ports.output("notices", &self.notices);
        self.dispatcher.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("her_stall_cycles", self.her_stall_cycles.total());
        self.engine.counters(counters);
        self.dispatcher.counters(counters);
    }
}

#[cfg(test)]
mod tests;
