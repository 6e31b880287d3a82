//! Frames and messages of a network, from the rows of its events. They grow while the network runs.

use super::frames::Frames;
use super::messages::MessageLog;
use crate::run::RunError;
use crate::tracks::NetworkTracks;
use kernel::Time;
use net::observe::{Row, What};

/// Frames and messages of a network so far, and their timeline.
pub struct Observed {
    pub frames: Frames,
    pub timeline: Option<NetworkTracks>,
    /// Messages between hosts; only in the first process.
    pub messages: Option<MessageLog>,
    /// With several processes: rows of this one that the first process does not have yet.
    pub unshared: Option<Vec<Row>>,
    /// With several processes: rows of all of them that the first process has not added yet, in no order of time. It adds them while
    /// its threads simulate, because the other processes would wait for it otherwise.
    pub gathered: Vec<Row>,
    /// The last time at which a frame of this process moved.
    pub moved_at: Time,
}

impl Observed {
    /// Takes rows of this process.
    pub fn take(&mut self, rows: &[Row]) {
        self.moved_at = last_move(rows).map_or(self.moved_at, |last| last.max(self.moved_at));
        match &mut self.unshared {
            Some(unshared) => unshared.extend_from_slice(rows),
            None => self.add(rows),
        }
    }

    /// Rows of this process that the first one does not have yet.
    pub fn take_unshared(&mut self) -> Vec<Row> {
        self.unshared.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Takes rows of all processes, each node's in order. They are added by the next [`Self::catch_up`].
    pub fn take_gathered(&mut self, rows: Vec<Row>) {
        self.catch_up();
        self.gathered = rows;
    }

    /// Returns true if there are gathered rows to add.
    pub fn is_behind(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// Adds the gathered rows.
    pub fn catch_up(&mut self) {
        let mut rows = std::mem::take(&mut self.gathered);
        // The sort is stable: rows of a node come from one process, in order.
        rows.sort_by_key(|row| (row.at, row.node));
        self.add(&rows);
    }

    /// Frames that entered.
    pub fn entered(&self) -> u64 {
        let waiting = self.gathered.iter().filter(|row| matches!(row.what, What::Entered));
        self.frames.entered() + waiting.count() as u64
    }

    /// Adds events of frames and messages, which come in order of time.
    fn add(&mut self, rows: &[Row]) {
        self.frames.add(rows);
        self.timeline.iter_mut().for_each(|timeline| timeline.add(rows));
        self.messages.iter_mut().for_each(|messages| messages.add(rows, &self.frames.kept));
    }

    /// Adds the last rows, and completes the messages that nobody received.
    pub fn close(&mut self) {
        self.catch_up();
        let rows = self.take_unshared();
        self.add(&rows);
        let Observed { frames, messages, .. } = self;
        messages.iter_mut().for_each(|messages| messages.close(&frames.kept));
    }

    /// Writes the rest of the timeline.
    pub fn finish_timeline(&mut self) -> Result<(), RunError> {
        self.timeline.take().map_or(Ok(()), NetworkTracks::finish).map_err(RunError::new)
    }
}

/// The last time at which one of these frames moved, except pause frames.
fn last_move(rows: &[Row]) -> Option<Time> {
    let moved = rows.iter().filter_map(|row| match row.what {
        What::Entered => Some(row.at),
        What::Crossed { tail, is_pause: false, .. } | What::Delivered { tail } => Some(tail),
        _ => None,
    });
    moved.max()
}
