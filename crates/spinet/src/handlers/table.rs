//! The per-packet table: one row for each packet, one column for each time and number.

use crate::columns::{Columns, columns};
use crate::handlers::packets::{Fate, Row, TaskRow, Trap};
use kernel::{Clock, Cycle};
use pspin::delivery::DropReason;

/// Words that the numbers of a column stand for. Reason 0 stands for packets that were not dropped.
pub fn words(column: &str) -> Vec<&'static str> {
    match column {
        "fate" => Fate::NAMES.to_vec(),
        "reason" => [""].into_iter().chain(DropReason::NAMES).collect(),
        _ => Vec::new(),
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
    pub fn add_ordinary(&mut self, source: Option<u16>, frame: u64, bytes: u32, arrival: Cycle) {
        let row = Row { source, frame, bytes, arrival, ..Row::default() };
        self.add_row(&row, Fate::Ordinary, false);
    }

    /// Adds a packet that a context took.
    pub fn add(&mut self, row: &Row) {
        self.add_row(row, row.fate(), true);
    }

    fn add_row(&mut self, row: &Row, fate: Fate, matched: bool) {
        self.columns.push(&values(&Cells { clock: self.clock, row, fate, matched }));
    }

    /// The rows since the last call, column by column as little-endian arrays.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.columns.take()
    }
}

/// The values from which the columns are computed.
struct Cells<'a> {
    clock: Clock,
    row: &'a Row,
    fate: Fate,
    /// A context took the packet.
    matched: bool,
}

impl Cells<'_> {
    fn header(&self) -> &TaskRow {
        &self.row.tasks[0]
    }

    fn payload(&self) -> &TaskRow {
        &self.row.tasks[1]
    }

    fn completion(&self) -> &TaskRow {
        &self.row.tasks[2]
    }

    fn trap(&self) -> Option<Trap> {
        self.row.tasks.iter().find_map(|task| task.trap)
    }

    fn ps(&self, cycle: Option<Cycle>) -> i64 {
        cycle.map_or(-1, |cycle| self.clock.edge(cycle).ps() as i64)
    }

    /// A value that only packets of contexts have.
    fn only(&self, value: i64) -> i64 {
        if self.matched { value } else { -1 }
    }
}

/// The number of an HPU or cluster, known once an HPU took the task.
fn place(task: &TaskRow, value: u32) -> i64 {
    if task.assigned.is_some() { value.into() } else { -1 }
}

fn cycles(task: &TaskRow) -> i64 {
    match (task.start, task.end) {
        (Some(start), Some(end)) => (end - start) as i64,
        _ => -1,
    }
}

columns! {
    /// The columns of the table, in order. `ps` are picoseconds since reset; -1 means that it did not happen.
    COLUMNS, values(c: &Cells):
    "packet" I64 "number of the packet in the NIC, from 0; none if no context took it" => c.only(c.row.packet as i64);
    "frame" U64 "number of the packet in its source, from 0; a copy that the network made has that of its original" => c.row.frame as i64;
    "source" I32 "position of its source in the experiment; -1 if another card sent it" => c.row.source.map_or(-1, i64::from);
    "bytes" U32 "length without FCS" => c.row.bytes.into();
    "fate" U8 "its fate" => c.fate as i64;
    "reason" U8 "why it was dropped" => c.row.dropped.map_or(0, |reason| i64::from(reason) + 1);
    "context" I32 "position of its context" => c.only(c.row.context as i64);
    "message" I64 "number of its message within its context" => c.only(c.row.message as i64);
    "msgid" I32 "identity of the message in the NIC" => c.only(c.row.msgid.into());
    "is_last" U8 "1 for the last packet of a message" => i64::from(c.row.is_last);
    "arrival_ps" I64 "arrival on the wire" => c.ps(Some(c.row.arrival));
    "stored_ps" I64 "room found in packet memory: the NIC's arrival time" => c.ps(c.row.stored);
    "her_ps" I64 "handler execution request taken by the message queues" => c.ps(c.row.her);
    "task_sent_ps" I64 "payload task sent by the message queues" => c.ps(c.payload().sent);
    "dispatched_ps" I64 "cluster chosen" => c.ps(c.payload().dispatched);
    "accepted_ps" I64 "task accepted by the cluster, copy to L1 asked for" => c.ps(c.payload().accepted);
    "copied_ps" I64 "packet in L1" => c.ps(c.payload().copied);
    "assigned_ps" I64 "HPU assigned" => c.ps(c.payload().assigned);
    "start_ps" I64 "payload handler started" => c.ps(c.payload().start);
    "end_ps" I64 "payload handler ended" => c.ps(c.payload().end);
    "task_done_ps" I64 "commands and transfers of the payload handler done" => c.ps(c.payload().done);
    "done_ps" I64 "packet freed by the NIC" => c.ps(c.row.done);
    "cluster" I32 "cluster of the payload task" => place(c.payload(), c.payload().cluster);
    "hpu" I32 "HPU of the payload task, within the cluster" => place(c.payload(), c.payload().hpu);
    "instructions" U64 "instructions of the payload handler" => c.payload().instructions as i64;
    "cycles" I64 "cycles of the payload handler" => cycles(c.payload());
    "header_start_ps" I64 "header handler started" => c.ps(c.header().start);
    "header_end_ps" I64 "header handler ended" => c.ps(c.header().end);
    "header_cluster" I32 "cluster of the header task" => place(c.header(), c.header().cluster);
    "header_hpu" I32 "HPU of the header task" => place(c.header(), c.header().hpu);
    "header_instructions" U64 "instructions of the header handler" => c.header().instructions as i64;
    "header_cycles" I64 "cycles of the header handler" => cycles(c.header());
    "completion_start_ps" I64 "completion handler started" => c.ps(c.completion().start);
    "completion_end_ps" I64 "completion handler ended" => c.ps(c.completion().end);
    "completion_cluster" I32 "cluster of the completion task" => place(c.completion(), c.completion().cluster);
    "completion_hpu" I32 "HPU of the completion task" => place(c.completion(), c.completion().hpu);
    "completion_instructions" U64 "instructions of the completion handler" => c.completion().instructions as i64;
    "completion_cycles" I64 "cycles of the completion handler" => cycles(c.completion());
    "host_dma_commands" U32 "commands to the off-cluster DMA" => c.row.commands[0].into();
    "send_commands" U32 "commands to the NIC outbound engine" => c.row.commands[1].into();
    "host_direct_commands" U32 "commands to HostDirect" => c.row.commands[2].into();
    "host_writes" U32 "of these and those to the off-cluster DMA, commands that write to host memory"
        => c.row.host_writes.into();
    "command_faults" U32 "commands that their unit refused: an unmapped address, no bytes, or too many" => c.row.faults.into();
    "sent_packets" U32 "packets that its handlers sent" => c.row.sent_packets.into();
    "sent_bytes" U64 "bytes of these" => c.row.sent_bytes as i64;
    "sent_ps" I64 "the last of these left" => c.ps(c.row.sent_at);
    "trap_cause" I32 "mcause of the first trap" => c.trap().map_or(-1, |trap| trap.cause.into());
    "trap_pc" I64 "address of the instruction that trapped" => c.trap().map_or(-1, |trap| trap.pc.into());
}
