//! Parts of transfers that the cluster's DMA engine moves, and the position of a stage in them.

use super::Finished;
use crate::protocol::{BEAT_BYTES, beats};
use kernel::Cycle;
use std::mem::Discriminant;
use std::ops::Range;

/// Location of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Byte offset in the own L1.
    L1(u32),
    L2,
    Nowhere,
}

/// One side of a part of a transfer: a burst, which stays within a page.
#[derive(Clone, Copy)]
pub struct Side {
    /// Cycle in which its request leaves the emitters.
    pub emitted: Cycle,
    pub place: Place,
    pub addr: u32,
    pub size: u32,
    pub beats: u32,
}

impl Side {
    pub fn new(emitted: Cycle, place: Place, addr: u32, size: u32) -> Self {
        Side { emitted, place, addr, size, beats: beats(addr, size) }
    }
}

/// A burst that reads.
pub struct ReadPart {
    pub side: Side,
    /// Destination of its first byte, which decides the lanes of all its bytes.
    pub to: u32,
}

/// A burst that writes.
pub struct WritePart {
    pub side: Side,
    /// L1 may write its beats more slowly than L2 can deliver them, which is one a cycle. A burst of one beat takes two
    /// cycles. If bytes are shifted, a written beat needs bytes of two read beats.
    pub is_uneven: bool,
    /// The transfer that ends with this part, if this is the last part.
    pub finishes: Option<Finished>,
    /// The rest of its last word is filled with zeros.
    pub fills_word: bool,
    /// First cycle in which its beats pass the crossbar.
    pub passes_from: Cycle,
    pub is_sent: bool,
    /// Earliest known cycle of its response at the crossbar, and the number of events that must still happen before.
    pub responds: Cycle,
    pub awaits: u32,
}

impl WritePart {
    /// A burst whose first byte comes from address `from`.
    pub fn new(side: Side, from: u32, finishes: Option<Finished>, fills_word: bool) -> Self {
        let is_uneven = side.beats == 1 || from % BEAT_BYTES != side.addr % BEAT_BYTES;
        let awaits = if side.place == Place::L2 { 2 } else { 1 };
        let (passes_from, is_sent, responds) = (Cycle::MAX, false, 0);
        WritePart { side, is_uneven, finishes, fills_word, passes_from, is_sent, responds, awaits }
    }

    /// An awaited event has happened. The response is at the crossbar in cycle `happened` at the earliest.
    pub fn has(&mut self, happened: Cycle) {
        self.responds = self.responds.max(happened);
        self.awaits -= 1;
    }
}

/// Position of a beat: its part, and its index in it.
#[derive(Clone, Copy, Default)]
pub struct At {
    pub part: u64,
    pub beat: u32,
}

impl At {
    /// Advances to the next beat. Returns true if the current beat was the last one of its part.
    pub fn advance(&mut self, n_beats: u32) -> bool {
        self.beat += 1;
        let last = self.beat == n_beats;
        if last {
            *self = At { part: self.part + 1, beat: 0 };
        }
        last
    }
}

/// Bytes that were read and are not written yet, in order.
#[derive(Default)]
pub struct Bytes {
    bytes: Vec<u8>,
    /// Number of bytes at the front that are written.
    begin: usize,
}

impl Bytes {
    /// Written bytes are removed when their number reaches this.
    const ROOM: usize = 1 << 14;

    pub fn len(&self) -> u32 {
        (self.bytes.len() - self.begin) as u32
    }

    pub fn get(&self, range: Range<u32>) -> &[u8] {
        &self.bytes[self.begin + range.start as usize..self.begin + range.end as usize]
    }

    /// The bytes, to which new ones are appended.
    pub fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The first `n` bytes are written.
    pub fn remove(&mut self, n: u32) {
        self.begin += n as usize;
        if self.begin == self.bytes.len() || self.begin >= Self::ROOM {
            self.bytes.drain(..self.begin);
            self.begin = 0;
        }
    }
}

/// Bursts of one direction that have passed the crossbar and are not answered. All of them go to the same place; bursts
/// to another place wait (`axi_demux.sv`).
#[derive(Default)]
pub struct Open {
    place: Option<Discriminant<Place>>,
    pub n: u32,
}

impl Open {
    /// Returns true if a burst to this place may pass while `n` bursts are not answered.
    pub fn admits(&self, place: Place, n: u32) -> bool {
        n == 0 || self.place == Some(std::mem::discriminant(&place))
    }

    /// Returns true if the last burst that passed went to this kind of place.
    pub fn is_to(&self, place: Place) -> bool {
        self.place == Some(std::mem::discriminant(&place))
    }

    /// A burst to this place passes.
    pub fn add(&mut self, place: Place) {
        *self = Open { place: Some(std::mem::discriminant(&place)), n: self.n + 1 };
    }
}
