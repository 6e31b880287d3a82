//! Instruction formats: the fields of the operands in a word, and their assembly syntax.
//!
//! Decoding, encoding, disassembly and the hazard checks of cores all use these definitions.

use super::RA;

/// The operands of an instruction, named as in the manual. Operands that the format lacks are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Register in bits 25 to 21: a source.
    pub rs: u8,
    /// Register in bits 20 to 16: a source or the destination.
    pub rt: u8,
    /// Register in bits 15 to 11: the destination.
    pub rd: u8,
    /// Immediate, shift amount, code, or target in bytes; extended to 32 bits.
    pub imm: i32,
}

/// How an instruction uses a register field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The format has no such field.
    Absent,
    /// Reads the register.
    Source,
    /// Writes the register.
    Destination,
    /// Reads and writes the register.
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

/// The field of the immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lowest bit.
    at: u8,
    /// Number of bits.
    len: u8,
    /// Number of zero bits appended below the field.
    shift: u8,
    /// True if it is sign-extended.
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

/// A format: register roles, immediate field and assembly syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Role of `rs`.
    pub rs: Role,
    /// Role of `rt`.
    pub rt: Role,
    /// Role of `rd`.
    pub rd: Role,
    /// True if it writes register 31 implicitly.
    pub links: bool,
    /// The immediate's field.
    pub imm: Field,
    /// Assembly syntax, with the names `rs`, `rt`, `rd`, `imm`; `hex` for an immediate in hexadecimal, `target` for one
    /// relative to the delay slot, `region` for one within its 256 MiB.
    pub syntax: &'static str,
}

impl Format {
    /// Extracts the operands from `word`.
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

    /// Operand bits of the word, or `None` if the format cannot express `operands`.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        let Operands { rs, rt, rd, imm } = operands;
        let word =
            u32::from(rs & 31) << 21 | u32::from(rt & 31) << 16 | u32::from(rd & 31) << 11 | self.imm.encode(imm);
        // Operands out of range decode to different values.
        (self.decode(word) == operands).then_some(word)
    }

    /// Bit mask of the registers that an instruction with `operands` reads, without register 0.
    pub const fn reads(&self, operands: Operands) -> u32 {
        let rs = if self.rs.is_read() { 1 << operands.rs } else { 0 };
        let rt = if self.rt.is_read() { 1 << operands.rt } else { 0 };
        (rs | rt) & !1
    }

    /// The register that an instruction with `operands` writes, or 0.
    pub const fn writes(&self, operands: Operands) -> u8 {
        if self.links {
            RA
        } else if self.rt.is_written() {
            operands.rt
        } else {
            operands.rd // 0 if the format has no destination.
        }
    }
}

const LOW_HALF: Field = Field { at: 0, len: 16, shift: 0, is_signed: true };

/// No operands.
pub const NONE: Format = Format { rs: Absent, rt: Absent, rd: Absent, links: false, imm: Field::NONE, syntax: "" };
/// Two source registers, one destination.
pub const R: Format = Format { rs: Source, rt: Source, rd: Destination, syntax: "rd, rs, rt", ..NONE };
/// A register shifted by another register.
pub const SHIFTV: Format = Format { syntax: "rd, rt, rs", ..R };
/// A register shifted by a constant.
pub const SHIFT: Format = Format {
    rt: Source,
    rd: Destination,
    imm: Field { at: 6, len: 5, shift: 0, is_signed: false },
    syntax: "rd, rt, imm",
    ..NONE
};
/// A register and a signed constant, one destination.
pub const I: Format = Format { rs: Source, rt: Destination, imm: LOW_HALF, syntax: "rt, rs, imm", ..NONE };
/// A register and an unsigned constant, one destination.
pub const IU: Format = Format { imm: Field { is_signed: false, ..LOW_HALF }, syntax: "rt, rs, hex", ..I };
/// A constant, one destination.
pub const LUI: Format = Format { rs: Absent, syntax: "rt, hex", ..IU };
/// Two source registers; the result goes to HI and LO.
pub const MULDIV: Format = Format { rs: Source, rt: Source, syntax: "rs, rt", ..NONE };
/// The same with the syntax of divisions.
pub const DIVIDE: Format = Format { syntax: "zero, rs, rt", ..MULDIV };
/// Moves from HI or LO to a register.
pub const RD: Format = Format { rd: Destination, syntax: "rd", ..NONE };
/// One source register.
pub const RS: Format = Format { rs: Source, syntax: "rs", ..NONE };
/// A load.
pub const LOAD: Format = Format { syntax: "rt, imm(rs)", ..I };
/// A load or conditional store that reads and writes its register.
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
/// A jump through a table.
pub const JOFF: Format = Format { syntax: "rs, rt", ..MULDIV };
/// A trap on two registers, with a code.
pub const TRAP: Format =
    Format { imm: Field { at: 6, len: 10, shift: 0, is_signed: false }, syntax: "rs, rt, hex", ..MULDIV };
/// A trap on a register and a signed constant.
pub const TRAPI: Format = Format { rs: Source, imm: LOW_HALF, syntax: "rs, imm", ..NONE };
/// A code only.
pub const CODE: Format = Format { imm: Field { at: 6, len: 20, shift: 0, is_signed: false }, syntax: "hex", ..NONE };
