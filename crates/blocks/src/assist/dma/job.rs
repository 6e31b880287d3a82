//! A started transfer: its progress, and its next reference.

use crate::assist::checksum::OnesComplement;
use crate::assist::pieces::{mirrored_piece, piece};
use crate::assist::protocol::{Buffers, Transfer};
use crate::bus::word;
use kernel::Cycle;

/// An entry of one of the rings.
#[derive(Clone, Copy)]
pub struct Entry {
    pub ring: u8,
    pub index: u32,
}

pub struct Job {
    /// `None` for a transfer without a descriptor.
    pub entry: Option<Entry>,
    pub transfer: Transfer,
    /// Progress in bytes: requested from the source, received from it, sent to the sink, and acknowledged by the sink.
    pub requested: u32,
    pub received: u32,
    pub sent: u32,
    pub acknowledged: u32,
    pub sum: OnesComplement,
    pub is_sum_sent: bool,
    pub is_sum_stored: bool,
    pub times: Times,
}

/// Cycles of a job, for records of transfers.
#[derive(Clone, Copy, Default)]
pub struct Times {
    /// The assist learned of the transfer.
    pub ordered: Cycle,
    /// The first word of the descriptor was requested (`reading`); the whole descriptor had arrived (`read`).
    pub reading: Cycle,
    pub read: Cycle,
    /// The first byte was requested from the source (`requested`); the last byte arrived (`received`).
    pub requested: Cycle,
    pub received: Cycle,
    /// Cycles in which the source got no requests, because the assist's buffer was full.
    pub full: Cycle,
    /// The sink had acknowledged the last byte, and memory the checksum.
    pub stored: Cycle,
}

impl Job {
    pub fn new(entry: Option<Entry>, transfer: Transfer) -> Job {
        let is_sum_stored = transfer.state & Transfer::CHECKSUM != Transfer::CHECKSUM;
        let sum = OnesComplement::default();
        Job {
            entry,
            transfer,
            requested: 0,
            received: 0,
            sent: 0,
            acknowledged: 0,
            sum,
            is_sum_sent: is_sum_stored,
            is_sum_stored,
            times: Times::default(),
        }
    }

    /// Sets its times up to the end of its descriptor.
    pub fn at(mut self, ordered: Cycle, reading: Cycle, read: Cycle) -> Job {
        self.times = Times { ordered, reading, read, ..self.times };
        self
    }

    /// Returns true if its checksum is stored in memory or reported.
    pub fn needs_sum(&self) -> bool {
        self.entry.is_none() || !self.is_sum_stored
    }

    pub fn is_done(&self) -> bool {
        self.acknowledged == self.transfer.bytes && self.is_sum_stored
    }

    /// Address and bytes of the next reference on one side after `done` bytes.
    pub fn reference(&self, is_host: bool, done: u32, limit: u32, buffers: &Buffers) -> (u64, u32) {
        let Transfer { host, local, bytes, .. } = self.transfer;
        let (addr, left) = (host.wrapping_add(u64::from(done)), bytes - done);
        match is_host {
            true if self.is_mirrored() => mirrored_piece(addr, left, limit),
            true => (addr, piece(addr, left, limit)),
            false => buffers.piece(local, done, bytes, limit),
        }
    }

    /// Returns true if a reference to host memory, of at most `limit` bytes, may end within the last `bytes` requested bytes.
    pub fn completes_host_reference(&self, bytes: u32, limit: u32) -> bool {
        let Transfer { host, bytes: all, .. } = self.transfer;
        let is_byte_by_byte =
            self.is_mirrored() && !(host.is_multiple_of(4) && all.is_multiple_of(4) && limit.is_multiple_of(4));
        let (first, end) =
            (host.wrapping_add((self.requested - bytes).into()), host.wrapping_add(self.requested.into()));
        self.requested == all || is_byte_by_byte || first / u64::from(limit) != end / u64::from(limit)
    }

    pub fn is_mirrored(&self) -> bool {
        self.transfer.state & Transfer::KEEPS_WORDS != 0
    }
}

/// Decodes a descriptor; a short one has no state and no checksum address.
pub fn transfer(descriptor: &[u8]) -> Transfer {
    let at = |i: usize| descriptor.get(4 * i..4 * i + 4).map_or(0, word);
    Transfer {
        host: u64::from(at(0)) << 32 | u64::from(at(1)),
        local: u64::from(at(2)),
        bytes: at(3) & 0xffff,
        state: at(4),
        checksum_at: u64::from(at(5)),
    }
}
