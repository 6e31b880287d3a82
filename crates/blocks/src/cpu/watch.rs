//! Events of `mhpmcounter3`. Only a core that counts or logs pays for it.

use super::core::{AccessKind, Core};
use super::csr::Counted;
use super::program::Kind;
use isa::riscv::Load;

// Bits of `mhpmevent3`. Source: PsPIN RTL a49fec8, `riscv_cs_registers.sv`.
pub(super) const EVENT_CYCLE: u32 = 1;
pub(super) const EVENT_INSTRUCTION: u32 = 1 << 1;
pub(super) const EVENT_LOAD_USE: u32 = 1 << 2;
pub(super) const EVENT_JUMP_REGISTER: u32 = 1 << 3;
pub(super) const EVENT_FETCH_MISS: u32 = 1 << 4;
pub(super) const EVENT_LOAD: u32 = 1 << 5;
pub(super) const EVENT_STORE: u32 = 1 << 6;
pub(super) const EVENT_JUMP: u32 = 1 << 7;
pub(super) const EVENT_BRANCH: u32 = 1 << 8;
pub(super) const EVENT_TAKEN: u32 = 1 << 9;
pub(super) const EVENT_COMPRESSED: u32 = 1 << 10;
pub(super) const EVENT_ELW_STALL: u32 = 1 << 11;

impl Core {
    /// Bit of [`Core::watched`] beside the events: every instruction is logged.
    pub(super) const LOGGED: u32 = 1 << 31;

    /// Adds `n` if `mhpmcounter3` counts this event.
    #[inline]
    pub(super) fn count(&mut self, event: u32, n: u64) {
        if self.watched & event != 0 {
            self.events += n;
        }
    }

    pub(super) fn count_jump(&mut self, kind: Kind) {
        if kind == Kind::Branch {
            self.count(EVENT_BRANCH, 1);
            self.count(EVENT_TAKEN, u64::from(self.jumped));
        } else {
            self.count(EVENT_JUMP, 1);
        }
    }

    /// Counts and logs an access that was answered.
    #[cold]
    pub(super) fn watch_access(&mut self, waited: u64) {
        self.profile_access(waited);
        if self.watched == Core::PROFILED {
            return;
        }
        self.count(EVENT_CYCLE, waited);
        self.count(EVENT_INSTRUCTION, 1);
        self.count_kind(waited);
        if self.log.is_some() {
            self.log_end();
        }
    }

    fn count_kind(&mut self, waited: u64) {
        match self.access.kind {
            AccessKind::Load(Load::Elw) => self.count(EVENT_ELW_STALL, waited - 1),
            AccessKind::Load(_) => self.count(EVENT_LOAD, 1),
            AccessKind::Store(_) => self.count(EVENT_STORE, 1),
            AccessKind::Amo(_) => {
                self.count(EVENT_LOAD, 1);
                self.count(EVENT_STORE, 1);
            }
        }
    }

    pub(super) fn counted(&self) -> Counted {
        Counted { cycle: self.time, instructions: self.instructions, events: self.events }
    }
}
