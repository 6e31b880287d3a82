//! Logging of instructions. Only a core that counts or logs pays for it.

use super::core::Core;
use isa::riscv::{Class, Inst};
use kernel::Cycle;

/// Values of the registers of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// The destination.
    pub rd: u32,
    /// The first source.
    pub rs1: u32,
    /// The second source.
    pub rs2: u32,
    /// The third source.
    pub rs3: u32,
}

/// A completed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retired {
    /// Cycle in which it left decode.
    pub cycle: Cycle,
    /// Its address.
    pub pc: u32,
    /// The instruction; the destination [`super::SINK`] stands for register 0.
    pub inst: Inst,
    /// Register values before it.
    pub before: Named,
    /// Register values after it.
    pub after: Named,
    /// Address of the first byte accessed, for a memory access.
    pub addr: Option<u32>,
    /// True if it trapped and wrote no register.
    pub trapped: bool,
}

/// Called for every completed instruction, in order. Refused accesses and environment calls are included; illegal
/// instructions are not.
pub type InstructionLog = Box<dyn FnMut(&Retired)>;

/// A log, and the instruction in progress.
pub(super) struct Log {
    pub sink: InstructionLog,
    pub open: Option<Retired>,
}

impl Core {
    /// Passes every following instruction to `log`.
    pub fn log_instructions(&mut self, log: InstructionLog) {
        self.log = Some(Log { sink: log, open: None });
        self.watched |= Core::LOGGED;
        self.choose_attention();
    }

    fn named(&self, inst: &Inst) -> Named {
        let value = |r: u8| self.regs[usize::from(r)];
        Named { rd: value(inst.rd), rs1: value(inst.rs1), rs2: value(inst.rs2), rs3: value(inst.rs3) }
    }

    /// Records the start of an instruction that leaves decode.
    #[cold]
    pub(super) fn log_start(&mut self, inst: &Inst) {
        let before = self.named(inst);
        let (cycle, pc) = (self.time, self.pc);
        if let Some(log) = &mut self.log {
            log.open = Some(Retired { cycle, pc, inst: *inst, before, after: before, addr: None, trapped: false });
        }
    }

    /// Logs the completed instruction, after its registers are written.
    #[cold]
    pub(super) fn log_end(&mut self) {
        let Some(mut retired) = self.log.as_mut().and_then(|log| log.open.take()) else { return };
        retired.after = self.named(&retired.inst);
        let is_access = matches!(retired.inst.class(), Class::Load | Class::Store | Class::Amo | Class::Elw);
        retired.addr = is_access.then_some(self.access.addr);
        if let Some(log) = &mut self.log {
            (log.sink)(&retired);
        }
    }

    /// Logs a trap of the instruction in progress, if there is one.
    #[cold]
    pub(super) fn log_trap(&mut self, is_illegal: bool) {
        if let Some(log) = &mut self.log {
            log.open = log.open.filter(|_| !is_illegal).map(|retired| Retired { trapped: true, ..retired });
        }
        self.log_end();
    }
}
