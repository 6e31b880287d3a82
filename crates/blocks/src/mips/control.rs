//! Messages between a card's registers and a core.

use crate::netlist::Wire;

/// An order to a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuControl {
    /// Resets and halts the core; the program counter becomes the reset address.
    Reset,
    /// Stop before the next instruction.
    Halt,
    /// Continues from the program counter.
    Run,
    /// Execute one instruction, then halt.
    Step,
    /// Sets the program counter of a halted core.
    SetPc(u32),
    /// Sets the offset that is subtracted from addresses in the stack window.
    StackOffset(u32),
    /// Sets a general register of a halted core.
    SetRegister(u8, u32),
}

/// State of a core, sent whenever it halts or continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuStatus {
    /// True if the core is halted.
    pub is_halted: bool,
    /// Address of the next instruction.
    pub pc: u32,
    /// The general registers, if the core has halted.
    pub registers: Option<Box<[u32; 32]>>,
}

impl Wire for CpuControl {
    const NAME: &'static str = "cpu-control";
}

impl Wire for CpuStatus {
    const NAME: &'static str = "cpu-status";
}
