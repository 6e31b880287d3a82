//! The table row of each packet, from the NIC's events.

use crate::handlers::message_ids::N_IDS;
use crate::handlers::paths::{Notes, Tracker};
use crate::milestones::{Inside, Parts};
use kernel::Cycle;
use pspin::events::Event;
use pspin::protocol::CommandFault;

/// Stages of a packet: header, payload, completion.
pub const N_STAGES: usize = 3;

/// A handler that trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The cause, as in `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address that was accessed, or the instruction.
    pub value: u32,
    /// The copy of the packet in L1: address and bytes.
    pub packet: (u32, u32),
    /// Cycle of the trap.
    pub at: Cycle,
}

/// A command that a unit refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stage of the handler that issued it.
    pub stage: usize,
    /// Position of the unit: host DMA, NIC outbound, HostDirect.
    pub target: usize,
    /// Address that it would have accessed.
    pub addr: u64,
    /// Bytes that it would have moved.
    pub bytes: u64,
    /// True if the length is wrong, and not the address.
    pub is_length: bool,
    /// Cycle of the refusal.
    pub at: Cycle,
}

/// One handler's run for a packet. Times are cycles of the NIC's clock.
#[derive(Clone, Debug, Default)]
pub struct TaskRow {
    /// The message queues handed the task to the dispatcher.
    pub sent: Option<Cycle>,
    /// The dispatcher chose a cluster.
    pub dispatched: Option<Cycle>,
    /// The cluster accepted it and requested the copy to L1.
    pub accepted: Option<Cycle>,
    /// The packet was in L1.
    pub copied: Option<Cycle>,
    /// An HPU took it.
    pub assigned: Option<Cycle>,
    /// The core read the handler's address.
    pub start: Option<Cycle>,
    /// The core rang the doorbell.
    pub end: Option<Cycle>,
    /// All commands and transfers were done, and the feedback left.
    pub done: Option<Cycle>,
    /// Position of the cluster.
    pub cluster: u32,
    /// Position of the core in its cluster.
    pub hpu: u32,
    /// Instructions between start and end.
    pub instructions: u64,
    /// The trap, if the handler trapped.
    pub trap: Option<Trap>,
}

/// A packet that matched a context.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Number of the packet in the NIC.
    pub packet: u64,
    /// Notes for its path; `None` without a [`Tracker`].
    pub notes: Option<Box<Notes>>,
    /// Position of its source in the experiment; `None` if it came otherwise.
    pub source: Option<u16>,
    /// Number in its source, from 0.
    pub frame: u64,
    /// Length.
    pub bytes: u32,
    /// Position of its context.
    pub context: usize,
    /// Number of its message in its context, from 0.
    pub message: u64,
    /// Identity of the message in the NIC.
    pub msgid: u16,
    /// It is the last of its message.
    pub is_last: bool,
    /// When it arrived on the wire.
    pub arrival: Cycle,
    /// When it got room in packet memory.
    pub stored: Option<Cycle>,
    /// When the message queues had its request.
    pub her: Option<Cycle>,
    /// Cycles in which the message queues had no room for its request. Only a [`Tracker`] counts them.
    pub queues_full: Cycle,
    /// When the NIC was done with it.
    pub done: Option<Cycle>,
    /// Header, payload, completion.
    pub tasks: [TaskRow; N_STAGES],
    /// Commands by target: host DMA, NIC outbound, HostDirect.
    pub commands: [u32; 3],
    /// Number of these that move bytes to host memory.
    pub host_writes: u32,
    /// Commands with an unmapped address.
    pub faults: u32,
    /// The first one.
    pub refused: Option<Refusal>,
    /// Packets that its handlers sent.
    pub sent_packets: u32,
    /// Their bytes.
    pub sent_bytes: u64,
    /// The time at which the last one left.
    pub sent_at: Option<Cycle>,
    /// Why the NIC dropped it.
    pub dropped: Option<u32>,
    /// Cycle in which the NIC dropped it.
    pub dropped_at: Option<Cycle>,
}

kernel::words! {
    /// The fate of a packet, in the order of the table's numbers.
    pub enum Fate {
        /// No context took it.
        Ordinary = "ordinary",
        /// The NIC refused it.
        Dropped = "dropped",
        /// The run ended before it was done.
        Unfinished = "unfinished",
        /// One of its handlers trapped.
        Trapped = "trapped",
        /// Its handlers sent packets.
        Sent = "sent",
        /// Its handlers wrote to host memory.
        ToHost = "to_host",
        /// Both.
        SentAndToHost = "sent_and_to_host",
        /// None of these.
        Consumed = "consumed",
    }
}

impl Row {
    /// The fate of the packet.
    pub fn fate(&self) -> Fate {
        let is_sent = self.sent_packets > 0;
        let to_host = self.host_writes > 0;
        match () {
            _ if self.dropped.is_some() => Fate::Dropped,
            _ if self.done.is_none() => Fate::Unfinished,
            _ if self.tasks.iter().any(|task| task.trap.is_some()) => Fate::Trapped,
            _ if is_sent && to_host => Fate::SentAndToHost,
            _ if is_sent => Fate::Sent,
            _ if to_host => Fate::ToHost,
            _ => Fate::Consumed,
        }
    }

    fn task(&mut self, stage: u64) -> &mut TaskRow {
        &mut self.tasks[stage as usize]
    }

    /// The stage that issues commands: handlers of one packet run one after the other, and each waits for its commands.
    pub fn running(&self) -> usize {
        self.tasks.iter().rposition(|task| task.start.is_some()).unwrap_or(0)
    }

    /// Cycles from room in packet memory to the end, by [`Part`]; `None` if the packet is not done.
    pub fn parts(&self) -> Option<[Cycle; N_PARTS]> {
        let [header, payload, completion] = &self.tasks;
        let mut parts = Parts::from(self.stored?);
        let ends = [
            (Part::PacketMemory, Some(self.her?)),
            (Part::MessageQueue, Some(payload.sent?)),
            (Part::Cluster, Some(payload.accepted?)),
            (Part::Copy, payload.copied),
            // Without a handler nothing runs between assignment and feedback.
            (Part::Hpu, payload.start.or(Some(payload.assigned?))),
            (Part::Handler, payload.end),
            (Part::Commands, Some(payload.done?)),
            (Part::Completion, completion.done),
            (Part::Feedback, Some(self.done?)),
        ];
        for (part, at) in ends {
            parts.end(part as usize, at);
        }
        // The header handler runs while the packet waits in its queue.
        if let (Some(sent), Some(done)) = (header.sent, header.done) {
            parts.shift(Part::MessageQueue as usize, Part::Header as usize, done - sent);
        }
        Some(parts.cycles)
    }
}

kernel::words! {
    /// Parts of a packet's time in the NIC, in the order of time.
    pub enum Part {
        /// From room in packet memory until the message queues had its request.
        PacketMemory = "packet_memory",
        /// In the queue of its message.
        MessageQueue = "message_queue",
        /// From when its header handler was sent until that handler was done.
        Header = "header",
        /// Until a cluster accepted its payload handler.
        Cluster = "cluster",
        /// Until it was in L1.
        Copy = "copy",
        /// Until an HPU started the handler.
        Hpu = "hpu",
        /// While the handler ran.
        Handler = "handler",
        /// Until the handler's commands and transfers were done.
        Commands = "commands",
        /// Until the completion handler was done.
        Completion = "completion",
        /// Until the NIC was done with it.
        Feedback = "feedback",
    }
}

/// Number of parts.
pub const N_PARTS: usize = Part::ALL.len();

/// Packets under way, by the number that the NIC gives them.
#[derive(Default)]
pub struct PacketsUnderWay {
    /// Taken from the traffic and not finished. Boxed, because a row is large and is moved several times.
    pub inside: Inside<Box<Row>>,
    /// Requests sent to the message queues, by identity.
    requests: Vec<u64>,
    /// Collects the causes of waits, if paths are wanted.
    pub tracker: Option<Box<Tracker>>,
    /// Identities of finished packets, until the caller takes them.
    finished: Vec<u16>,
}

/// The effect of an event on the packets.
pub enum Change {
    /// No progress.
    Nothing,
    /// A packet came in or a task ended: the run makes progress.
    Progress,
    /// The NIC is done with this packet.
    Finished(Box<Row>),
}

impl PacketsUnderWay {
    /// No packets in progress.
    pub fn new() -> Self {
        PacketsUnderWay { requests: vec![0; N_IDS as usize], ..PacketsUnderWay::default() }
    }

    /// Number of packets in progress of the context at this position.
    pub fn n_open_of(&self, context: usize) -> u64 {
        self.inside.iter().filter(|(_, row)| row.context == context).count() as u64
    }

    /// Number of packets for a queue that were taken from the traffic, but whose requests had not reached the queue
    /// when it had received `received` requests. The queue of a message is its identity modulo `n_queues`.
    pub fn n_unreceived(&self, queue: u32, n_queues: u32, received: u64) -> u64 {
        let is_its = |id: u32| id % n_queues == queue;
        let sent: u64 = (0..N_IDS).filter(|&id| is_its(id)).map(|id| self.requests[id as usize]).sum();
        let waiting = self.inside.iter().filter(|(_, row)| row.her.is_none() && is_its(row.msgid.into()));
        waiting.count() as u64 + sent.saturating_sub(received)
    }

    /// Identities of the packets that were finished since the last call.
    pub fn finished_since(&mut self) -> impl Iterator<Item = u16> {
        self.finished.drain(..)
    }

    fn remove(&mut self, packet: u64) -> Change {
        let Some(row) = self.inside.leave(packet) else { return Change::Nothing };
        self.finished.push(row.msgid);
        Change::Finished(row)
    }

    /// Notes a milestone of a packet. Ignores events that do not concern packets.
    #[inline]
    pub fn note(&mut self, at: Cycle, event: Event) -> Change {
        if let Some(tracker) = &mut self.tracker {
            tracker.note(at, event, &mut self.inside);
        }
        match event {
            Event::PacketDone { packet } => {
                if let Some(row) = self.inside.get_mut(packet) {
                    row.done = Some(at);
                }
                return self.remove(packet);
            }
            Event::PacketDropped { packet, reason } => {
                if let Some(row) = self.inside.get_mut(packet) {
                    (row.dropped, row.dropped_at) = (Some(reason as u32), Some(at));
                }
                return self.remove(packet);
            }
            Event::HerSent { packet, .. } => {
                let Some(row) = self.inside.get_mut(packet) else { return Change::Nothing };
                row.her = Some(at);
                let id = usize::from(row.msgid);
                self.requests[id] += 1;
            }
            Event::PacketIn { packet, .. } => {
                return self.update(packet, Change::Progress, |row| row.stored = Some(at));
            }
            Event::TaskDone { packet, stage, .. } => {
                return self.update(packet, Change::Progress, |row| row.task(stage).done = Some(at));
            }
            Event::CommandIssued { packet, target, writes_host, .. } => {
                return self.update(packet, Change::Nothing, |row| {
                    row.commands[target as usize] += 1;
                    row.host_writes += writes_host as u32;
                });
            }
            Event::CommandFault { packet, target, addr, bytes, why } => {
                return self.update(packet, Change::Nothing, |row| {
                    row.faults += 1;
                    let is_length = why == CommandFault::Length as u64;
                    let (stage, target) = (row.running(), target as usize);
                    row.refused.get_or_insert(Refusal { stage, target, addr, bytes, is_length, at });
                });
            }
            Event::PacketSent { packet, bytes } => {
                return self.update(packet, Change::Nothing, |row| {
                    row.sent_packets += 1;
                    row.sent_bytes += bytes;
                    row.sent_at = Some(at);
                });
            }
            Event::TaskSent { packet, stage } => self.task(packet, stage, |task| task.sent = Some(at)),
            Event::TaskDispatched { packet, stage, cluster } => self.task(packet, stage, |task| {
                task.dispatched = Some(at);
                task.cluster = cluster as u32;
            }),
            Event::TaskAccepted { packet, stage } => self.task(packet, stage, |task| task.accepted = Some(at)),
            Event::TaskCopied { packet, stage } => self.task(packet, stage, |task| task.copied = Some(at)),
            Event::TaskAssigned { packet, stage, hpu } => self.task(packet, stage, |task| {
                task.assigned = Some(at);
                task.hpu = hpu as u32;
            }),
            Event::HandlerStart { packet, stage, .. } => self.task(packet, stage, |task| task.start = Some(at)),
            Event::HandlerEnd { packet, stage, instructions, .. } => self.task(packet, stage, |task| {
                task.end = Some(at);
                task.instructions = instructions;
            }),
            Event::HandlerTrap { packet, stage, cause, pc, value, l1, bytes, .. } => self.task(packet, stage, |task| {
                let packet = (l1 as u32, bytes as u32);
                task.trap = Some(Trap { cause: cause as u32, pc: pc as u32, value: value as u32, packet, at });
            }),
            _ => {}
        }
        Change::Nothing
    }

    /// Applies `change` to the row of a packet that is under way.
    fn update(&mut self, packet: u64, change: Change, set: impl FnOnce(&mut Row)) -> Change {
        match self.inside.get_mut(packet) {
            Some(row) => {
                set(row);
                change
            }
            None => Change::Nothing,
        }
    }

    fn task(&mut self, packet: u64, stage: u64, set: impl FnOnce(&mut TaskRow)) {
        self.update(packet, Change::Nothing, |row| set(row.task(stage)));
    }
}
