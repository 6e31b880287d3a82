//! Frames of a network: the table of their events, their latencies, and counts of drops, marks and pauses.

use super::select::Kept;
use crate::columns::{Column, Columns, columns};
use kernel::Time;
use net::digest::NumberMap;
use net::frame::FrameId;
use net::observe::{DropReason, Row, What};

/// Words for the events of a frame, by number.
const EVENTS: [&str; 8] = ["entered", "crossed", "copied", "delivered", "dropped", "marked", "depth", "paused"];

/// Words for the numbers of a column.
pub fn words(column: &str) -> Vec<&'static str> {
    match column {
        "event" => EVENTS.to_vec(),
        "reason" => ["none"].into_iter().chain(DropReason::ALL.iter().map(|reason| reason.name())).collect(),
        _ => Vec::new(),
    }
}

/// Number of an event in [`EVENTS`]; -1 for events of messages, which have no row.
fn event(what: &What) -> i64 {
    match what {
        What::Entered => 0,
        What::Crossed { .. } => 1,
        What::Copied { .. } => 2,
        What::Delivered { .. } => 3,
        What::Dropped { .. } => 4,
        What::Marked => 5,
        What::Depth { .. } => 6,
        What::Paused { .. } => 7,
        What::Posted { .. } | What::Carries { .. } | What::Received { .. } => -1,
    }
}

columns! {
    /// Columns of the table of frames: one row for each event.
    COLUMNS, values(row: &Row):
    "at_ps" U64 "when it happened" => row.at.ps() as i64;
    "node" U32 "the node; for `crossed`, the sender" => i64::from(row.node.0);
    "frame_node" U32 "node at which the frame entered the network" => i64::from(row.frame.node.0);
    "frame" U64 "its number among the frames that entered there" => row.frame.number as i64;
    "bytes" U32 "its length without FCS" => i64::from(row.bytes);
    "hop" U32 "number of links that it had crossed" => i64::from(row.hops);
    "class" U8 "its traffic class" => i64::from(row.class);
    "event" U8 "what happened" => event(&row.what);
    "link" I32 "the link of `crossed` and `copied`; else null" => match row.what {
        What::Crossed { link, .. } | What::Copied { link } => i64::from(link.0),
        _ => -1,
    };
    "head_ps" I64 "for `crossed`: when the first bit reached the other end; else null" => match row.what {
        What::Crossed { head, .. } => head.ps() as i64,
        _ => -1,
    };
    "tail_ps" I64 "for `crossed` and `delivered`: when the last bit reached the other end; else null" => match row.what {
        What::Crossed { tail, .. } | What::Delivered { tail } => tail.ps() as i64,
        _ => -1,
    };
    "reason" U8 "why it was dropped; `none` for other events" => match row.what {
        What::Dropped { reason } => reason as i64 + 1,
        _ => 0,
    };
    "port" I32 "for `depth` and `paused`: the port; else null" => match row.what {
        What::Depth { port, .. } | What::Paused { port, .. } => i64::from(port.0),
        _ => -1,
    };
    "queue_bytes" I64 "for `depth`: bytes in the queue; for `paused`: 1 for a pause and 0 for its end; else null" => match row.what {
        What::Depth { bytes, .. } => bytes as i64,
        What::Paused { is_on, .. } => i64::from(is_on),
        _ => -1,
    };
}

/// The rows of the table.
pub struct FrameLog(Columns);

impl Default for FrameLog {
    fn default() -> Self {
        FrameLog(Columns::new(COLUMNS))
    }
}

/// All columns of the table.
pub const FRAME_COLUMNS: &[Column] = COLUMNS;

/// Counts of frames at a node or switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFrames {
    /// Dropped frames, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Marked frames.
    pub marked: u64,
    /// Pauses that it asked for.
    pub pauses: u64,
    /// Greatest number of bytes in one of its queues.
    pub deepest: u64,
}

/// The frames of a run.
pub struct Frames {
    log: Option<FrameLog>,
    /// The rows that this table and the table of messages keep.
    pub kept: Kept,
    by_node: Vec<NodeFrames>,
    /// Time of entry of each frame under way, in femtoseconds. Only looked up, never iterated.
    under_way: NumberMap<FrameId, u64>,
    /// Times from the entry to the last bit at the destination, in femtoseconds.
    latencies: Vec<u64>,
    entered: u64,
    /// Greatest number of bytes in a queue of a switch.
    pub deepest: u64,
    /// Frames that switches marked.
    pub marked: u64,
    /// First entry and last delivery.
    pub span: Option<(Time, Time)>,
}

impl Frames {
    /// No frames yet, in a network of `n_nodes` nodes and switches. `kept` decides which rows the log keeps.
    pub fn new(log: Option<FrameLog>, kept: Kept, n_nodes: usize) -> Self {
        let (under_way, latencies) = Default::default();
        let by_node = vec![NodeFrames::default(); n_nodes];
        Frames { log, kept, by_node, under_way, latencies, entered: 0, deepest: 0, marked: 0, span: None }
    }

    /// Adds events, which come in order of time.
    pub fn add(&mut self, rows: &[Row]) {
        if self.log.is_some() {
            self.kept.learn(rows);
        }
        for row in rows.iter().filter(|row| !row.what.is_of_message()) {
            if let Some(log) = self.log.as_mut().filter(|_| self.kept.has_row(row)) {
                log.0.push(&values(row));
            }
            let seen = &mut self.by_node[row.node.0 as usize];
            match row.what {
                What::Dropped { reason } => seen.dropped[reason as usize] += 1,
                What::Marked => seen.marked += 1,
                What::Depth { bytes, .. } => seen.deepest = seen.deepest.max(bytes),
                What::Paused { is_on: true, .. } => seen.pauses += 1,
                _ => {}
            }
            match row.what {
                What::Entered => {
                    self.entered += 1;
                    self.under_way.insert(row.frame, row.at.fs());
                    self.span.get_or_insert((row.at, row.at));
                }
                What::Delivered { tail } => {
                    if let Some(entered) = self.under_way.remove(&row.frame) {
                        self.latencies.push(tail.fs() - entered);
                    }
                    if let Some((_, last)) = &mut self.span {
                        *last = (*last).max(tail);
                    }
                }
                What::Dropped { .. } => _ = self.under_way.remove(&row.frame),
                What::Depth { bytes, .. } => self.deepest = self.deepest.max(bytes),
                What::Marked => self.marked += 1,
                What::Crossed { .. } | What::Copied { .. } | What::Paused { .. } => {}
                What::Posted { .. } | What::Carries { .. } | What::Received { .. } => {}
            }
        }
    }

    /// Rows since the last call, by column.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.log.as_mut().map(|log| log.0.take()).unwrap_or_default()
    }

    /// Counts of frames at a node or switch.
    pub fn of_node(&self, node: usize) -> NodeFrames {
        self.by_node[node]
    }

    /// Frames that entered.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Latencies of delivered frames in femtoseconds.
    pub fn latencies(&self) -> &[u64] {
        &self.latencies
    }
}
