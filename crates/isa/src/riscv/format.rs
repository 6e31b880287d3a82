//! Instruction formats: the fields of the operands in a word, and their assembly syntax.
//!
//! Decoding, encoding and disassembly all use these definitions.

/// The operands of an instruction. Operands that the format lacks are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Destination register.
    pub rd: u8,
    /// First source register.
    pub rs1: u8,
    /// Second source register, or a number in its field: see [`Register::Number`].
    pub rs2: u8,
    /// Third source register. If the instruction also reads its destination, this is the destination.
    pub rs3: u8,
    /// Immediate, extended to 32 bits.
    pub imm: i32,
}

/// The field of a register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// No such operand.
    Absent,
    /// No field: always this register.
    Fixed(u8),
    /// Five bits, starting at this bit.
    At(u8),
    /// Three bits, starting at this bit, which name x8 to x15.
    Short(u8),
    /// Not a register: a small number. The values are the lowest bit and the number of bits.
    Number(u8, u8),
}

impl Register {
    const fn decode(self, word: u32) -> u8 {
        match self {
            Register::Absent => 0,
            Register::Fixed(r) => r,
            Register::At(bit) => (word >> bit & 31) as u8,
            Register::Short(bit) => (word >> bit & 7) as u8 + 8,
            Register::Number(bit, n_bits) => (word >> bit & ((1 << n_bits) - 1)) as u8,
        }
    }

    /// The field bits for register `r`. If `r` does not fit, the result is wrong; [`Format::encode`] detects that.
    const fn encode(self, r: u8) -> u32 {
        match self {
            Register::Absent | Register::Fixed(_) => 0,
            Register::At(bit) => (r as u32 & 31) << bit,
            Register::Short(bit) => (r as u32 & 7) << bit,
            Register::Number(bit, n_bits) => (r as u32 & ((1 << n_bits) - 1)) << bit,
        }
    }

    /// Bit mask of the source register that operand `r` names, without register 0.
    const fn read_bit(self, r: u8) -> u32 {
        match self {
            Register::Absent | Register::Number(..) => 0,
            Register::Fixed(_) | Register::At(_) | Register::Short(_) => 1 << (r & 31) & !1,
        }
    }
}

/// Bits `high` to `low` of the immediate, located in the word from bit `at` upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    high: u8,
    low: u8,
    at: u8,
}

/// A [`Piece`] in the manual's notation: `imm[high:low]`, and its lowest bit in the word.
const fn bits(high: u8, low: u8, at: u8) -> Piece {
    Piece { high, low, at }
}

impl Piece {
    const fn mask(self) -> u32 {
        (1 << (self.high - self.low + 1)) - 1
    }
}

/// A format: operand fields and assembly syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Destination register.
    pub rd: Register,
    /// First source register.
    pub rs1: Register,
    /// Second source register.
    pub rs2: Register,
    /// Third source register. If the instruction also reads its destination, the field of `rd`.
    pub rs3: Register,
    /// The immediate's pieces; the piece with the sign bit comes first.
    pub imm: &'static [Piece],
    /// True if the immediate is sign-extended.
    pub is_signed: bool,
    /// Assembly syntax, with the names `rd`, `rs1`, `rs2`, `rs3`, `imm`. Further names: `upper` for an immediate
    /// shifted right by 12; `target` for one relative to the program counter; `csr` for a control register and `zimm`
    /// for a 5-bit immediate after it; `pred` and `succ` for the sets of a fence; `constant` for a 5-bit number in the
    /// field of `rs2`; `size` and `offset` for a bit field; `loop`, `count` and `end` for a hardware loop.
    pub syntax: &'static str,
}

impl Format {
    /// Extracts the operands from `word`.
    pub fn decode(&self, word: u32) -> Operands {
        let mut imm = 0;
        for piece in self.imm {
            imm |= (word >> piece.at & piece.mask()) << piece.low;
        }
        if self.is_signed
            && let Some(first) = self.imm.first()
        {
            let unused = 31 - u32::from(first.high);
            imm = ((imm << unused) as i32 >> unused) as u32;
        }
        Operands {
            rd: self.rd.decode(word),
            rs1: self.rs1.decode(word),
            rs2: self.rs2.decode(word),
            rs3: self.rs3.decode(word),
            imm: imm as i32,
        }
    }

    /// Operand bits of the word, or `None` if the format cannot express `operands`.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        let mut word = self.rd.encode(operands.rd) | self.rs1.encode(operands.rs1);
        word |= self.rs2.encode(operands.rs2) | self.rs3.encode(operands.rs3);
        for piece in self.imm {
            word |= (operands.imm as u32 >> piece.low & piece.mask()) << piece.at;
        }
        // Wrong ranges, alignment, and short or equal registers decode to different operands.
        (self.decode(word) == operands).then_some(word)
    }

    /// Bit mask of the registers that an instruction with `operands` reads, without register 0.
    pub const fn reads(&self, operands: Operands) -> u32 {
        self.rs1.read_bit(operands.rs1) | self.rs2.read_bit(operands.rs2) | self.rs3.read_bit(operands.rs3)
    }
}

use Register::{Absent, At, Fixed, Number, Short};

/// No operands.
pub const NONE: Format =
    Format { rd: Absent, rs1: Absent, rs2: Absent, rs3: Absent, imm: &[], is_signed: false, syntax: "" };

// The 32-bit formats. U 2.2 and 2.3. An immediate's pieces are listed from left to right in the word.

/// Two source registers, one destination.
pub const R: Format = Format { rd: At(7), rs1: At(15), rs2: At(20), syntax: "rd, rs1, rs2", ..NONE };
/// A register and a 12-bit immediate, one destination.
pub const I: Format =
    Format { rd: At(7), rs1: At(15), imm: &[bits(11, 0, 20)], is_signed: true, syntax: "rd, rs1, imm", ..NONE };
/// A register and a constant shift amount.
pub const SHIFT: Format = Format { imm: &[bits(4, 0, 20)], is_signed: false, ..I };
/// A load, or a jump to a register.
pub const LOAD: Format = Format { syntax: "rd, imm(rs1)", ..I };
/// A store.
pub const S: Format = Format {
    rs1: At(15),
    rs2: At(20),
    imm: &[bits(11, 5, 25), bits(4, 0, 7)],
    is_signed: true,
    syntax: "rs2, imm(rs1)",
    ..NONE
};
/// A branch.
pub const B: Format = Format {
    imm: &[bits(12, 12, 31), bits(10, 5, 25), bits(4, 1, 8), bits(11, 11, 7)],
    syntax: "rs1, rs2, target",
    ..S
};
/// The upper 20 bits of a constant.
pub const U: Format = Format { rd: At(7), imm: &[bits(31, 12, 12)], is_signed: true, syntax: "rd, upper", ..NONE };
/// A jump with a link register.
pub const J: Format = Format {
    rd: At(7),
    imm: &[bits(20, 20, 31), bits(10, 1, 21), bits(11, 11, 20), bits(19, 12, 12)],
    is_signed: true,
    syntax: "rd, target",
    ..NONE
};
/// An atomic memory operation; the immediate is `aq` (bit 1) and `rl` (bit 0).
pub const AMO: Format = Format { imm: &[bits(1, 0, 25)], syntax: "rd, rs2, (rs1)", ..R };
/// A load-reserved, with `aq` and `rl` as in [`AMO`].
pub const LR: Format = Format { rs2: Absent, syntax: "rd, (rs1)", ..AMO };
/// Access to a control register, whose number is the immediate.
pub const CSR: Format = Format { rd: At(7), rs1: At(15), imm: &[bits(11, 0, 20)], syntax: "rd, csr, rs1", ..NONE };
/// The same with a 5-bit constant, which is above the register number in the immediate.
pub const CSRI: Format =
    Format { rs1: Absent, imm: &[bits(16, 12, 15), bits(11, 0, 20)], syntax: "rd, csr, zimm", ..CSR };
/// A fence; the immediate is the predecessor set (bits 7 to 4) and the successor set (3 to 0), each `iorw`.
pub const FENCE: Format = Format { imm: &[bits(7, 0, 20)], syntax: "pred, succ", ..NONE };

// The 16-bit formats. U 16.2 to 16.5. Their operands are those of the equivalent 32-bit instruction.

/// Stack pointer plus a constant, into a short register.
pub const CIW: Format = Format {
    rd: Short(2),
    rs1: Fixed(2),
    imm: &[bits(9, 6, 7), bits(5, 4, 11), bits(3, 3, 5), bits(2, 2, 6)],
    syntax: "rd, rs1, imm",
    ..NONE
};
/// Word load relative to a short register.
pub const CL: Format = Format {
    rd: Short(2),
    rs1: Short(7),
    imm: &[bits(6, 6, 5), bits(5, 3, 10), bits(2, 2, 6)],
    syntax: "rd, imm(rs1)",
    ..NONE
};
/// Word store relative to a short register.
pub const CS: Format = Format { rd: Absent, rs2: Short(2), syntax: "rs2, imm(rs1)", ..CL };
/// A register and a 6-bit immediate, into the same register.
pub const CI: Format =
    Format { rd: At(7), rs1: At(7), imm: &[bits(5, 5, 12), bits(4, 0, 2)], is_signed: true, syntax: "rd, imm", ..NONE };
/// A 6-bit immediate into a register.
pub const C_LI: Format = Format { rs1: Absent, ..CI };
/// A 6-bit immediate into bits 17 to 12 of a register.
pub const C_LUI: Format = Format { imm: &[bits(17, 17, 12), bits(16, 12, 2)], syntax: "rd, upper", ..C_LI };
/// Stack pointer plus a multiple of 16.
pub const C_ADDI16SP: Format = Format {
    rd: Fixed(2),
    rs1: Fixed(2),
    imm: &[bits(9, 9, 12), bits(8, 7, 3), bits(6, 6, 5), bits(5, 5, 2), bits(4, 4, 6)],
    ..CI
};
/// A register shifted left by a constant.
pub const C_SLLI: Format = Format { imm: &[bits(4, 0, 2)], is_signed: false, ..CI };
/// A short register shifted right by a constant.
pub const C_SHIFT: Format = Format { rd: Short(7), rs1: Short(7), ..C_SLLI };
/// A short register and a 6-bit immediate, into the same register.
pub const C_ANDI: Format = Format { rd: Short(7), rs1: Short(7), ..CI };
/// Two short registers, into the first.
pub const CA: Format = Format { rd: Short(7), rs1: Short(7), rs2: Short(2), syntax: "rd, rs2", ..NONE };
/// A jump without a link.
pub const CJ: Format = Format {
    imm: &[
        bits(11, 11, 12),
        bits(10, 10, 8),
        bits(9, 8, 9),
        bits(7, 7, 6),
        bits(6, 6, 7),
        bits(5, 5, 2),
        bits(4, 4, 11),
        bits(3, 1, 3),
    ],
    is_signed: true,
    syntax: "target",
    ..NONE
};
/// A jump with link register x1.
pub const C_JAL: Format = Format { rd: Fixed(1), ..CJ };
/// A branch on a short register against zero.
pub const CB: Format = Format {
    rs1: Short(7),
    imm: &[bits(8, 8, 12), bits(7, 6, 5), bits(5, 5, 2), bits(4, 3, 10), bits(2, 1, 3)],
    is_signed: true,
    syntax: "rs1, target",
    ..NONE
};
/// Word load relative to the stack pointer.
pub const C_LWSP: Format = Format {
    rd: At(7),
    rs1: Fixed(2),
    imm: &[bits(7, 6, 2), bits(5, 5, 12), bits(4, 2, 4)],
    syntax: "rd, imm(rs1)",
    ..NONE
};
/// Word store relative to the stack pointer.
pub const C_SWSP: Format =
    Format { rs1: Fixed(2), rs2: At(2), imm: &[bits(7, 6, 7), bits(5, 2, 9)], syntax: "rs2, imm(rs1)", ..NONE };
/// A jump to a register, without a link.
pub const C_JR: Format = Format { rs1: At(7), syntax: "rs1", ..NONE };
/// A jump to a register, with link register x1.
pub const C_JALR: Format = Format { rd: Fixed(1), ..C_JR };
/// Copies a register.
pub const C_MV: Format = Format { rd: At(7), rs2: At(2), syntax: "rd, rs2", ..NONE };
/// Two registers, into the first.
pub const C_ADD: Format = Format { rs1: At(7), ..C_MV };

// PULP's formats. PsPIN RTL a49fec8, `riscv_id_stage.sv`. The syntax is that of PULP's assembler.

/// A load with post-increment by the immediate.
pub const P_LOAD_POST: Format = Format { syntax: "rd, imm(rs1!)", ..LOAD };
/// A load at the sum of two registers.
pub const P_LOAD_REG: Format = Format { syntax: "rd, rs2(rs1)", ..R };
/// A load with post-increment by a register.
pub const P_LOAD_REG_POST: Format = Format { syntax: "rd, rs2(rs1!)", ..R };
/// A store with post-increment by the immediate.
pub const P_STORE_POST: Format = Format { syntax: "rs2, imm(rs1!)", ..S };
/// A store at the sum of two registers.
pub const P_STORE_REG: Format = Format { rs1: At(15), rs2: At(20), rs3: At(7), syntax: "rs2, rs3(rs1)", ..NONE };
/// A store with post-increment by a register.
pub const P_STORE_REG_POST: Format = Format { syntax: "rs2, rs3(rs1!)", ..P_STORE_REG };
/// A branch that compares a register with a constant.
pub const P_BRANCH: Format = Format { rs2: Number(20, 5), syntax: "rs1, constant, target", ..B };
/// One source register, one destination.
pub const P_ONE: Format = Format { rd: At(7), rs1: At(15), syntax: "rd, rs1", ..NONE };
/// Two source registers; the destination is also read.
pub const P_ACC: Format = Format { rs3: At(7), ..R };
/// A bit field of a register. The immediate holds its size minus 1 above its offset.
pub const P_FIELD: Format = Format { imm: &[bits(9, 0, 20)], is_signed: false, syntax: "rd, rs1, size, offset", ..I };
/// A bit field; the destination is also read.
pub const P_FIELD_ACC: Format = Format { rs3: At(7), ..P_FIELD };
/// Two registers and a shift amount.
pub const P_NORM: Format = Format { imm: &[bits(4, 0, 25)], syntax: "rd, rs1, rs2, imm", ..R };
/// Two registers and a shift amount; the destination is also read.
pub const P_NORM_ACC: Format = Format { rs3: At(7), ..P_NORM };
/// A vector and a signed constant.
pub const P_VS: Format = Format { imm: &[bits(5, 1, 20), bits(0, 0, 25)], ..I };
/// A vector and an unsigned constant.
pub const P_VU: Format = Format { is_signed: false, ..P_VS };
/// A vector and a signed constant; the destination is also read.
pub const P_VS_ACC: Format = Format { rs3: At(7), ..P_VS };
/// A vector and an unsigned constant; the destination is also read.
pub const P_VU_ACC: Format = Format { rs3: At(7), ..P_VU };
/// An address for a hardware loop. The loop's number is in the field of `rs2`.
pub const P_LOOP: Format = Format { rs2: Number(7, 1), imm: &[bits(12, 1, 20)], syntax: "loop, target", ..NONE };
/// The iteration count of a hardware loop, in a register.
pub const P_LOOP_COUNT: Format = Format { rs1: At(15), imm: &[], syntax: "loop, rs1", ..P_LOOP };
/// The iteration count of a hardware loop, as a constant.
pub const P_LOOP_COUNTI: Format = Format { imm: &[bits(11, 0, 20)], syntax: "loop, imm", ..P_LOOP };
/// The count (in a register) and the end of a hardware loop.
pub const P_LOOP_SETUP: Format = Format { rs1: At(15), syntax: "loop, rs1, target", ..P_LOOP };
/// The count and the end of a hardware loop: upper and lower half of the immediate.
pub const P_LOOP_SETUPI: Format =
    Format { imm: &[bits(27, 16, 20), bits(5, 1, 15)], syntax: "loop, count, end", ..P_LOOP };
