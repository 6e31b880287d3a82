//! Instruction formats: where the operands stand in a word, and how an assembler writes them.
//!
//! A format says each thing once; decoding, encoding, disassembly and the cores' look at hazards all read it here.

use super::RA;

/// The operands of an instruction, named as in the manual. One that the format lacks is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Register in bits 25 to 21: a source.
    pub rs: u8,
    /// Register in bits 20 to 16: a source or the destination.
    pub rt: u8,
    /// Register in bits 15 to 11: the destination.
    pub rd: u8,
    /// Immediate, shift distance, code, or target in bytes; extended to 32 bits.
    pub imm: i32,
}

/// What an instruction does with a register that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It names none there.
    Absent,
    /// It reads it.
    Source,
    /// It writes it.
    Destination,
    /// It reads and writes it.
    Both,
}

use Role::{Absent, Both, Destination, Source};

impl Role {
    const fn is_read(self) -> bool {
        matches!(self, Source | Both)
    }

    const fn is_written(self) -> bool {
        matches!(self, Destination | Both)
    }
}

/// The field that becomes the immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lowest bit.
    at: u8,
    /// Number of bits.
    len: u8,
    /// Zeros that follow it.
    shift: u8,
    /// Whether it is sign-extended.
    is_signed: bool,
}

impl Field {
    const NONE: Field = Field { at: 0, len: 0, shift: 0, is_signed: false };

    const fn mask(self) -> u32 {
        (1 << self.len) - 1
    }

    const fn decode(self, word: u32) -> i32 {
        let raw = (word >> self.at & self.mask()) as i32;
        let unused = if self.is_signed { 32 - self.len as u32 } else { 0 };
        (raw << unused >> unused) << self.shift
    }

    const fn encode(self, imm: i32) -> u32 {
        (imm as u32 >> self.shift & self.mask()) << self.at
    }
}

/// A format: where the operands stand, what becomes of them, and how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// What becomes of `rs`.
    pub rs: Role,
    /// What becomes of `rt`.
    pub rt: Role,
    /// What becomes of `rd`.
    pub rd: Role,
    /// Whether it writes register 31 without naming it.
    pub links: bool,
    /// Where the immediate stands.
    pub imm: Field,
    /// Operands as written, with the names `rs`, `rt`, `rd`, `imm`; `hex` for an immediate in hexadecimal, `target` for one
    /// relative to the delay slot, `region` for one within its 256 MiB.
    pub syntax: &'static str,
}

impl Format {
    /// The operands in `word`.
    pub const fn decode(&self, word: u32) -> Operands {
        const fn register(role: Role, word: u32, at: u32) -> u8 {
            if matches!(role, Absent) { 0 } else { (word >> at & 31) as u8 }
        }
        Operands {
            rs: register(self.rs, word, 21),
            rt: register(self.rt, word, 16),
            rd: register(self.rd, word, 11),
            imm: self.imm.decode(word),
        }
    }

    /// The bits that hold `operands`, or `None` if the format cannot express them.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        let Operands { rs, rt, rd, imm } = operands;
        let word =
            u32::from(rs & 31) << 21 | u32::from(rt & 31) << 16 | u32::from(rd & 31) << 11 | self.imm.encode(imm);
        // Whatever did not fit is found by reading back.
        (self.decode(word) == operands).then_some(word)
    }

    /// The registers that an instruction with `operands` reads, by bit; register 0 is not among them.
    pub const fn reads(&self, operands: Operands) -> u32 {
        let rs = if self.rs.is_read() { 1 << operands.rs } else { 0 };
        let rt = if self.rt.is_read() { 1 << operands.rt } else { 0 };
        (rs | rt) & !1
    }

    /// The register that an instruction with `operands` writes, 0 if none.
    pub const fn writes(&self, operands: Operands) -> u8 {
        if self.links {
            RA
        } else if self.rt.is_written() {
            operands.rt
        } else {
            operands.rd // Which is 0 where there is none.
        }
    }
}

const LOW_HALF: Field = Field { at: 0, len: 16, shift: 0, is_signed: true };

/// No operands.
pub const NONE: Format = Format { rs: Absent, rt: Absent, rd: Absent, links: false, imm: Field::NONE, syntax: "" };
/// Two registers to a third.
pub const R: Format = Format { rs: Source, rt: Source, rd: Destination, syntax: "rd, rs, rt", ..NONE };
/// A register shifted by another.
pub const SHIFTV: Format = Format { syntax: "rd, rt, rs", ..R };
/// A register shifted by a constant.
pub const SHIFT: Format = Format {
    rt: Source,
    rd: Destination,
    imm: Field { at: 6, len: 5, shift: 0, is_signed: false },
    syntax: "rd, rt, imm",
    ..NONE
};
/// A register and a signed constant to another.
pub const I: Format = Format { rs: Source, rt: Destination, imm: LOW_HALF, syntax: "rt, rs, imm", ..NONE };
/// A register and an unsigned constant to another.
pub const IU: Format = Format { imm: Field { is_signed: false, ..LOW_HALF }, syntax: "rt, rs, hex", ..I };
/// A constant to a register.
pub const LUI: Format = Format { rs: Absent, syntax: "rt, hex", ..IU };
/// Two registers to HI and LO.
pub const MULDIV: Format = Format { rs: Source, rt: Source, syntax: "rs, rt", ..NONE };
/// The same, as divisions are written.
pub const DIVIDE: Format = Format { syntax: "zero, rs, rt", ..MULDIV };
/// From HI or LO to a register.
pub const RD: Format = Format { rd: Destination, syntax: "rd", ..NONE };
/// A register alone.
pub const RS: Format = Format { rs: Source, syntax: "rs", ..NONE };
/// A load.
pub const LOAD: Format = Format { syntax: "rt, imm(rs)", ..I };
/// A load or conditional store whose register is read and written.
pub const MERGE: Format = Format { rt: Both, ..LOAD };
/// A store.
pub const STORE: Format = Format { rt: Source, ..LOAD };
/// A branch on one register.
pub const B1: Format = Format { rs: Source, imm: Field { shift: 2, ..LOW_HALF }, syntax: "rs, target", ..NONE };
/// A branch on one register that links.
pub const BAL: Format = Format { links: true, ..B1 };
/// A branch on two registers.
pub const B2: Format = Format { rt: Source, syntax: "rs, rt, target", ..B1 };
/// A jump to a constant.
pub const J: Format = Format { imm: Field { at: 0, len: 26, shift: 2, is_signed: false }, syntax: "region", ..NONE };
/// A jump to a constant that links.
pub const JAL: Format = Format { links: true, ..J };
/// A jump to a register that links.
pub const JALR: Format = Format { rs: Source, rd: Destination, syntax: "rd, rs", ..NONE };
/// A jump into a table.
pub const JOFF: Format = Format { syntax: "rs, rt", ..MULDIV };
/// A trap on two registers, with a code.
pub const TRAP: Format =
    Format { imm: Field { at: 6, len: 10, shift: 0, is_signed: false }, syntax: "rs, rt, hex", ..MULDIV };
/// A trap on a register and a signed constant.
pub const TRAPI: Format = Format { rs: Source, imm: LOW_HALF, syntax: "rs, imm", ..NONE };
/// A code alone.
pub const CODE: Format = Format { imm: Field { at: 6, len: 20, shift: 0, is_signed: false }, syntax: "hex", ..NONE };
