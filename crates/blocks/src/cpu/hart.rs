//! The effect of instructions on a core.

use super::core::{Access, AccessKind, Core, NO_LINE, Pending, Stop};
use super::program::{SINK, Slot};
use super::timing;
use super::window::Stretch;
use isa::riscv::{Amo, Class, CsrWrite, Hart, Load, LoopPart, System, Width, cause, csr};

impl Hart for Core {
    #[inline(always)]
    fn x(&self, r: u8) -> u32 {
        self.regs[usize::from(r)]
    }

    #[inline(always)]
    fn set(&mut self, r: u8, value: u32) {
        // Decoded programs write to `SINK` instead of register 0.
        self.regs[usize::from(r)] = value;
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn jump(&mut self, target: u32) {
        self.next = target;
        self.jumped = true;
    }

    #[inline(always)]
    fn load(&mut self, rd: u8, addr: u32, kind: Load) {
        self.access = Access::new(addr, 0, AccessKind::Load(kind), rd);
    }

    #[inline(always)]
    fn store(&mut self, addr: u32, value: u32, width: Width) {
        self.access = Access::new(addr, value, AccessKind::Store(width), 0);
    }

    #[inline(always)]
    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo) {
        self.access = Access::new(addr, value, AccessKind::Amo(amo), rd);
    }

    #[inline(always)]
    fn advance(&mut self, r: u8, value: u32) {
        let r = if r == 0 { SINK } else { r };
        self.regs[usize::from(r)] = value;
        self.access.stepped = r;
    }

    #[inline(never)]
    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.set_loop(id, part, value);
    }

    #[inline(never)]
    fn csr(&mut self, rd: u8, number: u16, write: CsrWrite, reads: bool) {
        let counted = self.counted();
        let Some(old) = self.csrs.access(number, write, counted) else {
            return self.illegal_here();
        };
        if reads {
            self.set(rd, old);
        }
        self.watched = self.csrs.counted_events() | self.watched & (Core::LOGGED | Core::PROFILED | Core::DEBUGGED);
        self.choose_attention();
        let cycles = if flushes(number) { timing::CSR_FLUSH } else { timing::CSR };
        self.pending = Pending::Done { cycles, stop: Stop::Yield };
    }

    #[inline(never)]
    fn system(&mut self, what: System) {
        self.pending = match what {
            System::Ecall => Pending::Trap { cause: self.csrs.ecall_cause(), value: 0 },
            System::Ebreak => Pending::Trap { cause: cause::BREAKPOINT, value: self.pc },
            System::Fence => Pending::Done { cycles: timing::FENCE, stop: Stop::Yield },
            System::FenceI => {
                self.line = NO_LINE;
                Pending::Done { cycles: timing::FENCE, stop: Stop::FenceI }
            }
            System::Wfi => Pending::Done { cycles: timing::FENCE, stop: Stop::Wait },
            System::Mret | System::Uret => {
                let target = if what == System::Mret { self.csrs.leave_trap() } else { self.csrs.user_return() };
                let Some(target) = target else { return self.illegal_here() };
                self.next = target;
                self.stretch = Stretch::default();
                self.line = NO_LINE;
                Pending::Done { cycles: timing::TRAP_RETURN, stop: Stop::Yield }
            }
        };
    }

    #[inline(never)]
    fn illegal(&mut self, word: u32) {
        self.pending = Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, value: word };
    }
}

/// Returns true if an access to this control register flushes the pipeline.
fn flushes(number: u16) -> bool {
    matches!(number, csr::MSTATUS | csr::USTATUS | csr::UEPC)
}

/// Returns true if this instruction stays in decode until the pipeline is empty. The next one waits at fetch meanwhile.
pub(super) fn empties_pipeline(slot: &Slot) -> bool {
    match slot.inst.class() {
        Class::Csr => flushes(slot.inst.csr()),
        class => matches!(class, Class::System | Class::Fence),
    }
}

impl Core {
    /// The instruction exists, but not at this privilege or in this core.
    pub(super) fn illegal_here(&mut self) {
        self.pending = Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, value: 0 };
    }
}
