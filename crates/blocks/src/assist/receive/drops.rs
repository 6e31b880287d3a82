//! Counters of dropped frames in memory, for firmware.

use super::{Attention, Use};
use crate::assist::asked::Asked;
use crate::assist::filter::Stranger;
use crate::bus::{Access, Data, word};
use kernel::Cycle;

/// Offsets of the counters in the statistics block: frames for other cards, for other groups, without room.
/// Source: docs/machines/tigon2.md, Descriptors.
const OFFSETS: [u64; 3] = [0x60, 0x64, 0x6c];

/// Progress of a counter update.
enum Step {
    Rest,
    /// A counter is being read.
    Asked,
    /// A counter's new value must be written.
    Write(usize, u32),
}

/// Counters that are read, incremented and written back when the memory port is otherwise unused.
pub struct Drops {
    /// Address of the statistics block; without one, nothing is counted in memory.
    pub base: Option<u64>,
    pending: [u32; 3],
    step: Step,
}

impl Drops {
    pub fn new() -> Drops {
        Drops { base: None, pending: [0; 3], step: Step::Rest }
    }

    pub fn note_stranger(&mut self, stranger: Stranger) {
        self.note(if stranger == Stranger::Card { 0 } else { 1 });
    }

    /// Notes the drop of a frame for this card.
    pub fn note_loss(&mut self, attention: Attention) {
        if matches!(attention, Attention::BufferFull | Attention::RingFull) {
            self.note(2);
        }
    }

    fn note(&mut self, kind: usize) {
        if self.base.is_some() {
            self.pending[kind] = self.pending[kind].wrapping_add(1);
        }
    }

    /// Sends a reference if one is needed and the port is unused.
    pub fn work(&mut self, now: Cycle, memory: &mut Asked<Use>) {
        let Some(base) = self.base.filter(|_| memory.is_free(now)) else { return };
        match self.step {
            Step::Rest => {
                let Some(kind) = self.pending.iter().position(|&pending| pending > 0) else { return };
                memory.ask(now, base + OFFSETS[kind], Access::Read(4), Use::Count(kind));
                self.step = Step::Asked;
            }
            Step::Asked => {}
            Step::Write(kind, value) => {
                let data = Data::from_slice(&value.to_be_bytes());
                memory.ask(now, base + OFFSETS[kind], Access::Write(data), Use::Counted);
                self.step = Step::Rest;
            }
        }
    }

    /// Handles the value of a counter.
    pub fn hear(&mut self, kind: usize, data: &[u8]) {
        let value = if data.len() == 4 { word(data) } else { 0 };
        self.step = Step::Write(kind, value.wrapping_add(std::mem::take(&mut self.pending[kind])));
    }
}
