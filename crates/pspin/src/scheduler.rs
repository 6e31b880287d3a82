//! Packet scheduler: message queues and task dispatcher, which pass a task on within one cycle.

use crate::delivery::DropReason;
use crate::dispatcher::Dispatcher;
use crate::events::{HER_SENT, REQUEST_HELD};
use crate::host_events::Notice;
use crate::mpq::{Admission, MpqEngine, Turns};
use crate::params::{PspinParams, RtlMistakes};
use crate::policy::TenantPolicy;
use crate::protocol::{Feedback, Her, Release, Request, Task, TenantsServed};
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

mod deferred;
use deferred::Deferred;

/// The ports of a [`PacketScheduler`].
pub struct SchedulerPorts {
    /// Handler execution requests from the inbound engine; capacity 2, latency 1.
    pub requests: Rx<Request>,
    /// Number of tenants with rules; from outside the simulation.
    pub tenants: Rx<TenantsServed>,
    /// To each cluster scheduler; capacity 2, latency 1.
    pub tasks: Vec<Tx<Task>>,
    /// From each cluster; latency 1.
    pub feedbacks: Vec<Rx<Feedback>>,
    /// Packets that can be freed, to the inbound engine; capacity 2, latency 1.
    pub released: Tx<Release>,
    /// Notices for the host, up to three per cycle; the receiver always accepts them.
    pub notices: Tx<Notice>,
}

/// Origin of the request that is considered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Port,
    /// Deferred request of this tenant.
    Deferred(u32),
}

/// [`MpqEngine`] and [`Dispatcher`] in one component.
///
/// Ports:    `requests` and `feedbacks[c]` in, `tasks[c]` and `released` out; each up to 1 item per cycle, the
///           feedbacks 1 in total. A request whose queue is full blocks all requests behind it; with several tenants
///           that take turns, only those of its own tenant. Dropped packets leave one per cycle, alternating with
///           packets whose tasks end.
/// Timing:   request seen in cycle t: a cluster sees the task in t + 3. Feedback seen in cycle f: a cluster sees a
///           task that waited for it in f + 3. The inbound engine sees the feedback in f + 1.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv` and `scheduler.sv`.
/// Mistake:  `rtl_mistakes.requests_get_lost`: the inbound engine checks the queue of the previous request. If that
///           queue has room, the engine sends the next request, which is lost if its own queue is full. Otherwise it sends
///           nothing.
pub struct PacketScheduler {
    requests: Rx<Request>,
    tenants: Rx<TenantsServed>,
    released: Tx<Release>,
    notices: Tx<Notice>,
    tenants_take_turns: bool,
    requests_get_lost: bool,
    /// Message of the last request accepted from the port.
    last_msgid: Option<u16>,
    /// Several tenants have rules and take turns.
    is_shared: bool,
    deferred: Deferred,
    /// The last request served was a deferred one.
    ports_turn: bool,
    /// Requests removed from the deferred ones; their packets have to leave packet memory.
    dropped_requests: VecDeque<(Her, DropReason)>,
    engine: MpqEngine,
    dispatcher: Dispatcher,
    /// Cycle since which the request at the head has waited.
    stalled_since: Option<Cycle>,
    her_stall_cycles: Counter,
    n_deferred: Counter,
    n_lost: Counter,
    /// The last freed packet was of a finished task, so a dropped packet goes first.
    doomed_turn: bool,
    trace: Tracer,
}

impl PacketScheduler {
    /// Creates a scheduler for `tasks.len()` clusters. The policy `own`, if any, replaces `sharing.schedule`.
    pub fn new(params: &PspinParams, own: Option<Box<dyn TenantPolicy>>, ports: SchedulerPorts, trace: Tracer) -> Self {
        let tenants_take_turns = params.sharing.turns;
        let schedule = params.sharing.schedule;
        let RtlMistakes { requests_get_lost, reused_queues_keep_packets, .. } = params.rtl_mistakes;
        let params = &params.scheduler;
        let capacity = params.max_tasks_per_cluster * ports.tasks.len() as u32;
        let turns = Turns::new(params.n_mpqs as usize, tenants_take_turns, schedule, own, capacity);
        PacketScheduler {
            requests: ports.requests,
            tenants: ports.tenants,
            released: ports.released,
            notices: ports.notices,
            tenants_take_turns,
            requests_get_lost,
            last_msgid: None,
            is_shared: false,
            deferred: Deferred::default(),
            ports_turn: false,
            dropped_requests: VecDeque::new(),
            engine: MpqEngine::new(params.n_mpqs, params.shared_cells, turns, reused_queues_keep_packets),
            dispatcher: Dispatcher::new(params.max_tasks_per_cluster, ports.tasks, ports.feedbacks),
            stalled_since: None,
            her_stall_cycles: Counter::default(),
            n_deferred: Counter::default(),
            n_lost: Counter::default(),
            doomed_turn: false,
            trace,
        }
    }

    /// Returns the next request, alternating between the port and the deferred ones, and what can be done with it.
    fn next(&mut self, now: Cycle, is_in_the_way: bool) -> Option<(From, Admission)> {
        let at_port = match self.requests.peek().as_deref() {
            Some(Request::Her(her)) => Some(self.admission(her)),
            Some(Request::Kill(_) | Request::End(_)) => Some(Admission::Queue),
            None => None,
        };
        let at_port = at_port.filter(|_| !is_in_the_way);
        let ports_turn =
            std::mem::take(&mut self.ports_turn) && at_port.is_some_and(|admission| admission != Admission::Wait);
        if !ports_turn && let Some((tenant, admission)) = self.deferred.next(&self.engine) {
            self.ports_turn = true;
            at_port.inspect(|_| _ = self.stalled_since.get_or_insert(now));
            return Some((From::Deferred(tenant), admission));
        }
        let admission = at_port?;
        if self.stalled_since.is_none()
            && admission == Admission::Wait
            && let Some(Request::Her(her)) = self.requests.peek().as_deref()
        {
            self.trace.emit(&REQUEST_HELD, now, &[her.packet.0]);
        }
        let since = *self.stalled_since.get_or_insert(now);
        if admission != Admission::Wait {
            self.her_stall_cycles.add(now - since);
            self.stalled_since = None;
        }
        Some((From::Port, admission))
    }

    /// Returns what can be done with the request at the port.
    fn admission(&self, her: &Her) -> Admission {
        let admission = self.engine.admission(her);
        if !self.requests_get_lost {
            return admission;
        }
        match self.last_msgid {
            Some(last) if !self.engine.has_room(last) => Admission::Wait,
            _ if admission == Admission::Wait => Admission::Lose,
            _ => admission,
        }
    }

    /// Returns true if the request at the port must be deferred: it would block other tenants, or overtake its own
    /// tenant's.
    fn is_in_the_way(&self) -> bool {
        match self.requests.peek().as_deref() {
            Some(Request::Her(her)) if self.deferred.has(her.context.tenant) => true,
            Some(Request::Her(her)) => self.is_shared && self.engine.admission(her) == Admission::Wait,
            _ => false,
        }
    }

    fn defer(&mut self, now: Cycle) {
        if let Some(Request::Her(mut her)) = self.requests.take() {
            self.n_deferred.add(1);
            self.note_taken(&mut her, now);
            self.deferred.push(self.stalled_since.take().unwrap_or(now), her);
        }
    }

    /// Returns true if there was feedback.
    fn collect_feedback(&mut self, now: Cycle) -> bool {
        if !self.released.has_room() {
            return false;
        }
        let Some((cluster, feedback)) = self.dispatcher.collect(now) else { return false };
        if feedback.trigger_feedback {
            let Feedback { packet, taken, pkt_addr, .. } = feedback;
            self.released.send(Release { packet, taken, pkt_addr, dropped: None });
            self.doomed_turn = true;
        }
        if let Some(notice) = self.engine.feedback(&feedback) {
            self.notices.send(notice);
        }
        self.dispatcher.ended(cluster);
        true
    }

    fn drop_packet(&self, her: &Her, reason: DropReason) {
        let Her { packet, taken, addr: pkt_addr, .. } = *her;
        self.released.send(Release { packet, taken, pkt_addr, dropped: Some(reason) });
    }

    /// Frees one packet per cycle: its tasks have ended, it was dropped, or its request was `refused`.
    fn release(&mut self, now: Cycle, refused: Option<(From, DropReason)>) -> bool {
        let may_drop = self.engine.has_doomed() || !self.dropped_requests.is_empty() || refused.is_some();
        let is_turn = std::mem::take(&mut self.doomed_turn) && may_drop;
        if !is_turn && self.collect_feedback(now) {
            return true;
        }
        if !may_drop || !self.released.has_room() {
            return false;
        }
        if let Some((her, reason)) = self.engine.take_doomed().or_else(|| self.dropped_requests.pop_front()) {
            self.drop_packet(&her, reason);
        } else if let Some((from, reason)) = refused
            && let Request::Her(her) = self.take_request(from, now)
        {
            self.engine.refuse(&her);
            self.drop_packet(&her, reason);
        }
        true
    }

    fn note_taken(&self, her: &mut Her, now: Cycle) {
        her.taken = now;
        self.trace.emit(&HER_SENT, now, &[her.packet.0, u64::from(her.eom)]);
    }

    fn take_request(&mut self, from: From, now: Cycle) -> Request {
        match from {
            From::Port => {
                let mut request = self.requests.take().expect("a request waits");
                if let Request::Her(her) = &mut request {
                    self.last_msgid = Some(her.msgid);
                    self.note_taken(her, now);
                }
                request
            }
            From::Deferred(tenant) => {
                let (since, her) = self.deferred.take(tenant).expect("a request was deferred");
                self.her_stall_cycles.add(now - since);
                Request::Her(her)
            }
        }
    }

    fn handle_request(&mut self, from: From, now: Cycle) {
        match self.take_request(from, now) {
            Request::Her(her) => self.engine.push(her, now),
            Request::Kill(kill) => {
                let deferred = self.deferred.take_message(kill.msgid);
                let mut notice = self.engine.kill(kill);
                notice.event.add_dropped(deferred.len() as u32);
                deferred.iter().for_each(|her| self.engine.count_arrival(her));
                self.dropped_requests.extend(deferred.into_iter().map(|her| (her, kill.reason)));
                self.notices.send(notice);
            }
            Request::End(msgid) if self.deferred.end(msgid) => {}
            Request::End(msgid) => self.engine.end(msgid).into_iter().for_each(|notice| self.notices.send(notice)),
        }
    }
}

impl Component for PacketScheduler {
    fn tick(&mut self, now: Cycle) -> Activity {
        // All registers change together: this decision must not see the changes below.
        while let Some(TenantsServed(n)) = self.tenants.take() {
            self.is_shared = self.tenants_take_turns && n > 1;
        }
        self.engine.begin_cycle(now);
        let is_in_the_way = self.is_in_the_way();
        let next = self.next(now, is_in_the_way);
        let mut changed = self.dispatcher.dispatch(&mut self.engine, now, &self.trace);
        changed |= self.engine.arbitrate();
        let refused = next.and_then(|(from, admission)| match admission {
            Admission::Refuse(reason) => Some((from, reason)),
            _ => None,
        });
        changed |= self.release(now, refused);
        // The turn can change in the next cycle, whether or not the packet could leave.
        changed |= matches!(refused, Some((From::Deferred(_), _)));
        if is_in_the_way {
            self.defer(now);
            changed = true;
        }
        match next {
            Some((from, Admission::Queue)) => self.handle_request(from, now),
            Some((from, Admission::Lose)) => {
                self.take_request(from, now);
                self.n_lost.add(1);
            }
            _ => {}
        }
        changed |= matches!(next, Some((_, Admission::Queue | Admission::Lose)));
        if let Some(notice) = self.engine.give_up_stale(now) {
            self.notices.send(notice);
            changed = true;
        }
        self.engine.end_cycle(now);
        self.dispatcher.end_cycle(now);
        let next = [self.engine.next_timeout(), self.engine.asks_again()].into_iter().flatten().min();
        match (changed, next) {
            (true, _) => Activity::Busy,
            (false, Some(cycle)) => Activity::Until(cycle),
            (false, None) => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("requests", &self.requests);
        ports.input("tenants", &self.tenants);
        ports.output("released", &self.released);
        ports.output("notices", &self.notices);
        self.dispatcher.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("her_stall_cycles", self.her_stall_cycles.total());
        counters.add("hers_deferred", self.n_deferred.total());
        counters.add("hers_lost", self.n_lost.total());
        self.engine.counters(counters);
        self.dispatcher.counters(counters);
    }
}

#[cfg(test)]
mod tests;
