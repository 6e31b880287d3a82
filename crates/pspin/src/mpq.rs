//! Message processing queues: header before payloads before completion, one queue a message.

use crate::arbiter::{BitSet, WideTree};
use crate::protocol::{Context, Feedback, Her, Stage, Task};
use kernel::CounterList;
use kernel::trace::Counter;
use std::rc::Rc;

/// Where the message that holds a queue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    Header,
    HeaderRunning,
    Payload,
    PayloadDraining,
    Completion,
    CompletionRunning,
}

/// No cell.
const NONE: u32 = u32::MAX;

/// A packet descriptor and the one behind it in its queue.
#[derive(Clone)]
struct Cell {
    her: Option<Her>,
    next: u32,
}

struct Queue {
    state: State,
    /// Of the message that holds the queue, from its first packet.
    context: Option<Rc<Context>>,
    /// Tasks sent whose feedback is not here.
    in_flight: u32,
    head: u32,
    last: u32,
}

/// Keeps packets in queues and says which handler may run next. Part of [`crate::scheduler::PacketScheduler`].
///
/// A message uses queue `msgid % n_mpqs`, and its tasks carry the queue's number as their `msgid`. A queue holds one
/// packet in a descriptor of its own and more in descriptors that all queues share.
///
/// Timing:   a request taken in cycle t, or feedback in cycle t, can be granted in t + 1; the task is at the output
///           from t + 2 on. One task, one request and one feedback a cycle.
/// Fairness: [`WideTree`] over the queues with something to run; a choice is kept while the output is taken, so that a
///           queue that asks meanwhile counts only from the next choice on.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv`, `fifo_engine.sv`.
/// Differs:  packets behind the last one of a message wait in the queue and start the next message, with their own
///           context, when the one before has ended. In the RTL they extend the message, or stay behind for ever.
///           While a message is open, packets of other messages with the same queue count as its own, as in the RTL.
pub struct MpqEngine {
    queues: Vec<Queue>,
    /// One for each queue, then the shared ones.
    cells: Vec<Cell>,
    /// Shared cells that are free.
    free: Vec<u32>,
    /// Queues that have a task to send.
    schedulable: BitSet,
    arbiter: WideTree,
    /// What `schedulable` was when a choice was made while the output was taken.
    locked: BitSet,
    is_locked: bool,
    output: Option<Task>,
    hers: Counter,
    /// By [`Stage`].
    tasks: [Counter; 3],
    cells_in_use: u64,
}

impl MpqEngine {
    /// `n_mpqs` queues, a power of two, and `shared_cells` descriptors for all of them.
    pub fn new(n_mpqs: u32, shared_cells: u32) -> Self {
        assert!(n_mpqs.is_power_of_two(), "a message finds its queue by the low bits of its identity");
        let queue = || Queue { state: State::Free, context: None, in_flight: 0, head: NONE, last: NONE };
        MpqEngine {
            queues: (0..n_mpqs).map(|_| queue()).collect(),
            cells: vec![Cell { her: None, next: NONE }; (n_mpqs + shared_cells) as usize],
            free: (n_mpqs..n_mpqs + shared_cells).rev().collect(),
            schedulable: BitSet::new(n_mpqs as usize),
            arbiter: WideTree::default(),
            locked: BitSet::new(n_mpqs as usize),
            is_locked: false,
            output: None,
            hers: Counter::default(),
            tasks: [Counter::default(); 3],
            cells_in_use: 0,
        }
    }

    fn queue_of(&self, msgid: u16) -> usize {
        usize::from(msgid) & (self.queues.len() - 1)
    }

    /// Whether a packet of this message finds a descriptor.
    pub fn has_room(&self, msgid: u16) -> bool {
        !self.free.is_empty() || self.cells[self.queue_of(msgid)].her.is_none()
    }

    /// Queues a packet, in the queue's own descriptor if that is free.
    pub fn push(&mut self, her: Her) {
        let q = self.queue_of(her.msgid);
        let cell = match self.cells[q].her {
            None => q as u32,
            Some(_) => self.free.pop().expect("whoever pushes has asked for room"),
        };
        self.cells[cell as usize] = Cell { her: Some(her), next: NONE };
        match self.queues[q].head {
            NONE => self.queues[q].head = cell,
            _ => self.cells[self.queues[q].last as usize].next = cell,
        }
        self.queues[q].last = cell;
        self.hers.add(1);
        self.cells_in_use += 1;
        if self.queues[q].state == State::Free {
            self.start_message(q);
        }
        self.update(q);
    }

    /// Takes the end of a task.
    pub fn feedback(&mut self, feedback: &Feedback) {
        let q = self.queue_of(feedback.msgid);
        let queue = &mut self.queues[q];
        assert!(queue.in_flight > 0, "feedback of message {} belongs to a task", feedback.msgid);
        queue.in_flight -= 1;
        match queue.state {
            State::HeaderRunning => queue.state = State::Payload,
            State::PayloadDraining if queue.in_flight == 0 => match queue.has_completion() {
                true => queue.state = State::Completion,
                false => self.start_message(q),
            },
            State::CompletionRunning => self.start_message(q),
            _ => {}
        }
        self.update(q);
    }

    /// Puts the next task on the output if that is free. Returns whether anything changed.
    pub fn arbitrate(&mut self) -> bool {
        let requests = if self.is_locked { &self.locked } else { &self.schedulable };
        let Some(q) = self.arbiter.choose(requests) else { return false };
        if self.output.is_none() {
            self.arbiter.grant(requests);
            self.is_locked = false;
        } else if self.is_locked {
            return false;
        } else {
            self.locked.copy_from(&self.schedulable);
            self.is_locked = true;
            return true;
        }
        let task = self.send(q);
        self.tasks[task.stage as usize].add(1);
        self.output = Some(task);
        self.update(q);
        true
    }

    /// The task that waits at the output.
    pub fn task(&self) -> Option<&Task> {
        self.output.as_ref()
    }

    /// Takes it.
    pub fn take_task(&mut self) -> Option<Task> {
        self.output.take()
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("hers", self.hers.total());
        counters.add("header_tasks", self.tasks[Stage::Header as usize].total());
        counters.add("payload_tasks", self.tasks[Stage::Payload as usize].total());
        counters.add("completion_tasks", self.tasks[Stage::Completion as usize].total());
        counters.add("packets_held", self.cells_in_use);
    }

    /// Gives the queue to the message of its head packet, if there is one.
    fn start_message(&mut self, q: usize) {
        let queue = &mut self.queues[q];
        queue.context = head(&self.cells, queue).map(|her| her.context.clone());
        queue.state = match &queue.context {
            None => State::Free,
            Some(context) if context.header.addr != 0 => State::Header,
            Some(_) => State::Payload,
        };
    }

    /// Makes the task that queue `q` has to send, and moves the queue on.
    fn send(&mut self, q: usize) -> Task {
        let queue = &mut self.queues[q];
        let her = head(&self.cells, queue).expect("a queue with a task has a packet");
        let context = queue.context.clone().expect("a queue with a task has a context");
        let last_of_two = her.eom && queue.has_completion();
        let (stage, handler, pops, next) = match queue.state {
            State::Header => (Stage::Header, context.header, false, State::HeaderRunning),
            // The last packet stays for the completion handler.
            State::Payload if last_of_two => (Stage::Payload, context.payload, false, State::PayloadDraining),
            State::Payload if her.eom => (Stage::Payload, context.payload, true, State::PayloadDraining),
            State::Payload => (Stage::Payload, context.payload, true, State::Payload),
            State::Completion => (Stage::Completion, context.completion, true, State::CompletionRunning),
            other => unreachable!("a queue in state {other:?} has no task"),
        };
        let task = Task {
            packet: her.packet,
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
            self.pop(q);
        }
        task
    }

    fn pop(&mut self, q: usize) {
        let cell = self.queues[q].head;
        let Cell { her, next } = &mut self.cells[cell as usize];
        *her = None;
        self.queues[q].head = *next;
        self.cells_in_use -= 1;
        if cell as usize >= self.queues.len() {
            self.free.push(cell);
        }
    }

    /// Lets the arbiter know whether queue `q` has a task to send.
    fn update(&mut self, q: usize) {
        let queue = &self.queues[q];
        let ready = match queue.state {
            State::Header | State::Completion => true,
            State::Payload => queue.head != NONE,
            _ => false,
        };
        self.schedulable.set(q, ready);
    }
}

impl Queue {
    fn has_completion(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.completion.addr != 0)
    }
}

/// The packet at the head of a queue.
fn head<'a>(cells: &'a [Cell], queue: &Queue) -> Option<&'a Her> {
    cells.get(queue.head as usize)?.her.as_ref()
}
