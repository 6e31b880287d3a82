//! Logs of frame times.

use kernel::Time;

/// The passage of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The frame number, if the frame is one of those sent.
    pub id: Option<u64>,
    /// Time of the passage.
    pub at: Time,
    /// Frame bytes, without check sequence.
    pub bytes: u32,
}

/// The place of a frame in host memory, for the paths of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPlace {
    /// The frame number.
    pub frame: u64,
    /// When the host posted the frame, or took it.
    pub at: Time,
    /// Areas of host memory that hold its bytes: address and number of bytes.
    pub data: Vec<(u64, u64)>,
    /// Areas of host memory that hold its descriptors and, for a received frame, the word that announces it to the
    /// host.
    pub descriptors: Vec<(u64, u64)>,
}

/// Times at which frames passed a place. All are counted; the first `room` are kept.
#[derive(Clone, Default, Debug)]
pub struct FrameLog {
    room: usize,
    kept: Vec<Passage>,
    frames: u64,
    bytes: u64,
    last: Option<Time>,
}

impl FrameLog {
    /// An empty log that keeps up to `room` passages of 32 bytes each.
    pub fn new(room: usize) -> FrameLog {
        FrameLog { room, ..FrameLog::default() }
    }

    /// Records a passage.
    pub fn note(&mut self, passage: Passage) {
        self.frames += 1;
        self.bytes += u64::from(passage.bytes);
        self.last = Some(passage.at);
        if self.kept.len() < self.room {
            self.kept.push(passage);
        }
    }

    /// The passages kept, in order.
    pub fn kept(&self) -> &[Passage] {
        &self.kept
    }

    /// Returns true if all passages are kept.
    pub fn is_complete(&self) -> bool {
        self.frames == self.kept.len() as u64
    }

    /// Number of frames that passed.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes of all frames, without check sequences.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of the last passage.
    pub fn last(&self) -> Option<Time> {
        self.last
    }
}
