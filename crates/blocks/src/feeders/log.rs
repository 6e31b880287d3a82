//! When frames passed.

use kernel::Time;

/// That a frame passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Which one, if it is one of those that were sent.
    pub id: Option<u64>,
    /// When.
    pub at: Time,
    /// Its bytes, without check sequence.
    pub bytes: u32,
}

/// When frames passed a place. The first `room` of them are kept, all are counted.
#[derive(Clone, Default, Debug)]
pub struct FrameLog {
    room: usize,
    kept: Vec<Passage>,
    frames: u64,
    bytes: u64,
    last: Option<Time>,
}

impl FrameLog {
    /// An empty log that keeps up to `room` passages, of 32 bytes each.
    pub fn new(room: usize) -> FrameLog {
        FrameLog { room, ..FrameLog::default() }
    }

    /// Notes that a frame passed.
    pub fn note(&mut self, passage: Passage) {
        self.frames += 1;
        self.bytes += u64::from(passage.bytes);
        self.last = Some(passage.at);
        if self.kept.len() < self.room {
            self.kept.push(passage);
        }
    }

    /// The passages that were kept, in order.
    pub fn kept(&self) -> &[Passage] {
        &self.kept
    }

    /// Whether all are kept.
    pub fn is_complete(&self) -> bool {
        self.frames == self.kept.len() as u64
    }

    /// How many frames passed.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Their bytes, without check sequences.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last one passed.
    pub fn last(&self) -> Option<Time> {
        self.last
    }
}
