//! The machine that instructions act on.

use super::csr::CsrWrite;

/// Operations that an instruction can perform on the hart that executes it.
///
/// [`execute`](super::execute) calls only these methods. The machine fetches, decodes and counts. Before the call, `pc`
/// is the address of the instruction. The next instruction is at `pc + inst.bytes()`, unless the instruction calls
/// [`Hart::jump`] or the machine takes a trap.
///
/// A method with a parameter `rd` writes that register itself, at once or later, so a memory access may take any time.
/// Every method accepts register 0, which reads as 0 and ignores writes.
pub trait Hart {
    /// The value of register `r`, which is below 32.
    fn x(&self, r: u8) -> u32;

    /// Writes register `r`; a write to register 0 is ignored.
    fn set(&mut self, r: u8, value: u32);

    /// Address of the instruction that executes.
    fn pc(&self) -> u32;

    /// Continues at `target`, which is even, instead of the next instruction. Called by `jal`, `jalr` and taken
    /// branches.
    fn jump(&mut self, target: u32);

    /// Reads memory into `rd`. The address may be misaligned.
    fn load(&mut self, rd: u8, addr: u32, kind: Load);

    /// Writes the low bytes of `value` to memory. The address may be misaligned.
    fn store(&mut self, addr: u32, value: u32, width: Width);

    /// Reads the word at `addr` into `rd` and applies [`Amo::apply`] with `value` to it. The machine implements
    /// reservations: [`Amo::LoadReserved`] makes one; [`Amo::StoreConditional`] writes 0 to `rd` if it stored and 1 if
    /// not.
    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo);

    /// Writes the address register of an access with post-increment, after the access was issued. Ignores register 0.
    /// If the access loads into the same register, the loaded value comes later and stays.
    fn advance(&mut self, r: u8, value: u32);

    /// Sets a register of hardware loop `id`, 0 or 1.
    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32);

    /// Reads the control register `csr` into `rd`, then writes it. `reads` is false where the standard forbids the side
    /// effects of a read (`csrrw` into register 0); then `rd` is 0.
    fn csr(&mut self, rd: u8, csr: u16, write: CsrWrite, reads: bool);

    /// Executes a system instruction.
    fn system(&mut self, what: System);

    /// Called for an illegal instruction. A compressed one is in the low 16 bits.
    fn illegal(&mut self, word: u32);
}

/// Width of a load and how it fills the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// 8 bits, sign-extended.
    Byte,
    /// 8 bits, zero-extended.
    ByteU,
    /// 16 bits, sign-extended.
    Half,
    /// 16 bits, zero-extended.
    HalfU,
    /// 32 bits.
    Word,
    /// 32 bits from the event unit, which answers when the event occurs.
    Elw,
}

impl Load {
    /// Number of bytes read.
    #[inline]
    pub const fn bytes(self) -> u32 {
        match self {
            Load::Byte | Load::ByteU => 1,
            Load::Half | Load::HalfU => 2,
            Load::Word | Load::Elw => 4,
        }
    }

    /// The new register value when memory returned `raw`. Bits of `raw` above the width are ignored.
    #[inline]
    pub const fn extend(self, raw: u32) -> u32 {
        match self {
            Load::Byte => raw as u8 as i8 as u32,
            Load::ByteU => raw as u8 as u32,
            Load::Half => raw as u16 as i16 as u32,
            Load::HalfU => raw as u16 as u32,
            Load::Word | Load::Elw => raw,
        }
    }
}

/// Width of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

impl Width {
    /// Number of bytes written.
    #[inline]
    pub const fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }
}

/// Operations on an old word and an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amo {
    /// The operand replaces the word.
    Swap,
    /// Sum, modulo 2^32.
    Add,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Minimum, signed.
    Min,
    /// Maximum, signed.
    Max,
    /// Minimum, unsigned.
    MinU,
    /// Maximum, unsigned.
    MaxU,
    /// `lr.w`: keeps the word and reserves it.
    LoadReserved,
    /// `sc.w`: the operand replaces the word if the reservation still holds.
    StoreConditional,
}

/// A register of a hardware loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopPart {
    /// Address of its first instruction.
    Start,
    /// Address of its last instruction.
    End,
    /// Remaining iterations.
    Count,
}

/// System instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Environment call.
    Ecall,
    /// Breakpoint.
    Ebreak,
    /// Returns from a trap taken in machine mode.
    Mret,
    /// Returns from a trap taken in user mode.
    Uret,
    /// Waits for an interrupt.
    Wfi,
    /// Orders memory accesses.
    Fence,
    /// Makes stores visible to instruction fetch.
    FenceI,
}
