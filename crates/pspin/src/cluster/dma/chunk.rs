//! Parts of transfers that the cluster's DMA engine moves, and the position of a stage in them.

use super::Finished;
use crate::protocol::{BEAT_BYTES, beats};
use kernel::Cycle;
use std::mem::Discriminant;

/// Location of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Byte offset in the own L1.
    L1(u32),
    L2,
    Nowhere,
}

/// A part of a transfer that stays within a page on both sides: one burst on each side.
pub struct Chunk {
    /// Cycle in which its requests leave the emitters.
    pub emitted: Cycle,
    pub from: (Place, u32),
    pub to: (Place, u32),
    pub size: u32,
    /// The transfer that ends with this part, if this is the last part.
    pub finishes: Option<Finished>,
    /// The rest of its last word is filled with zeros.
    pub fills_word: bool,
    pub reads: u32,
    pub writes: u32,
    /// Its bytes that are read so far. `is_known` is true if all bytes are known.
    pub data: Vec<u8>,
    pub is_known: bool,
    /// First cycle in which its write beats pass the crossbar.
    pub passes_from: Cycle,
    pub is_sent: bool,
    /// Earliest known cycle of its response at the crossbar, and the number of events that must still happen before.
    pub responds: Cycle,
    pub awaits: u32,
}

impl Chunk {
    pub fn new(
        emitted: Cycle,
        from: (Place, u32),
        to: (Place, u32),
        size: u32,
        finishes: Option<Finished>,
        fills_word: bool,
    ) -> Self {
        let (reads, writes) = (beats(from.1, size), beats(to.1, size));
        let awaits = if to.0 == Place::L2 { 2 } else { 1 };
        let (data, is_known, is_sent) = (Vec::new(), false, false);
        let (passes_from, responds) = (Cycle::MAX, 0);
        Chunk {
            emitted,
            from,
            to,
            size,
            finishes,
            fills_word,
            reads,
            writes,
            data,
            is_known,
            passes_from,
            is_sent,
            responds,
            awaits,
        }
    }

    /// Returns true if L1 may write its beats more slowly than L2 can deliver them, which is one a cycle. A burst of one
    /// beat takes two cycles. If bytes are shifted, a written beat needs bytes of two read beats.
    pub fn is_uneven(&self) -> bool {
        self.writes == 1 || self.from.1 % BEAT_BYTES != self.to.1 % BEAT_BYTES
    }

    /// An awaited event has happened. The response is at the crossbar in cycle `happened` at the earliest.
    pub fn has(&mut self, happened: Cycle) {
        self.responds = self.responds.max(happened);
        self.awaits -= 1;
    }
}

/// Position of a beat: its chunk, and its index in it.
#[derive(Clone, Copy, Default)]
pub struct At {
    pub chunk: u64,
    pub beat: u32,
}

impl At {
    /// Advances to the next beat. Returns true if the current beat was the last one of its chunk.
    pub fn advance(&mut self, n_beats: u32) -> bool {
        self.beat += 1;
        let last = self.beat == n_beats;
        if last {
            *self = At { chunk: self.chunk + 1, beat: 0 };
        }
        last
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
