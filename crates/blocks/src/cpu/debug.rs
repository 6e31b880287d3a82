//! The core under a debugger. Only a core with a probe pays for it.

use super::core::{AccessKind, Core};
use crate::debug::{Event, Probe, Report};
use isa::riscv::Amo;

impl Core {
    /// Bit of [`Core::watched`] beside the events: a debugger observes the core.
    pub(super) const DEBUGGED: u32 = 1 << 29;

    /// Reports every following instruction to `probe`.
    pub fn set_probe(&mut self, probe: Probe) {
        self.probe = Some(probe);
        self.watched |= Core::DEBUGGED;
        self.choose_attention();
    }

    /// The general registers.
    pub fn registers(&self) -> &[u32] {
        &self.regs[..32]
    }

    /// Reports an event that the core's surroundings know, if the core has a probe.
    pub fn report_with(&mut self, event: impl FnOnce() -> Event) {
        if self.probe.is_some() {
            self.report(event());
        }
    }

    #[cold]
    pub(super) fn report(&mut self, event: Event) {
        if let Some(probe) = &mut self.probe {
            probe(&Report { event, at: self.time, pc: self.pc, registers: &self.regs[..32] });
        }
    }

    /// Reports the access of the current instruction.
    #[cold]
    pub(super) fn report_access(&mut self) {
        let (loads, stores) = match self.access.kind {
            AccessKind::Load(_) | AccessKind::Amo(Amo::LoadReserved) => (true, false),
            AccessKind::Store(_) => (false, true),
            AccessKind::Amo(_) => (true, true),
        };
        let (addr, bytes) = (self.access.addr, self.access.bytes());
        self.report(Event::Access { addr, bytes, loads, stores, replaces: None });
    }
}
