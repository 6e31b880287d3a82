//! Messages between the processes of a network: status and rows during the run, and records at its end.

use super::progress::Sum;
use crate::ranks::Ranks;
use crate::run::Rows;
use kernel::Time;
use net::frame::FrameId;
use net::observe::{DropReason, Ledger, MessageKind, Row, What};
use net::{LinkId, NodeId, NodeReport, PortId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a row in a message.
const ROW: usize = 56;

/// An error of the exchange between processes.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MeetError {
    #[error("exchange between processes: {0}")]
    Exchange(String),
    #[error("the message of rank {rank} is cut off or is not one of this version of spinet")]
    Message { rank: usize },
}

/// Reason why a process cannot continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Failure {
    /// An error.
    Error(String),
    /// Another process has failed, and reports the reason.
    OtherProcess,
}

/// Status of a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Its next event, in femtoseconds.
    pub next_fs: Option<u64>,
    /// The reason, if it cannot continue.
    pub failure: Option<Failure>,
    /// Progress of its cards.
    pub sum: Sum,
    /// The last time at which a frame moved, in femtoseconds.
    pub moved_fs: u64,
    /// Frames in flight.
    pub in_flight: u64,
    /// Its nodes with unfinished packets, if it seems to be stuck.
    pub stuck: Vec<String>,
    /// The first of its nodes whose card has stopped, and the reason.
    pub stopped: Option<(usize, String)>,
    /// The waits of its host programs, if it has no more events.
    pub waiting: Vec<String>,
}

/// Rows of a node's table: node, table, and name and content of each column.
pub type NodeRows<C> = (usize, String, Vec<(String, C)>);

/// Rows of a process's tables, for the first process.
#[derive(Default)]
pub struct Gathered {
    /// Events of frames, in order of time and node.
    pub rows: Vec<Row>,
    /// Rows of nodes' tables.
    pub tables: Vec<NodeRows<Vec<u8>>>,
}

/// The records of a process at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Closing {
    /// The error, if it could not complete its records.
    pub failure: Option<String>,
    /// Digests and counters of its nodes and switches.
    pub reports: Vec<NodeReport>,
    /// Counts of its frames.
    pub ledger: Ledger,
    /// Records of its nodes.
    pub nodes: Vec<NodeRecord>,
    /// Contents of the files of host memory, concatenated.
    #[serde(skip)]
    pub files: Vec<u8>,
}

/// Counts of a card.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CardCounts {
    /// Packets that it took.
    pub packets_in: u64,
    /// Packets that it finished.
    pub done: u64,
    /// Frames that were too long for it.
    pub refused: u64,
    /// Nodes that did not answer its host, which sends them nothing any more.
    pub silent_peers: Vec<u32>,
    /// Packets that it dropped, by reason, without zeros.
    pub dropped_by_reason: BTreeMap<String, u64>,
}

/// The record of a node at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Its number.
    pub node: usize,
    /// Counts of its card.
    pub counts: CardCounts,
    /// Kinds and texts of remarks on its programs.
    pub remarks: Vec<(String, String)>,
    /// Summary and profile, if they are kept.
    pub records: Option<(Value, Option<Value>)>,
    /// Files of host memory, if they are kept: their names and lengths.
    pub host: Vec<(String, usize)>,
}

/// Sends the same value to all ranks. Returns the values of all other ranks, each with its rank.
pub fn share<T: Serialize + DeserializeOwned>(ranks: &Ranks, value: &T) -> Result<Vec<(usize, T)>, MeetError> {
    let bytes = json(value);
    let outgoing = ranks.all().map(|_| bytes.clone()).collect();
    let incoming = swap(ranks, outgoing)?;
    let read = |(rank, bytes): (usize, Vec<u8>)| {
        let value = serde_json::from_slice(&bytes).map_err(|_| MeetError::Message { rank })?;
        Ok((rank, value))
    };
    incoming.into_iter().map(read).collect()
}

/// Exchanges the status of all ranks. The first rank also gets the rows of the others.
pub fn meet(ranks: &Ranks, status: &Status, own: &Gathered) -> Result<Vec<(usize, Status, Gathered)>, MeetError> {
    let for_others = message(status, &Gathered::default());
    let for_first = if ranks.is_first() { Vec::new() } else { message(status, own) };
    let outgoing = ranks.all().map(|rank| if rank == 0 { for_first.clone() } else { for_others.clone() });
    let incoming = swap(ranks, outgoing.collect())?;
    let read = |(rank, bytes): (usize, Vec<u8>)| {
        let (status, gathered) = read(&bytes).ok_or(MeetError::Message { rank })?;
        Ok((rank, status, gathered))
    };
    incoming.into_iter().map(read).collect()
}

/// Sends bytes to the first rank, which gets those of all other ranks. Other ranks get nothing.
pub fn to_first(ranks: &Ranks, own: Vec<u8>) -> Result<Vec<(usize, Vec<u8>)>, MeetError> {
    let mut outgoing: Vec<Vec<u8>> = ranks.all().map(|_| Vec::new()).collect();
    outgoing[0] = own;
    let incoming = swap(ranks, outgoing)?;
    Ok(if ranks.is_first() { incoming } else { Vec::new() })
}

/// Sends the records of all ranks to the first one at the end. Other ranks get nothing.
pub fn close(ranks: &Ranks, own: &Closing) -> Result<Vec<Closing>, MeetError> {
    let incoming = to_first(ranks, framed(&json(own), &own.files))?;
    let read = |bytes: &[u8]| {
        let (head, files) = unframed(bytes)?;
        let closing: Closing = serde_json::from_slice(head).ok()?;
        let len: usize = closing.nodes.iter().flat_map(|node| &node.host).map(|&(_, len)| len).sum();
        (len == files.len()).then(|| Closing { files: files.to_vec(), ..closing })
    };
    let read = |(rank, bytes): (usize, Vec<u8>)| read(&bytes).ok_or(MeetError::Message { rank });
    incoming.into_iter().map(read).collect()
}

/// A message: the length of `head`, then `head`, then `rest`.
fn framed(head: &[u8], rest: &[u8]) -> Vec<u8> {
    [&(head.len() as u64).to_le_bytes()[..], head, rest].concat()
}

fn unframed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, bytes) = bytes.split_first_chunk::<8>()?;
    bytes.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("messages are numbers and texts")
}

/// Exchanges messages. Returns those of all other ranks.
fn swap(ranks: &Ranks, mut outgoing: Vec<Vec<u8>>) -> Result<Vec<(usize, Vec<u8>)>, MeetError> {
    let me = ranks.0.rank() as usize;
    outgoing[me].clear();
    let incoming = ranks.0.exchange(outgoing).map_err(|error| MeetError::Exchange(error.to_string()))?;
    Ok(incoming.into_iter().enumerate().filter(|&(rank, _)| rank != me).collect())
}

/// The JSON head of a message. It describes the parts that are not JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    status: Status,
    n_rows: usize,
    /// Node, table, and name and length of each column.
    tables: Vec<NodeRows<usize>>,
}

fn message(status: &Status, gathered: &Gathered) -> Vec<u8> {
    let mut tables = Vec::new();
    for (node, table, columns) in &gathered.tables {
        let lengths = columns.iter().map(|(name, data)| (name.clone(), data.len()));
        tables.push((*node, table.clone(), lengths.collect()));
    }
    let head = Head { status: status.clone(), n_rows: gathered.rows.len(), tables };
    let mut bytes = framed(&json(&head), &[]);
    gathered.rows.iter().for_each(|row| put_row(row, &mut bytes));
    for (_, data) in gathered.tables.iter().flat_map(|(_, _, columns)| columns) {
        bytes.extend_from_slice(data);
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<(Status, Gathered)> {
    let (head, bytes) = unframed(bytes)?;
    let Head { status, n_rows, tables } = serde_json::from_slice(head).ok()?;
    let (rows, mut bytes) = bytes.split_at_checked(n_rows.checked_mul(ROW)?)?;
    let rows = rows.chunks_exact(ROW).map(row).collect::<Option<Vec<Row>>>()?;
    let mut read = Vec::new();
    for (node, table, columns) in tables {
        let mut found = Vec::new();
        for (name, len) in columns {
            let (data, rest) = bytes.split_at_checked(len)?;
            bytes = rest;
            found.push((name, data.to_vec()));
        }
        read.push((node, table, found));
    }
    bytes.is_empty().then_some((status, Gathered { rows, tables: read }))
}

fn put_row(row: &Row, bytes: &mut Vec<u8>) {
    let (event, words) = match row.what {
        What::Entered => (0u8, [0; 3]),
        What::Crossed { link, head, tail, is_pause } => {
            (1, [u64::from(is_pause) << 32 | u64::from(link.0), head.fs(), tail.fs()])
        }
        What::Copied { link } => (2, [u64::from(link.0), 0, 0]),
        What::Delivered { tail } => (3, [tail.fs(), 0, 0]),
        What::Dropped { reason } => (4, [reason as u64, 0, 0]),
        What::Marked => (5, [0; 3]),
        What::Depth { port, class, bytes } => (6, [u64::from(port.0), u64::from(class), bytes]),
        What::Paused { port, class, is_on } => (7, [u64::from(port.0), u64::from(class), u64::from(is_on)]),
        What::Posted { to, kind, tag, posted } => (8, [address(to, kind), tag, posted.fs()]),
        What::Carries { to, kind, number } => (9, [address(to, kind), u64::from(number), 0]),
        What::Received { kind, done } => (10, [address(NodeId(0), kind), done.fs(), 0]),
    };
    bytes.extend(row.at.fs().to_le_bytes());
    bytes.extend(row.frame.number.to_le_bytes());
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    [row.node.0, row.frame.node.0, row.bytes].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend(row.hops.to_le_bytes());
    bytes.extend([row.class, event]);
}

/// Receiver and kind of a message in one number.
fn address(to: NodeId, kind: MessageKind) -> u64 {
    u64::from(to.0) << 8 | kind as u64
}

fn row(bytes: &[u8]) -> Option<Row> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let words = [word(16)?, word(24)?, word(32)?];
    let (link, port, class) = (LinkId(words[0] as u32), PortId(words[0] as u16), words[1] as u8);
    let (to, kind) = (NodeId((words[0] >> 8) as u32), MessageKind::ALL.get((words[0] & 0xff) as usize).copied());
    let what = match bytes[55] {
        0 => What::Entered,
        1 => What::Crossed {
            link,
            head: Time::from_fs(words[1]),
            tail: Time::from_fs(words[2]),
            is_pause: words[0] >> 32 != 0,
        },
        2 => What::Copied { link },
        3 => What::Delivered { tail: Time::from_fs(words[0]) },
        4 => What::Dropped { reason: *DropReason::ALL.get(words[0] as usize)? },
        5 => What::Marked,
        6 => What::Depth { port, class, bytes: words[2] },
        7 => What::Paused { port, class, is_on: words[2] != 0 },
        8 => What::Posted { to, kind: kind?, tag: words[1], posted: Time::from_fs(words[2]) },
        9 => What::Carries { to, kind: kind?, number: words[1] as u32 },
        10 => What::Received { kind: kind?, done: Time::from_fs(words[1]) },
        _ => return None,
    };
    Some(Row {
        at: Time::from_fs(word(0)?),
        node: NodeId(half(40)?),
        number: 0, // not sent: the order of rows is enough
        frame: FrameId { node: NodeId(half(44)?), number: word(8)? },
        bytes: half(48)?,
        hops: u16::from_le_bytes([bytes[52], bytes[53]]),
        class: bytes[54],
        what,
    })
}

impl Gathered {
    /// Adds rows of a table of a node.
    pub fn add(&mut self, node: usize, rows: Rows) {
        let columns = rows.columns.into_iter().map(|(name, data)| (name.to_owned(), data));
        self.tables.push((node, rows.table.to_owned(), columns.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let row = |what| Row {
            at: Time::from_fs(12_345_678_901),
            node: NodeId(7),
            number: 0,
            frame: FrameId { node: NodeId(3), number: 1 << 40 },
            bytes: 1500,
            hops: 2,
            class: 5,
            what,
        };
        let tail = Time::from_fs(99);
        let rows = vec![
            row(What::Entered),
            row(What::Crossed { link: LinkId(4), head: Time::from_fs(98), tail, is_pause: false }),
            row(What::Crossed { link: LinkId(u32::MAX), head: Time::from_fs(98), tail, is_pause: true }),
            row(What::Copied { link: LinkId(9) }),
            row(What::Delivered { tail }),
            row(What::Dropped { reason: DropReason::QueueFull }),
            row(What::Marked),
            row(What::Depth { port: PortId(3), class: 1, bytes: 1 << 33 }),
            row(What::Paused { port: PortId(3), class: 1, is_on: true }),
            row(What::Posted { to: NodeId(9), kind: MessageKind::Reply, tag: u64::MAX, posted: tail }),
            row(What::Carries { to: NodeId(u32::MAX), kind: MessageKind::Put, number: u32::MAX }),
            row(What::Received { kind: MessageKind::Get, done: tail }),
        ];
        let mut sent = Gathered { rows: rows.clone(), ..Gathered::default() };
        sent.add(7, Rows { table: "packets", columns: vec![("a", vec![1, 2]), ("b", vec![])] });
        let status = Status { next_fs: Some(5), stuck: vec!["`n1` has 2".into()], ..Status::default() };
        let bytes = message(&status, &sent);
        let (status, found) = read(&bytes).unwrap();
        assert_eq!((status.next_fs, status.stuck.len(), &found.rows), (Some(5), 1, &rows));
        assert_eq!(found.tables, sent.tables);
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_none(), "cut off at {len}");
        }
    }
}
