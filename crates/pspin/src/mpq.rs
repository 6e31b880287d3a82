//! Message processing queues: header before payload before completion, one queue per message.

use crate::delivery::{DropReason, EarlyPayload};
use crate::host_events::{HostEvent, Notice};
use crate::lru::PseudoLru;
use crate::protocol::{Context, Feedback, Her, Kill, Stage, Task};
use kernel::trace::{Counter, Level};
use kernel::{CounterList, Cycle};
use std::rc::Rc;

mod cells;
mod reset;
mod shares;
mod turns;
use cells::{Cells, List};
use shares::Demand;
pub use turns::Turns;
use turns::{Choice, Owner};

/// State of the message that holds a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    /// Packets wait for the first packet of their message.
    AwaitHeader,
    Header,
    HeaderRunning,
    Payload,
    PayloadDraining,
    Completion,
    CompletionRunning,
    /// The message was killed, and its running tasks end. The packet at the head is still in use or belongs to
    /// another message.
    Resetting {
        head_in_use: bool,
    },
}

/// Result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It can be queued.
    Queue,
    /// It waits and blocks all requests behind it.
    Wait,
    /// Its packet is dropped.
    Refuse(DropReason),
    /// It disappears while its packet stays in packet memory: a mistake of the RTL.
    Lose,
}

struct Queue {
    state: State,
    /// Context of the message that holds the queue, from its first packet.
    context: Option<Rc<Context>>,
    msgid: u16,
    /// Tasks sent without feedback so far.
    in_flight: u32,
    packets: List,
    /// Further packets of the message will come.
    is_receiving: bool,
    /// The last packet of the message has come. Used only with `keeps_packets`.
    has_last: bool,
    /// Cycle in which the last packet arrived.
    last_push: Cycle,
    /// Packets that have arrived, of all messages.
    received: u64,
    /// Reason why the message was killed, while it is being reset.
    reset_reason: DropReason,
}

/// Keeps packets in queues and selects the next handler. Part of [`crate::scheduler::PacketScheduler`].
///
/// A message uses queue `msgid % n_mpqs`, and its tasks carry the queue's number as `msgid`. A queue has one packet
/// descriptor of its own and can use descriptors shared by all queues.
///
/// If a context has a header handler and its network marks the first packet ([`Her::som`]), packets that arrive
/// before it wait for it or are dropped ([`crate::delivery::Delivery`]). A packet that would take the last descriptor
/// is dropped, so that the first packet always finds one. A message without a packet for longer than its context's
/// timeout is killed once it is the pseudo-LRU candidate among messages being received.
///
/// Timing:   a request accepted in cycle t, or feedback in cycle t, can be granted in t + 1; the task is at the
///           output from t + 2 on. One task, one request and one feedback per cycle. A message whose last packet was
///           accepted in t, with a timeout of n, is killed in t + n + 1 at the earliest, unless a request is accepted
///           in that cycle.
/// Fairness: [`Turns`] over the queues with a task. A choice is kept while the output is occupied, so a queue that
///           requests meanwhile counts only from the next choice on.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv`, `fifo_engine.sv`; Di Girolamo et al., ISCA 2021, III-B3 and III-D, for
///           what the RTL lacks: messages that stop arriving, header first.
/// Mistake:  `rtl_mistakes.reused_queues_keep_packets`: packets behind the last one of a message extend the message, which ends with the
///           last packet in the queue. Packets that come later stay in the queue until a packet starts the next message.
/// Differs:  without that mistake, packets behind the last one of a message wait in the queue. When that message has ended, they start the
///           next one, with their own context. While a message is open, packets of other messages with the same queue count as its own, as
///           in the RTL. A message whose last packet was dropped ends with the previous packet.
pub struct MpqEngine {
    queues: Vec<Queue>,
    cells: Cells,
    /// LRU over the queues whose messages are being received and have a timeout.
    lru: PseudoLru,
    /// Queues with a task to send.
    turns: Turns,
    /// Mistake: see [`crate::params::RtlMistakes::reused_queues_keep_packets`].
    keeps_packets: bool,
    /// With `keeps_packets`: the queue whose message ended in this cycle.
    just_ended: Option<usize>,
    output: Option<Task>,
    /// Shared descriptors in use.
    shared: Level,
    hers: Counter,
    /// Counters by [`Stage`].
    tasks: [Counter; 3],
    timeouts: Counter,
    kills: Counter,
    evictions: Counter,
}

impl MpqEngine {
    /// Creates `n_mpqs` queues, a power of two, that are served in `turns`, and `shared_cells` descriptors shared by all.
    pub fn new(n_mpqs: u32, shared_cells: u32, turns: Turns, keeps_packets: bool) -> Self {
        assert!(n_mpqs.is_power_of_two(), "a message finds its queue by the low bits of its identity");
        let queue = || Queue {
            state: State::Free,
            context: None,
            msgid: 0,
            in_flight: 0,
            packets: List::EMPTY,
            is_receiving: false,
            has_last: false,
            last_push: 0,
            received: 0,
            reset_reason: DropReason::MessageTimeout,
        };
        MpqEngine {
            queues: (0..n_mpqs).map(|_| queue()).collect(),
            cells: Cells::new(n_mpqs, shared_cells),
            lru: PseudoLru::new(n_mpqs as usize),
            turns,
            keeps_packets,
            just_ended: None,
            output: None,
            shared: Level::default(),
            hers: Counter::default(),
            tasks: [Counter::default(); 3],
            timeouts: Counter::default(),
            kills: Counter::default(),
            evictions: Counter::default(),
        }
    }

    /// Begins a cycle.
    pub fn begin_cycle(&mut self, now: Cycle) {
        self.cells.begin_cycle();
        self.turns.begin_cycle(now);
        self.just_ended = None;
    }

    /// Ends a cycle.
    pub fn end_cycle(&mut self, now: Cycle) {
        let [_, in_use] = self.cells.shared();
        self.shared.set(now, in_use);
    }

    fn queue_of(&self, msgid: u16) -> usize {
        usize::from(msgid) & (self.queues.len() - 1)
    }

    /// Returns true if another request for this message's queue would find a descriptor.
    pub fn has_room(&self, msgid: u16) -> bool {
        self.cells.room(self.queue_of(msgid)) > 0
    }

    /// Returns what can be done with a request now.
    pub fn admission(&self, her: &Her) -> Admission {
        let q = self.queue_of(her.msgid);
        let room = self.cells.room(q);
        if !self.is_early(q, her) {
            return if room > 0 { Admission::Queue } else { Admission::Wait };
        }
        let delivery = &self.queues[q].context.as_ref().unwrap_or(&her.context).delivery;
        let waiting = self.cells.iter(&self.queues[q].packets).take(delivery.early_packets as usize).count();
        let may_wait = delivery.early_payload == EarlyPayload::Buffer && waiting < delivery.early_packets as usize;
        // The last descriptor is reserved for the first packet, which all others wait for.
        if may_wait && room > 1 { Admission::Queue } else { Admission::Refuse(DropReason::BeforeHeader) }
    }

    /// Returns true if the first packet of this packet's message has not arrived.
    fn is_early(&self, q: usize, her: &Her) -> bool {
        let queue = &self.queues[q];
        match queue.state {
            State::Free => her.is_late_in_message() && her.context.header.addr != 0,
            State::AwaitHeader => her.is_late_in_message(),
            _ => false,
        }
    }

    /// Queues a packet, in the queue's own descriptor if it is free.
    pub fn push(&mut self, her: Her, now: Cycle) {
        let q = self.queue_of(her.msgid);
        let (eom, early) = (her.eom, self.is_early(q, &her));
        let queue = &mut self.queues[q];
        let first = her.first();
        self.cells.push(q, &mut queue.packets, her);
        queue.last_push = now;
        queue.received += 1;
        self.hers.add(1);
        match queue.state {
            // The RTL counts the packet for the message that has just ended.
            State::Free if self.just_ended == Some(q) => {}
            State::Free if self.keeps_packets => self.start(q, Some(first)),
            State::Free => self.start_message(q),
            State::AwaitHeader if !early => self.start_message(q),
            _ => queue.is_receiving &= !eom || early,
        }
        let queue = &mut self.queues[q];
        queue.has_last |= eom && queue.state != State::Free;
        self.lru.touch(q);
        self.update(q);
    }

    /// Counts a packet that leaves without having been queued.
    pub fn count_arrival(&mut self, her: &Her) {
        let q = self.queue_of(her.msgid);
        self.queues[q].received += 1;
    }

    /// Counts a packet that arrived before the first of its message and was refused.
    pub fn refuse(&mut self, her: &Her) {
        self.count_arrival(her);
        let q = self.queue_of(her.msgid);
        if her.eom {
            self.cells.end(&self.queues[q].packets);
        }
    }

    /// Processes the end of a task. Returns the notice for the host, if any.
    pub fn feedback(&mut self, feedback: &Feedback) -> Option<Notice> {
        let q = self.queue_of(feedback.msgid);
        let queue = &mut self.queues[q];
        assert!(queue.in_flight > 0, "feedback of message {} belongs to a task", feedback.msgid);
        queue.in_flight -= 1;
        queue.context.iter().for_each(|context| self.turns.ended(context.tenant));
        let ended = match queue.state {
            State::HeaderRunning => {
                queue.state = State::Payload;
                false
            }
            State::PayloadDraining if queue.in_flight == 0 && queue.has_completion() => {
                queue.state = State::Completion;
                false
            }
            State::PayloadDraining => queue.in_flight == 0,
            State::CompletionRunning => true,
            State::Resetting { head_in_use } if queue.in_flight == 0 => {
                self.reset_ended(q, head_in_use);
                return None;
            }
            _ => false,
        };
        let done = HostEvent::MessageDone { msgid: queue.msgid };
        let notice = queue.context.as_ref().filter(|_| ended).map(|context| context.notice(done));
        if ended {
            self.end_message(q);
        }
        self.update(q);
        notice
    }

    /// Puts the next task on the output if it is free. Returns true if anything changed.
    pub fn arbitrate(&mut self) -> bool {
        let MpqEngine { turns, queues, cells, output, .. } = self;
        let bytes = |q: usize| cells.head(&queues[q].packets).map_or(0, |her| her.size);
        let q = match turns.choose(output.is_none(), bytes) {
            Choice::Nothing => return false,
            Choice::Kept => return true,
            Choice::Queue(q) => q,
        };
        let task = self.send(q);
        self.tasks[task.stage as usize].add(1);
        self.output = Some(task);
        self.update(q);
        true
    }

    /// The next cycle in which the policy must be asked again.
    pub fn asks_again(&self) -> Option<Cycle> {
        self.turns.asks_again()
    }

    /// The task at the output.
    pub fn task(&self) -> Option<&Task> {
        self.output.as_ref()
    }

    /// Removes the task from the output.
    pub fn take_task(&mut self) -> Option<Task> {
        self.output.take()
    }

    /// Reports the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("hers", self.hers.total());
        counters.add("header_tasks", self.tasks[Stage::Header as usize].total());
        counters.add("payload_tasks", self.tasks[Stage::Payload as usize].total());
        counters.add("completion_tasks", self.tasks[Stage::Completion as usize].total());
        // A level, not a total: packets held at this moment; 0 (not shown) once all have left.
        counters.add("packets_held", self.cells.in_use());
        let [all, _] = self.cells.shared();
        let limit = "message queues: the packet descriptors that they share";
        counters.held("shared_descriptor_cycles", &self.shared, all, limit);
        counters.add("timeouts", self.timeouts.total());
        counters.add("kills", self.kills.total());
        counters.add("evictions", self.evictions.total());
        let (contended_cycles, jain_millionths) = self.turns.shares().fairness();
        counters.add("contended_cycles", contended_cycles);
        counters.add("jain_millionths", jain_millionths);
    }

    /// The message of the queue has ended. The queue becomes free or gets its next message.
    fn end_message(&mut self, q: usize) {
        if self.keeps_packets {
            self.start(q, None);
            self.just_ended = Some(q);
        } else {
            self.start_message(q);
        }
    }

    /// Gives the queue to the message of its head packet, if any.
    fn start_message(&mut self, q: usize) {
        let head = self.cells.head(&self.queues[q].packets).map(Her::first);
        self.start(q, head);
    }

    /// Gives the queue to the message of the packet `first`; without one, the queue is free.
    fn start(&mut self, q: usize, first: Option<First>) {
        let queue = &mut self.queues[q];
        let is_early = first.as_ref().is_some_and(|first| first.is_late);
        queue.msgid = first.as_ref().map_or(0, |first| first.msgid);
        queue.context = first.map(|first| first.context);
        queue.has_last = false;
        queue.state = match &queue.context {
            None => State::Free,
            Some(context) if context.header.addr == 0 => State::Payload,
            Some(_) if is_early && !self.cells.move_to_front(&mut queue.packets, |her| !her.is_late_in_message()) => {
                State::AwaitHeader
            }
            Some(_) => State::Header,
        };
        // A message whose first packet is missing can time out even if its last packet is here.
        let is_complete = queue.state != State::AwaitHeader && self.cells.iter(&queue.packets).any(|her| her.eom);
        queue.is_receiving = queue.state != State::Free && !queue.packets.is_empty() && !is_complete;
        if queue.state == State::AwaitHeader {
            self.drop_what_may_not_wait(q);
        }
    }

    /// Creates the task that queue `q` has to send, and advances the queue.
    fn send(&mut self, q: usize) -> Task {
        let queue = &mut self.queues[q];
        let her = self.cells.head(&queue.packets).expect("a queue with a task has a packet");
        let context = queue.context.clone().expect("a queue with a task has a context");
        let is_last = if self.keeps_packets { queue.has_last && queue.packets.is_single() } else { her.eom };
        let last_of_two = is_last && queue.has_completion();
        let (stage, handler, pops, next) = match queue.state {
            State::Header => (Stage::Header, context.header, false, State::HeaderRunning),
            // The last packet is kept for the completion handler.
            State::Payload if last_of_two => (Stage::Payload, context.payload, false, State::PayloadDraining),
            State::Payload if is_last => (Stage::Payload, context.payload, true, State::PayloadDraining),
            State::Payload => (Stage::Payload, context.payload, true, State::Payload),
            State::Completion => (Stage::Completion, context.completion, true, State::CompletionRunning),
            other => unreachable!("a queue in state {other:?} has no task"),
        };
        let task = Task {
            packet: her.packet,
            taken: her.taken,
            stage,
            msgid: q as u16,
            handler,
            context,
            pkt_addr: her.addr,
            pkt_size: her.xfer_size,
            l2_size: her.size,
            trigger_feedback: pops,
        };
        queue.state = next;
        queue.in_flight += 1;
        if pops {
            self.cells.pop(&mut queue.packets);
        }
        task
    }

    /// Tells the arbiter whether queue `q` has a task to send, and the LRU whether it can time out.
    fn update(&mut self, q: usize) {
        let queue = &self.queues[q];
        let ready = match queue.state {
            State::Header | State::Completion => true,
            State::Payload => !queue.packets.is_empty(),
            _ => false,
        };
        let owner = queue.context.as_ref().map_or(Owner::default(), |context| Owner::from(&**context));
        let demand = Demand { is_queued: !queue.packets.is_empty(), in_flight: queue.in_flight };
        self.turns.set(q, owner, ready, demand);
        let has_threshold = queue.context.as_ref().is_some_and(|context| context.delivery.timeout_cycles > 0);
        self.lru.set_active(q, queue.is_receiving && has_threshold);
    }
}

impl Queue {
    fn has_completion(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.completion.addr != 0)
    }
}

/// Properties that a message takes from its first packet.
struct First {
    msgid: u16,
    context: Rc<Context>,
    is_late: bool,
}

impl Her {
    fn first(&self) -> First {
        First { msgid: self.msgid, context: self.context.clone(), is_late: self.is_late_in_message() }
    }

    /// Counts another packet that the network marks as the first of the message.
    fn is_late_in_message(&self) -> bool {
        self.som == Some(false)
    }
}
