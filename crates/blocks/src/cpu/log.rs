//! Who hears of every instruction. Only a core that counts or logs pays for it.

use super::core::Core;
use isa::riscv::{Class, Inst};
use kernel::Cycle;

/// Values of the registers that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Of the destination.
    pub rd: u32,
    /// Of the first source.
    pub rs1: u32,
    /// Of the second source.
    pub rs2: u32,
    /// Of the third source.
    pub rs3: u32,
}

/// An instruction that a core has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retired {
    /// When it left decode.
    pub cycle: Cycle,
    /// Its address.
    pub pc: u32,
    /// What it is; as a destination [`super::SINK`] stands for register 0.
    pub inst: Inst,
    /// Registers before it.
    pub before: Named,
    /// Registers behind it.
    pub after: Named,
    /// First byte that it accessed, if it is an access to memory.
    pub addr: Option<u32>,
    /// It ended in a trap and wrote no register.
    pub trapped: bool,
}

/// Hears of every instruction in order, when it is done. An access that was refused is told too, as are calls of the
/// environment; a word that is no instruction, or not for this privilege, is not.
pub type InstructionLog = Box<dyn FnMut(&Retired)>;

/// A log and the instruction that is under way.
pub(super) struct Log {
    pub sink: InstructionLog,
    pub open: Option<Retired>,
}

impl Core {
    /// Tells `log` of every instruction from now on.
    pub fn log_instructions(&mut self, log: InstructionLog) {
        self.log = Some(Log { sink: log, open: None });
        self.watched |= Core::LOGGED;
        self.choose_attention();
    }

    fn named(&self, inst: &Inst) -> Named {
        let value = |r: u8| self.regs[usize::from(r)];
        Named { rd: value(inst.rd), rs1: value(inst.rs1), rs2: value(inst.rs2), rs3: value(inst.rs3) }
    }

    /// An instruction leaves decode.
    #[cold]
    pub(super) fn log_start(&mut self, inst: &Inst) {
        let before = self.named(inst);
        let (cycle, pc) = (self.time, self.pc);
        if let Some(log) = &mut self.log {
            log.open = Some(Retired { cycle, pc, inst: *inst, before, after: before, addr: None, trapped: false });
        }
    }

    /// The instruction that left decode is done, its registers are written.
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

    /// The instruction that left decode, if any did, trapped.
    #[cold]
    pub(super) fn log_trap(&mut self, is_illegal: bool) {
        if let Some(log) = &mut self.log {
            log.open = log.open.filter(|_| !is_illegal).map(|retired| Retired { trapped: true, ..retired });
        }
        self.log_end();
    }
}
