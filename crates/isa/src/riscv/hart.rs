//! The machine that an instruction acts on.

use super::csr::CsrWrite;

/// What an instruction can do to the machine that executes it.
///
/// [`execute`](super::execute) calls these methods and nothing else. The machine fetches, decodes and counts: before the
/// call `pc` is the address of the instruction, and unless the instruction calls [`Hart::jump`] (or the machine takes a
/// trap of its own accord) the next one stands at `pc + inst.bytes()`. A method that takes `rd` writes the register itself,
/// at once or later, so a memory may answer when it likes. Register 0 may appear everywhere; it reads as 0 and
/// ignores writes.
pub trait Hart {
    /// The value of register `r`, `r < 32`.
    fn x(&self, r: u8) -> u32;

    /// Writes register `r`; a write to register 0 is ignored.
    fn set(&mut self, r: u8, value: u32);

    /// Address of the instruction that executes.
    fn pc(&self) -> u32;

    /// Continues at `target` instead of behind the instruction. Called by `jal`, `jalr` and taken branches; `target` is
    /// even.
    fn jump(&mut self, target: u32);

    /// Reads memory into `rd`. The address may be misaligned.
    fn load(&mut self, rd: u8, addr: u32, kind: Load);

    /// Writes the low bytes of `value` to memory. The address may be misaligned.
    fn store(&mut self, addr: u32, value: u32, width: Width);

    /// Puts the word at `addr` into `rd` and [`Amo::apply`]s `value` to it. What [`Amo::LoadReserved`] and
    /// [`Amo::StoreConditional`] do is the machine's business: the first reserves, the second writes 0 to `rd` if
    /// it stored and 1 if not.
    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo);

    /// Writes the address register of an access with post-increment, after the access was asked for; register 0 ignores
    /// it. An answer to the same register comes later and stays.
    fn advance(&mut self, r: u8, value: u32);

    /// Sets a part of hardware loop `id`, 0 or 1.
    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32);

    /// Reads the control register `csr` into `rd` and writes it, in this order. `reads` is false where the standard
    /// forbids the side effects of a read (`csrrw` into register 0); then `rd` is 0.
    fn csr(&mut self, rd: u8, csr: u16, write: CsrWrite, reads: bool);

    /// Executes an instruction that concerns the machine as a whole.
    fn system(&mut self, what: System);

    /// Meets a word that is no instruction. A compressed one stands in the low 16 bits.
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
    /// 32 bits from the event unit, which answers when the event is there.
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

    /// What the register receives when the memory returned `raw`, whose bits above the width may be anything.
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

/// What an atomic memory operation makes of the old word and its operand.
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
    /// The smaller, signed.
    Min,
    /// The larger, signed.
    Max,
    /// The smaller, unsigned.
    MinU,
    /// The larger, unsigned.
    MaxU,
    /// `lr.w`: the word stays and is reserved.
    LoadReserved,
    /// `sc.w`: the operand replaces the word if the reservation still holds.
    StoreConditional,
}

/// What a hardware loop has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopPart {
    /// Address of its first instruction.
    Start,
    /// Address of its last instruction.
    End,
    /// How many times it runs yet.
    Count,
}

/// Instructions that concern the machine as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Calls the environment.
    Ecall,
    /// Stops for a debugger.
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
