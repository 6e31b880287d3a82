//! Trap causes: the values of `mcause`. P table 3.6.

/// Instruction address misaligned. Cannot happen on cores with compressed instructions.
pub const INSTRUCTION_MISALIGNED: u32 = 0;
/// Instruction fetch not permitted, or no memory at the address.
pub const INSTRUCTION_FAULT: u32 = 1;
/// An illegal instruction, or one that the current mode may not execute.
pub const ILLEGAL_INSTRUCTION: u32 = 2;
/// `ebreak`.
pub const BREAKPOINT: u32 = 3;
/// Load address misaligned.
pub const LOAD_MISALIGNED: u32 = 4;
/// Load not permitted, or no memory at the address.
pub const LOAD_FAULT: u32 = 5;
/// Store or AMO address misaligned.
pub const STORE_MISALIGNED: u32 = 6;
/// Store or AMO not permitted, or no memory at the address.
pub const STORE_FAULT: u32 = 7;
/// `ecall` in user mode.
pub const ECALL_USER: u32 = 8;
/// `ecall` in machine mode.
pub const ECALL_MACHINE: u32 = 11;
/// Set in `mcause` when the trap is an interrupt.
pub const INTERRUPT: u32 = 1 << 31;
