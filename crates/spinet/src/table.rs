//! The per-packet table: one row a packet, one column for each time and number.

use crate::columns::{Column, Columns, Kind};
use crate::packets::{Fate, Row, TaskRow};
use kernel::{Clock, Cycle};

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
            ps(payload.copied),
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
            row.host_writes.into(),
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
    "copied_ps" I64 "packet in L1";
    "assigned_ps" I64 "HPU assigned";
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
    "host_writes" U32 "of these and those to the off-cluster DMA, commands that write to host memory";
    "command_faults" U32 "commands with an address that nothing answers at";
    "sent_packets" U32 "packets that its handlers sent";
    "sent_bytes" U64 "bytes of these";
    "sent_ps" I64 "the last of these left";
    "trap_cause" I32 "mcause of the first trap";
    "trap_pc" I64 "address of the instruction that trapped";
}
