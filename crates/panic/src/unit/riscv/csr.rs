//! Control and status registers of a core with machine mode only.

use isa::riscv::{CsrWrite, csr};
use kernel::Cycle;

/// RV32I.
const MISA: u32 = 1 << 30 | 1 << 8;
/// `mstatus.MPP`: the mode before a trap is always machine mode.
const MSTATUS_MPP: u32 = 3 << 11;

/// The registers. There are no interrupts.
#[derive(Default)]
pub(super) struct Csrs {
    pub mtvec: u32,
    mscratch: u32,
    mepc: u32,
    mcause: u32,
    mtval: u32,
}

impl Csrs {
    /// Takes a trap; returns the address of the handler.
    pub fn enter_trap(&mut self, cause: u32, value: u32, pc: u32) -> u32 {
        (self.mcause, self.mtval, self.mepc) = (cause, value, pc);
        self.mtvec & !3
    }

    /// Return address of `mret`.
    pub fn leave_trap(&self) -> u32 {
        self.mepc
    }

    /// Reads and writes register `number`; `None` if the access is illegal.
    pub fn access(&mut self, number: u16, write: CsrWrite, now: Cycle, instructions: u64) -> Option<u32> {
        if write.writes() && csr::is_read_only(number) {
            return None;
        }
        let old = match number {
            csr::MSTATUS => MSTATUS_MPP,
            csr::MISA => MISA,
            csr::MTVEC => self.mtvec,
            csr::MSCRATCH => self.mscratch,
            csr::MEPC => self.mepc,
            csr::MCAUSE => self.mcause,
            csr::MTVAL => self.mtval,
            csr::MCYCLE | csr::CYCLE => now as u32,
            csr::MCYCLEH | csr::CYCLEH => (now >> 32) as u32,
            csr::MINSTRET | csr::INSTRET => instructions as u32,
            csr::MINSTRETH | csr::INSTRETH => (instructions >> 32) as u32,
            csr::MIE | csr::MIP | csr::MHARTID | csr::MVENDORID | csr::MARCHID | csr::MIMPID => 0,
            _ => return None,
        };
        let new = write.apply(old);
        match number {
            _ if !write.writes() => {}
            csr::MTVEC => self.mtvec = new & !3, // Direct mode only.
            csr::MSCRATCH => self.mscratch = new,
            csr::MEPC => self.mepc = new & !3,
            csr::MCAUSE => self.mcause = new,
            csr::MTVAL => self.mtval = new,
            _ => {} // Counters and the others are read-only.
        }
        Some(old)
    }
}
