//! A started transfer: its progress, and its next reference.

use crate::assist::checksum::OnesComplement;
use crate::assist::pieces::{mirrored_piece, piece};
use crate::assist::protocol::{Buffers, Transfer};
use crate::bus::word;

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
        }
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
