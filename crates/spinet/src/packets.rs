//! What became of each packet, put together from the NIC's events.

use crate::columns::Columns;
use kernel::trace::{Event, EventKind};
use kernel::{Clock, Cycle};
use pspin::events as ev;
use std::collections::VecDeque;

/// Stages of a packet: header, payload, completion.
pub const N_STAGES: usize = 3;

/// A handler that trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// As in `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address that was accessed, or the instruction.
    pub value: u32,
    /// When.
    pub at: Cycle,
}

/// One handler's run for a packet. Times are cycles of the NIC's clock.
#[derive(Clone, Debug, Default)]
pub struct TaskRow {
    /// The message queues handed the task to the dispatcher.
    pub sent: Option<Cycle>,
    /// The dispatcher chose a cluster.
    pub dispatched: Option<Cycle>,
    /// The cluster took it and asked for the copy to L1.
    pub accepted: Option<Cycle>,
    /// An HPU took it, the packet being in L1.
    pub assigned: Option<Cycle>,
    /// The core read the handler's address.
    pub start: Option<Cycle>,
    /// The core rang the doorbell.
    pub end: Option<Cycle>,
    /// All commands and transfers done, the feedback left.
    pub done: Option<Cycle>,
    /// Position of the cluster.
    pub cluster: u32,
    /// Position of the core in its cluster.
    pub hpu: u32,
    /// Instructions between start and end.
    pub instructions: u64,
    /// If it trapped.
    pub trap: Option<Trap>,
}

/// A packet that matched a context.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Number in the traffic, from 0.
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
    /// When the NIC was done with it.
    pub done: Option<Cycle>,
    /// Header, payload, completion.
    pub tasks: [TaskRow; N_STAGES],
    /// Commands by target: host DMA, NIC outbound, HostDirect.
    pub commands: [u32; 3],
    /// Commands whose address nothing answered at.
    pub faults: u32,
    /// Packets that its handlers sent.
    pub sent_packets: u32,
    /// Their bytes.
    pub sent_bytes: u64,
    /// When the last of them left.
    pub sent_at: Option<Cycle>,
    /// Why the NIC did not take it.
    pub dropped: Option<u32>,
}

/// What became of a packet, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// No context took it.
    Ordinary,
    /// The NIC refused it.
    Dropped,
    /// The run ended before it was done.
    Unfinished,
    /// One of its handlers trapped.
    Trapped,
    /// Its handlers sent packets.
    Sent,
    /// Its handlers used host memory.
    ToHost,
    /// Both.
    SentAndToHost,
    /// None of these.
    Consumed,
}

impl Fate {
    /// All, in the order of their numbers in the table.
    pub const NAMES: [&str; 8] =
        ["ordinary", "dropped", "unfinished", "trapped", "sent", "to_host", "sent_and_to_host", "consumed"];
}

impl Row {
    /// What became of it.
    pub fn fate(&self) -> Fate {
        let is_sent = self.sent_packets > 0;
        let to_host = self.commands[0] + self.commands[2] > 0;
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

    /// Where the cycles from room in packet memory to the end went, in the order of [`SPLIT`]; `None` if it is not done.
    ///
    /// The parts add up to the whole.
    pub fn split(&self) -> Option<[u64; SPLIT.len()]> {
        let [header, payload, completion] = &self.tasks;
        let (stored, her, done) = (self.stored?, self.her?, self.done?);
        let sent = payload.sent?;
        let in_header = match (header.sent, header.done) {
            (Some(sent), Some(done)) => done - sent,
            _ => 0,
        };
        let (dispatched, accepted, assigned) = (payload.dispatched?, payload.accepted?, payload.assigned?);
        // Without a handler nothing runs between assignment and feedback.
        let start = payload.start.unwrap_or(assigned);
        let end = payload.end.unwrap_or(start);
        let task_done = payload.done?;
        let after = completion.done.unwrap_or(task_done);
        debug_assert!(dispatched >= sent);
        let span = |from: Cycle, to: Cycle| to.saturating_sub(from);
        Some([
            span(stored, her),
            span(her, sent).saturating_sub(in_header),
            in_header,
            span(sent, accepted),
            span(accepted, assigned),
            span(assigned, start),
            span(start, end),
            span(end, task_done),
            span(task_done, after),
            span(after, done),
        ])
    }
}

/// Names of the parts of [`Row::split`].
pub const SPLIT: [&str; 10] = [
    "packet_memory",
    "message_queue",
    "header",
    "cluster",
    "copy",
    "hpu",
    "handler",
    "commands",
    "completion",
    "feedback",
];

/// Packets under way, by the number that the NIC gives them.
pub struct Window {
    clock: Clock,
    /// Number of the first.
    base: u64,
    rows: VecDeque<Option<Row>>,
    /// Taken from the traffic and not finished.
    pub n_open: u64,
}

/// What an event meant for the packets.
pub enum Change {
    /// Nothing that anybody waits for.
    Nothing,
    /// A packet came in or a task ended: the run gets on.
    Progress,
    /// The NIC is done with this packet.
    Finished(Box<Row>),
}

impl Window {
    /// Nothing under way.
    pub fn new(clock: Clock) -> Self {
        Window { clock, base: 0, rows: VecDeque::new(), n_open: 0 }
    }

    /// The next packet that the NIC is given; returns the number it will have.
    pub fn push(&mut self, row: Row) -> u64 {
        self.rows.push_back(Some(row));
        self.n_open += 1;
        self.base + self.rows.len() as u64 - 1
    }

    /// The packet of this number, if it is under way.
    pub fn get(&self, packet: u64) -> Option<&Row> {
        self.rows.get(packet.checked_sub(self.base)? as usize)?.as_ref()
    }

    fn get_mut(&mut self, packet: u64) -> Option<&mut Row> {
        self.rows.get_mut(packet.checked_sub(self.base)? as usize)?.as_mut()
    }

    fn remove(&mut self, packet: u64) -> Change {
        let slot = packet.checked_sub(self.base).and_then(|at| self.rows.get_mut(at as usize));
        let Some(row) = slot.and_then(Option::take) else { return Change::Nothing };
        self.n_open -= 1;
        while let Some(None) = self.rows.front() {
            self.rows.pop_front();
            self.base += 1;
        }
        Change::Finished(Box::new(row))
    }

    /// All that are still under way, in order of arrival.
    pub fn drain(&mut self) -> Vec<Row> {
        self.base += self.rows.len() as u64;
        self.n_open = 0;
        self.rows.drain(..).flatten().collect()
    }

    /// Notes what an event says. Events that are not about packets mean nothing here.
    pub fn event(&mut self, event: &Event) -> Change {
        let at = self.clock.cycle_at_or_after(event.at);
        let is = |kind: &'static EventKind| std::ptr::eq(event.kind, kind);
        let Some(&packet) = event.values.first() else { return Change::Nothing };
        let value = |index: usize| event.values[index];
        // Writes to host memory come often and are not about packets.
        if is(&ev::HOST_WRITTEN) || is(&ev::HOST_READ) {
            return Change::Nothing;
        }
        if is(&ev::PACKET_DONE) {
            if let Some(row) = self.get_mut(packet) {
                row.done = Some(at);
            }
            return self.remove(packet);
        }
        if is(&ev::PACKET_DROPPED) {
            if let Some(row) = self.get_mut(packet) {
                row.dropped = Some(value(1) as u32);
            }
            return self.remove(packet);
        }
        let Some(row) = self.get_mut(packet) else { return Change::Nothing };
        if is(&ev::PACKET_IN) {
            row.stored = Some(at);
            return Change::Progress;
        } else if is(&ev::HER_SENT) {
            row.her = Some(at);
        } else if is(&ev::COMMAND_ISSUED) {
            row.commands[value(2) as usize] += 1;
        } else if is(&ev::COMMAND_FAULT) {
            row.faults += 1;
        } else if is(&ev::PACKET_SENT) {
            row.sent_packets += 1;
            row.sent_bytes += value(1);
            row.sent_at = Some(at);
        } else if is(&ev::TASK_SENT) {
            row.tasks[value(1) as usize].sent = Some(at);
        } else if is(&ev::TASK_DISPATCHED) {
            let task = &mut row.tasks[value(1) as usize];
            task.dispatched = Some(at);
            task.cluster = value(2) as u32;
        } else if is(&ev::TASK_ACCEPTED) {
            row.tasks[value(1) as usize].accepted = Some(at);
        } else if is(&ev::TASK_ASSIGNED) {
            let task = &mut row.tasks[value(1) as usize];
            task.assigned = Some(at);
            task.hpu = value(2) as u32;
        } else if is(&ev::HANDLER_START) {
            row.tasks[value(1) as usize].start = Some(at);
        } else if is(&ev::HANDLER_END) {
            let task = &mut row.tasks[value(1) as usize];
            task.end = Some(at);
            task.instructions = value(3);
        } else if is(&ev::HANDLER_TRAP) {
            let (cause, pc, value) = (value(3) as u32, value(4) as u32, value(5) as u32);
            row.tasks[event.values[1] as usize].trap = Some(Trap { cause, pc, value, at });
        } else if is(&ev::TASK_DONE) {
            row.tasks[value(1) as usize].done = Some(at);
            return Change::Progress;
        }
        Change::Nothing
    }
}

/// The table for people and programs, filled a batch at a time.
pub struct Table {
    clock: Clock,
    columns: Columns,
}

impl Table {
    /// An empty table of times by this clock.
    pub fn new(clock: Clock) -> Self {
        Table { clock, columns: Columns::new(COLUMNS) }
    }

    /// Adds a packet that no context took.
    pub fn add_ordinary(&mut self, frame: u64, bytes: u32, arrival: Cycle) {
        let row = Row { frame, bytes, arrival, ..Row::default() };
        self.add_row(&row, Fate::Ordinary, false);
    }

    /// Adds a packet that a context took.
    pub fn add(&mut self, row: &Row) {
        self.add_row(row, row.fate(), true);
    }

    fn add_row(&mut self, row: &Row, fate: Fate, matched: bool) {
        let clock = self.clock;
        let ps = |cycle: Option<Cycle>| cycle.map_or(-1, |cycle| clock.edge(cycle).ps() as i64);
        let [header, payload, completion] = &row.tasks;
        let place = |task: &TaskRow, value: u32| if task.assigned.is_some() { i64::from(value) } else { -1 };
        let cycles = |task: &TaskRow| match (task.start, task.end) {
            (Some(start), Some(end)) => (end - start) as i64,
            _ => -1,
        };
        let trap = row.tasks.iter().find_map(|task| task.trap);
        let only = |value: i64| if matched { value } else { -1 };
        self.columns.push(&[
            row.frame as i64,
            row.bytes.into(),
            fate as i64,
            only(row.context as i64),
            only(row.message as i64),
            only(row.msgid.into()),
            i64::from(row.is_last),
            ps(Some(row.arrival)),
            ps(row.stored),
            ps(row.her),
            ps(payload.sent),
            ps(payload.dispatched),
            ps(payload.accepted),
            ps(payload.assigned),
            ps(payload.start),
            ps(payload.end),
            ps(payload.done),
            ps(row.done),
            place(payload, payload.cluster),
            place(payload, payload.hpu),
            payload.instructions as i64,
            cycles(payload),
            ps(header.start),
            ps(header.end),
            place(header, header.cluster),
            place(header, header.hpu),
            header.instructions as i64,
            cycles(header),
            ps(completion.start),
            ps(completion.end),
            place(completion, completion.cluster),
            place(completion, completion.hpu),
            completion.instructions as i64,
            cycles(completion),
            row.commands[0].into(),
            row.commands[1].into(),
            row.commands[2].into(),
            row.faults.into(),
            row.sent_packets.into(),
            row.sent_bytes as i64,
            ps(row.sent_at),
            trap.map_or(-1, |trap| trap.cause.into()),
            trap.map_or(-1, |trap| trap.pc.into()),
        ]);
    }

    /// The rows since the last call, column by column as little-endian arrays.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.columns.take()
    }
}

use crate::columns::{Column, Kind};

macro_rules! columns {
    ($($name:literal $kind:ident $about:literal;)*) => {
        /// The columns of the table, in order. `ps` are picoseconds since reset; -1 stands for what never was.
        pub const COLUMNS: &[Column] = &[$(Column { name: $name, kind: Kind::$kind, about: $about }),*];
    };
}

columns! {
    "frame" U64 "number of the packet in the traffic, from 0";
    "bytes" U32 "length without FCS";
    "fate" U8 "what became of it";
    "context" I32 "position of its context";
    "message" I64 "number of its message within its context";
    "msgid" I32 "identity of the message in the NIC";
    "is_last" U8 "1 for the last packet of a message";
    "arrival_ps" I64 "arrival on the wire";
    "stored_ps" I64 "room found in packet memory: the NIC's arrival time";
    "her_ps" I64 "handler execution request sent to the message queues";
    "task_sent_ps" I64 "payload task sent by the message queues";
    "dispatched_ps" I64 "cluster chosen";
    "accepted_ps" I64 "task accepted by the cluster, copy to L1 asked for";
    "assigned_ps" I64 "packet in L1 and HPU assigned";
    "start_ps" I64 "payload handler started";
    "end_ps" I64 "payload handler ended";
    "task_done_ps" I64 "commands and transfers of the payload handler done";
    "done_ps" I64 "packet freed by the NIC";
    "cluster" I32 "cluster of the payload task";
    "hpu" I32 "HPU of the payload task, within the cluster";
    "instructions" U64 "instructions of the payload handler";
    "cycles" I64 "cycles of the payload handler";
    "header_start_ps" I64 "header handler started";
    "header_end_ps" I64 "header handler ended";
    "header_cluster" I32 "cluster of the header task";
    "header_hpu" I32 "HPU of the header task";
    "header_instructions" U64 "instructions of the header handler";
    "header_cycles" I64 "cycles of the header handler";
    "completion_start_ps" I64 "completion handler started";
    "completion_end_ps" I64 "completion handler ended";
    "completion_cluster" I32 "cluster of the completion task";
    "completion_hpu" I32 "HPU of the completion task";
    "completion_instructions" U64 "instructions of the completion handler";
    "completion_cycles" I64 "cycles of the completion handler";
    "host_dma_commands" U32 "commands to the off-cluster DMA";
    "send_commands" U32 "commands to the NIC outbound engine";
    "host_direct_commands" U32 "commands to HostDirect";
    "command_faults" U32 "commands with an address that nothing answers at";
    "sent_packets" U32 "packets that its handlers sent";
    "sent_bytes" U64 "bytes of these";
    "sent_ps" I64 "the last of these left";
    "trap_cause" I32 "mcause of the first trap";
    "trap_pc" I64 "address of the instruction that trapped";
}
