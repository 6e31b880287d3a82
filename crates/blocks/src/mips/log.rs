//! Logging of instructions.

use super::code::Slot;
use super::core::MipsCore;
use super::state::Request;
use isa::mips::Inst;
use kernel::Cycle;

/// A completed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retired {
    /// Cycle in which it executed.
    pub cycle: Cycle,
    /// Its address.
    pub pc: u32,
    /// The instruction.
    pub inst: Inst,
    /// The register that it wrote, with the value. `None` for a load: the core continues before the value arrives.
    pub wrote: Option<(u8, u32)>,
    /// Address of a memory access.
    pub addr: Option<u32>,
}

/// Called for every completed instruction, in order. Annulled delay slots and instructions that stop the core are not included.
pub type InstructionLog = Box<dyn FnMut(&Retired)>;

impl MipsCore {
    /// Passes every following instruction to `log`.
    pub fn log_instructions(&mut self, log: InstructionLog) {
        self.log = Some(log);
        self.is_observed = true;
    }

    /// Logs an instruction that has written its registers, if there is a log.
    pub(super) fn log_retired(&mut self, cycle: Cycle, pc: u32, slot: &Slot, request: Request) {
        let Some(log) = &mut self.log else { return };
        let addr = match request {
            Request::Load { addr, .. } | Request::Store { addr, .. } | Request::Conditional { addr, .. } => Some(addr),
            Request::Nothing | Request::Sync | Request::Exception(_) => None,
        };
        let has_value = slot.writes != 0 && addr.is_none();
        let wrote = has_value.then(|| (slot.writes, self.state.r[usize::from(slot.writes & 31)]));
        log(&Retired { cycle, pc, inst: slot.inst, wrote, addr });
    }
}
