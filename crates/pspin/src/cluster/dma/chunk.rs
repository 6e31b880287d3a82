//! What the cluster's DMA engine moves: parts of transfers, and where a stage of it stands with them.

use super::Finished;
use crate::protocol::beats;
use kernel::Cycle;
use std::mem::Discriminant;

/// Where bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Byte offset in the own L1.
    L1(u32),
    L2,
    Nowhere,
}

/// A part of a transfer that stays within a page on both sides: a burst on each.
pub struct Chunk {
    /// When its requests leave the emitters.
    pub emitted: Cycle,
    pub from: (Place, u32),
    pub to: (Place, u32),
    pub size: u32,
    /// What ends with it, if it is the last of its transfer.
    pub finishes: Option<Finished>,
    /// Zeros follow up to the end of its last word.
    pub fills_word: bool,
    pub reads: u32,
    pub writes: u32,
    /// Its bytes as far as they are read, and whether they are all known already.
    pub data: Vec<u8>,
    pub is_known: bool,
    /// From when on its write beats pass the crossbar.
    pub passes_from: Cycle,
    pub is_sent: bool,
    /// When its response can be at the crossbar by what is known, and how many things must still happen before.
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

    /// One of the things that it awaits has happened, as far as its response is concerned in this cycle.
    pub fn has(&mut self, happened: Cycle) {
        self.responds = self.responds.max(happened);
        self.awaits -= 1;
    }
}

/// A beat of a chunk.
#[derive(Clone, Copy, Default)]
pub struct At {
    pub chunk: u64,
    pub beat: u32,
}

impl At {
    /// Goes on to the next of the chunk's beats; whether that was its last.
    pub fn advance(&mut self, n_beats: u32) -> bool {
        self.beat += 1;
        let last = self.beat == n_beats;
        if last {
            *self = At { chunk: self.chunk + 1, beat: 0 };
        }
        last
    }
}

/// Bursts of one direction that have passed the crossbar and are not answered. They are all at one place: those to another
/// wait (`axi_demux.sv`).
#[derive(Default)]
pub struct Open {
    place: Option<Discriminant<Place>>,
    pub n: u32,
}

impl Open {
    /// Whether one to this place may pass while `n` are not answered.
    pub fn admits(&self, place: Place, n: u32) -> bool {
        n == 0 || self.place == Some(std::mem::discriminant(&place))
    }

    /// One to this place passes.
    pub fn add(&mut self, place: Place) {
        *self = Open { place: Some(std::mem::discriminant(&place)), n: self.n + 1 };
    }
}
