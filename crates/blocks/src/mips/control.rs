//! What a card's registers say to a core, and what a core says back.

use crate::netlist::Wire;

/// An order to a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuControl {
    /// Forget everything and halt, with the program counter at the reset address.
    Reset,
    /// Stop before the next instruction.
    Halt,
    /// Go on from the program counter.
    Run,
    /// Execute one instruction, then halt.
    Step,
    /// The next instruction to execute; for a halted core.
    SetPc(u32),
    /// What is subtracted from addresses in the stack window.
    StackOffset(u32),
    /// General register and its new value; for a halted core.
    SetRegister(u8, u32),
}

/// How a core is; it says so whenever it halts or goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuStatus {
    /// Whether it stands still.
    pub is_halted: bool,
    /// Address of the next instruction.
    pub pc: u32,
    /// The general registers, when it halts.
    pub registers: Option<Box<[u32; 32]>>,
}

impl Wire for CpuControl {
    const NAME: &'static str = "cpu-control";
}

impl Wire for CpuStatus {
    const NAME: &'static str = "cpu-status";
}
