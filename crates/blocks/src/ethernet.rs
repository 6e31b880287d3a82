//! What travels between a MAC and the network.

use std::rc::Rc;

/// A frame on the wire, from destination address to the last byte before the frame check sequence.
///
/// It is on a channel when its last bit has passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who it is: sources count from 0; the copy that arrives elsewhere has the same number.
    pub id: u64,
    /// Its bytes, without frame check sequence.
    pub bytes: Rc<[u8]>,
    /// Whether the frame check sequence is right.
    pub is_intact: bool,
}

impl Frame {
    /// Bytes of a frame check sequence.
    pub const FCS_BYTES: u32 = 4;
    /// Bytes of line time before and after a frame: preamble with start delimiter (8) and interframe gap (12).
    /// Source: IEEE 802.3, 4.2.3.2 and 3.1.1.
    pub const OVERHEAD_BYTES: u32 = 20;

    /// Bytes of line time that the frame takes, with check sequence, preamble and gap.
    pub fn line_bytes(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(Frame::FCS_BYTES + Frame::OVERHEAD_BYTES)
    }
}
