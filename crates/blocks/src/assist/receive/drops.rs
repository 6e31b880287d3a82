//! Counters of dropped frames in memory, for firmware.

use super::{Attention, Use};
use crate::assist::filter::Refusal;
use crate::assist::tracked_port::TrackedPort;
use crate::bus::{Access, Data, word};
use kernel::Cycle;

/// Offsets of the counters in the statistics block: frames for other cards, for other groups, without room.
/// Source: docs/machines/tigon2.md, Descriptors.
const OFFSETS: [u64; 3] = [0x60, 0x64, 0x6c];

/// Progress of a counter update.
enum CountStep {
    Rest,
    /// A counter is being read.
    TrackedPort,
    /// A counter's new value must be written.
    Write(usize, u32),
}

/// Counters that are read, incremented and written back when the memory port is otherwise unused.
pub struct Drops {
    /// Address of the statistics block; without one, nothing is counted in memory.
    pub base: Option<u64>,
    pending: [u32; 3],
    step: CountStep,
}

impl Drops {
    pub fn new() -> Drops {
        Drops { base: None, pending: [0; 3], step: CountStep::Rest }
    }

    pub fn note_refused(&mut self, stranger: Refusal) {
        self.note(if stranger == Refusal::Card { 0 } else { 1 });
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

    /// Returns true if a reference is needed.
    pub fn has_work(&self) -> bool {
        self.base.is_some()
            && match self.step {
                CountStep::Rest => self.pending.iter().any(|&pending| pending > 0),
                CountStep::TrackedPort => false,
                CountStep::Write(..) => true,
            }
    }

    /// Sends a reference if one is needed and the port is unused.
    pub fn work(&mut self, now: Cycle, memory: &mut TrackedPort<Use>) {
        let Some(base) = self.base.filter(|_| memory.is_free(now)) else { return };
        match self.step {
            CountStep::Rest => {
                let Some(kind) = self.pending.iter().position(|&pending| pending > 0) else { return };
                memory.ask(now, base + OFFSETS[kind], Access::Read(4), Use::Count(kind));
                self.step = CountStep::TrackedPort;
            }
            CountStep::TrackedPort => {}
            CountStep::Write(kind, value) => {
                let data = Data::from_slice(&value.to_be_bytes());
                memory.ask(now, base + OFFSETS[kind], Access::Write(data), Use::Counted);
                self.step = CountStep::Rest;
            }
        }
    }

    /// Handles the value of a counter.
    pub fn update(&mut self, kind: usize, data: &[u8]) {
        let value = if data.len() == 4 { word(data) } else { 0 };
        self.step = CountStep::Write(kind, value.wrapping_add(std::mem::take(&mut self.pending[kind])));
    }
}
