//! A frame that is being sent: its pieces in memory, and the bytes read so far.

use crate::assist::line_rate::LineRate;
use crate::assist::moves::Area;
use crate::bus::word;
use crate::ethernet::Frame;
use kernel::{Cycle, Time};

/// Bytes of a preamble with its start delimiter. Source: IEEE 802.3, 3.1.1.
pub const PREAMBLE_BYTES: u64 = 8;
/// Bytes of a gap between frames. Source: IEEE 802.3, 4.4.2.
pub const GAP_BYTES: u64 = 12;
/// Bytes of a descriptor: word 0 is the address and flags, word 1 the tag and length. Source:
/// docs/machines/tigon2.md, Descriptors.
pub const DESCRIPTOR_BYTES: u32 = 8;
/// Bit of word 0: inserts a VLAN tag. Source: docs/machines/tigon2.md, Descriptors.
pub const INSERT_TAG: u32 = 1 << 30;
/// Bit of word 0: the frame continues in the next descriptor. assumed: docs/machines/tigon2.md, Descriptors.
pub const CONTINUES: u32 = 1 << 31;

/// A part of a frame in memory.
pub struct Piece {
    pub addr: u64,
    pub bytes: u32,
    pub requested: u32,
    pub received: u32,
    /// Index of the entry after its descriptor.
    pub after: u32,
    pub vlan: Option<u16>,
    /// True for the last piece of a frame.
    pub is_last: bool,
    pub times: Times,
}

/// Cycles of a piece, for records of transfers.
#[derive(Clone, Copy, Default)]
pub struct Times {
    /// The assist learned of the descriptor.
    pub ordered: Cycle,
    /// The first word of the descriptor was requested (`reading`); the whole descriptor had arrived (`read`).
    pub reading: Cycle,
    pub read: Cycle,
    /// Its first byte was requested.
    pub requested: Cycle,
    /// Cycles in which no byte could be requested, because the assist's buffer was full.
    pub full: Cycle,
}

impl Piece {
    /// Decodes a descriptor; `after` is the index of the next entry.
    pub fn of(descriptor: &[u8], after: u32) -> Piece {
        let (first, second) = (word(&descriptor[..4]), word(&descriptor[4..8]));
        Piece {
            addr: u64::from(first & !(INSERT_TAG | CONTINUES)),
            bytes: second & 0xffff,
            requested: 0,
            received: 0,
            after,
            vlan: (first & INSERT_TAG != 0).then_some((second >> 16) as u16),
            is_last: first & CONTINUES == 0,
            times: Times::default(),
        }
    }
}

/// A frame whose bytes are being read or sent.
#[derive(Default)]
pub struct Outgoing {
    pub bytes: Vec<u8>,
    pub is_whole: bool,
    pub is_broken: bool,
    /// Earliest start of the preamble.
    pub ready: Option<Time>,
    pub start: Option<Time>,
    /// Times of the first piece, but `full` counts the cycles of all pieces.
    pub times: Option<Times>,
    /// Where its bytes were, if transfers are recorded.
    pub areas: Vec<Area>,
}

impl Outgoing {
    /// Completes the frame after its last byte: inserts the tag, adds padding.
    pub fn finish(&mut self, tag: Option<(u16, u16)>) {
        if let Some((vlan_type, tag)) = tag.filter(|_| self.bytes.len() >= 12) {
            let tag = u32::from(vlan_type) << 16 | u32::from(tag);
            self.bytes.splice(12..12, tag.to_be_bytes());
        }
        if self.bytes.len() < Frame::LEAST_BYTES {
            self.bytes.resize(Frame::LEAST_BYTES, 0);
        }
        self.is_whole = true;
    }

    /// Number of bytes that have left at this time.
    pub fn gone(&self, at: Time, line: LineRate) -> u64 {
        let Some(start) = self.start.filter(|&start| start < at) else { return 0 };
        line.bytes(at - start).saturating_sub(PREAMBLE_BYTES).min(self.bytes.len() as u64)
    }
}
