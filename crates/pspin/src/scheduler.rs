//! Packet scheduler: message queues and task dispatcher, which hand over a task within a cycle.

use crate::delivery::DropReason;
use crate::dispatcher::Dispatcher;
use crate::host_events::Notice;
use crate::mpq::{Admission, MpqEngine};
use crate::params::SchedulerParams;
use crate::protocol::{Feedback, Her, Release, Request, Task};
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// The ports of a [`PacketScheduler`].
pub struct SchedulerPorts {
    /// Handler execution requests from the inbound engine; capacity 2, latency 1.
    pub requests: Rx<Request>,
    /// To each cluster scheduler; capacity 2, latency 1.
    pub tasks: Vec<Tx<Task>>,
    /// From each cluster; latency 1.
    pub feedbacks: Vec<Rx<Feedback>>,
    /// Packets that may leave packet memory, to the inbound engine; capacity 2, latency 1.
    pub released: Tx<Release>,
    /// What the host is told; room for three a cycle, which whoever receives them takes.
    pub notices: Tx<Notice>,
}

/// [`MpqEngine`] and [`Dispatcher`] in one component.
///
/// Ports:    `requests` and `feedbacks[c]` in, `tasks[c]` and `released` out; up to 1 item a cycle each, of the feedbacks 1
///           in all. A request whose queue is full waits, and all behind it. Packets that are given up leave one a cycle,
///           in turn with those whose tasks end.
/// Timing:   request seen at t: task seen by a cluster at t + 3. Feedback of a cluster seen at f: a task that
///           waited for it is seen by a cluster at f + 3. The inbound engine sees it at f + 1, and knows that it is from f.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv` and `scheduler.sv`.
/// Differs:  in the RTL the inbound engine may see that a queue has room when it is another queue's request that waits,
///           and lose a request or hold it back.
pub struct PacketScheduler {
    requests: Rx<Request>,
    released: Tx<Release>,
    notices: Tx<Notice>,
    engine: MpqEngine,
    dispatcher: Dispatcher,
    /// Since when the request at the head has been waiting.
    stalled_since: Option<Cycle>,
    her_stall_cycles: Counter,
    /// A task's end was the last to free a packet: one that is given up goes first.
    doomed_turn: bool,
    trace: Tracer,
}

impl PacketScheduler {
    /// A scheduler for as many clusters as there are `tasks` ports.
    pub fn new(params: &SchedulerParams, ports: SchedulerPorts, trace: Tracer) -> Self {
        PacketScheduler {
            requests: ports.requests,
            released: ports.released,
            notices: ports.notices,
            engine: MpqEngine::new(params.n_mpqs, params.shared_cells),
            dispatcher: Dispatcher::new(params.max_tasks_per_cluster, ports.tasks, ports.feedbacks),
            stalled_since: None,
            her_stall_cycles: Counter::default(),
            doomed_turn: false,
            trace,
        }
    }

    /// What may be done with the request that waits.
    fn admission(&mut self, now: Cycle) -> Option<Admission> {
        let admission = match &*self.requests.peek()? {
            Request::Her(her) => self.engine.admission(her),
            Request::Kill(_) | Request::End(_) => Admission::Queue,
        };
        let since = *self.stalled_since.get_or_insert(now);
        if admission != Admission::Wait {
            self.her_stall_cycles.add(now - since);
            self.stalled_since = None;
        }
        Some(admission)
    }

    /// Returns whether there was feedback.
    fn collect_feedback(&mut self) -> bool {
        if !self.released.has_room() {
            return false;
        }
        let Some((cluster, feedback)) = self.dispatcher.collect() else { return false };
        if feedback.trigger_feedback {
            let Feedback { packet, pkt_addr, .. } = feedback;
            self.released.send(Release { packet, pkt_addr, dropped: None });
            self.doomed_turn = true;
        }
        if let Some(notice) = self.engine.feedback(&feedback) {
            self.notices.send(notice);
        }
        self.dispatcher.ended(cluster);
        true
    }

    fn drop_packet(&self, her: &Her, reason: DropReason) {
        self.released.send(Release { packet: her.packet, pkt_addr: her.addr, dropped: Some(reason) });
    }

    /// One packet a cycle leaves packet memory: its tasks have ended, it was given up, or the request `refused` is its.
    fn release(&mut self, refused: Option<DropReason>) -> bool {
        let may_drop = self.engine.has_doomed() || refused.is_some();
        let is_turn = std::mem::take(&mut self.doomed_turn) && may_drop;
        if !is_turn && self.collect_feedback() {
            return true;
        }
        if !may_drop || !self.released.has_room() {
            return false;
        }
        match (self.engine.take_doomed(), refused) {
            (Some((her, reason)), _) => self.drop_packet(&her, reason),
            (None, Some(reason)) => {
                if let Some(Request::Her(her)) = self.requests.take() {
                    self.engine.refuse(&her);
                    self.drop_packet(&her, reason);
                }
            }
            (None, None) => {}
        }
        true
    }

    fn take_request(&mut self, now: Cycle) {
        match self.requests.take().expect("a request waits") {
            Request::Her(her) => self.engine.push(her, now),
            Request::Kill(kill) => self.notices.send(self.engine.kill(kill)),
            Request::End(msgid) => self.engine.end(msgid).into_iter().for_each(|notice| self.notices.send(notice)),
        }
    }
}

impl Component for PacketScheduler {
    fn tick(&mut self, now: Cycle) -> Activity {
        // All registers change together: what is decided first must not see what changes below it.
        let admission = self.admission(now);
        let mut changed = self.dispatcher.dispatch(&mut self.engine, now, &self.trace);
        changed |= self.engine.arbitrate();
        let refused = admission.and_then(|admission| match admission {
            Admission::Refuse(reason) => Some(reason),
            _ => None,
        });
        changed |= self.release(refused);
        if admission == Some(Admission::Queue) {
            self.take_request(now);
            changed = true;
        }
        if let Some(notice) = self.engine.give_up_stale(now) {
            self.notices.send(notice);
            changed = true;
        }
        match (changed, self.engine.next_timeout()) {
            (true, _) => Activity::Busy,
            (false, Some(cycle)) => Activity::Until(cycle),
            (false, None) => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("requests", &self.requests);
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
