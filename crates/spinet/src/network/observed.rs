//! Frames and messages of a network, from the rows of its events. They grow while the network runs.

use super::frames::Frames;
use super::messages::MessageLog;
use crate::run::RunError;
use crate::tracks::NetworkTracks;
use net::observe::Row;

/// Frames and messages of a network so far, and their timeline.
pub struct Observed {
    pub frames: Frames,
    pub timeline: Option<NetworkTracks>,
    /// Messages between hosts; only in the first process.
    pub messages: Option<MessageLog>,
    /// With several processes: rows of this one that the first process does not have yet.
    pub unshared: Option<Vec<Row>>,
}

impl Observed {
    /// Takes rows of this process.
    pub fn take(&mut self, rows: &[Row]) {
        match &mut self.unshared {
            Some(unshared) => unshared.extend_from_slice(rows),
            None => self.add(rows),
        }
    }

    /// Rows of this process that the first one does not have yet.
    pub fn take_unshared(&mut self) -> Vec<Row> {
        self.unshared.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Adds events of frames and messages, which come in order of time.
    pub fn add(&mut self, rows: &[Row]) {
        self.frames.add(rows);
        self.timeline.iter_mut().for_each(|timeline| timeline.add(rows));
        self.messages.iter_mut().for_each(|messages| messages.add(rows, &self.frames.kept));
    }

    /// Adds the last rows, and completes the messages that nobody received.
    pub fn close(&mut self) {
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
