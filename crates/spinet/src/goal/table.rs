//! The table with one row for each operation.

use crate::columns::{Columns, TableSpec, columns};
use kernel::Time;
use net::goal::{ANY, Kind, Op, Schedule};
use net::loggops::{Record, Timing};

/// The table of operations.
pub const OPERATIONS: TableSpec = TableSpec { name: "operations", columns: COLUMNS, words };

fn words(column: &str) -> Vec<&'static str> {
    match column {
        "kind" => Kind::ALL.map(Kind::name).to_vec(),
        _ => Vec::new(),
    }
}

/// A row.
struct Row {
    rank: u32,
    number: usize,
    op: Op,
    timing: Timing,
    partner: i64,
    is_critical: bool,
}

/// Adds the row of an operation.
pub fn push(columns: &mut Columns, schedule: &Schedule, record: &Record, op: usize, is_critical: bool) {
    let rank = schedule.rank_of(op);
    let timing = record.timing(schedule, op);
    let in_rank = |op: usize| op - schedule.range(schedule.rank_of(op)).start;
    let partner = timing.partner.map_or(-1, |partner| in_rank(partner as usize) as i64);
    let row = Row { rank, number: in_rank(op), op: schedule.ops()[op], timing, partner, is_critical };
    columns.push(&values(&row));
}

/// A rank or tag, -1 for any.
fn known(number: u32, op: &Op) -> i64 {
    if number == ANY || op.kind == Kind::Calc { -1 } else { i64::from(number) }
}

fn ps(time: Time) -> i64 {
    time.ps() as i64
}

columns! {
    /// Columns of the table of operations.
    COLUMNS, values(row: &Row):
    "rank" U32 "rank of the operation" => i64::from(row.rank);
    "operation" U32 "its number in the rank, from 0" => row.number as i64;
    "kind" U8 "kind of the operation" => i64::from(row.op.kind as u8 - 1);
    "peer" I64 "other rank of a message; null for any and in a computation" => known(row.op.peer, &row.op);
    "tag" I64 "tag of a message; null for any and in a computation" => known(row.op.tag, &row.op);
    "size" U64 "bytes of a message, nanoseconds of a computation" => row.op.size as i64;
    "cpu" U8 "processor" => i64::from(row.op.cpu);
    "nic" U8 "network card" => i64::from(row.op.nic);
    "line" U32 "line in the text; 0 if the schedule is from no text" => i64::from(row.op.line);
    "posted_ps" I64 "a receive was posted; another operation became free" => ps(row.timing.posted);
    "started_ps" I64 "its processor took it; of a receive, took its message" => ps(row.timing.started);
    "done_ps" I64 "it ended" => ps(row.timing.done);
    "left_ps" I64 "message of a send left the host" => row.timing.way.map_or(-1, |way| ps(way.0));
    "arrived_ps" I64 "message of a send arrived" => row.timing.way.map_or(-1, |way| ps(way.1));
    "partner" I64 "number of the send or receive at the other rank" => row.partner;
    "critical" U8 "1 if it is on the critical path" => i64::from(row.is_critical);
}
