//! From words to instructions.

use super::format::Operands;
use super::row::Row;
use super::rv32c::COMPRESSED;
use super::table::{BASE, Class, Op};

/// A decoded instruction, small enough that a program is kept decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Register it writes, 0 if none.
    pub rd: u8,
    /// First register it reads, 0 if none.
    pub rs1: u8,
    /// Second register it reads, 0 if none.
    pub rs2: u8,
    /// Immediate, extended to 32 bits; of an illegal instruction the word itself.
    pub imm: i32,
    /// Bytes from this instruction to the next in memory: 2 or 4.
    pub len: u8,
    /// Place in [`row`]'s order, [`NO_ROW`] if illegal.
    row: u16,
}

/// Stands for the row of an illegal instruction, and for the end of a chain in the index.
const NO_ROW: u16 = u16::MAX;

impl Inst {
    /// What kind of work this is.
    #[inline]
    pub const fn class(&self) -> Class {
        self.op.class()
    }

    /// The registers it reads, 0 where it reads none.
    #[inline]
    pub const fn sources(&self) -> (u8, u8) {
        (self.rs1, self.rs2)
    }

    /// The register it writes, 0 where it writes none.
    #[inline]
    pub const fn writes(&self) -> u8 {
        self.rd
    }

    /// Number of the control register that an instruction of [`Class::Csr`] accesses.
    #[inline]
    pub const fn csr(&self) -> u16 {
        (self.imm & 0xfff) as u16
    }

    /// The constant of `csrrwi`, `csrrsi` and `csrrci`.
    #[inline]
    pub const fn zimm(&self) -> u32 {
        (self.imm as u32) >> 12
    }

    /// The row it was decoded by, `None` if it is illegal.
    pub fn row(&self) -> Option<&'static Row> {
        (self.row != NO_ROW).then(|| row_at(self.row))
    }

    /// Its operands.
    pub const fn operands(&self) -> Operands {
        Operands { rd: self.rd, rs1: self.rs1, rs2: self.rs2, imm: self.imm }
    }
}

/// The instruction in `word`. If the low two bits are not both 1 it is compressed and the upper half is not looked at.
///
/// Never fails: a word that is no instruction becomes [`Op::Illegal`] and says so when executed.
pub fn decode(word: u32) -> Inst {
    let (word, len) = if word & 3 == 3 { (word, 4) } else { (word & 0xffff, 2) };
    let mut candidate = INDEX.first[bucket(word)];
    while candidate != NO_ROW {
        let row = row_at(candidate);
        if row.matches(word) {
            let Operands { rd, rs1, rs2, imm } = row.format.decode(word);
            return Inst { op: row.op, rd, rs1, rs2, imm, len, row: candidate };
        }
        candidate = INDEX.next[candidate as usize];
    }
    Inst { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, imm: word as i32, len, row: NO_ROW }
}

fn row_at(place: u16) -> &'static Row {
    let place = place as usize;
    if place < BASE.len() { &BASE[place] } else { &COMPRESSED[place - BASE.len()] }
}

const N_BUCKETS: usize = 32 + 4 * 8;

/// The bits that every row fixes: the major opcode, or quadrant and upper three bits of a compressed instruction.
const fn bucket(word: u32) -> usize {
    let (opcode, quadrant, function) = (word >> 2 & 31, word & 3, word >> 13 & 7);
    (if quadrant == 3 { opcode } else { 32 + quadrant * 8 + function }) as usize
}

/// Chains of the rows that share a bucket.
struct Index {
    first: [u16; N_BUCKETS],
    next: [u16; BASE.len() + COMPRESSED.len()],
}

static INDEX: Index = {
    let mut index = Index { first: [NO_ROW; N_BUCKETS], next: [NO_ROW; BASE.len() + COMPRESSED.len()] };
    let mut place = index.next.len();
    while place > 0 {
        place -= 1;
        let row = if place < BASE.len() { &BASE[place] } else { &COMPRESSED[place - BASE.len()] };
        let fixed = if row.pattern.len == 4 { 0x7f } else { 0xe003 };
        assert!(row.pattern.mask & fixed == fixed, "a pattern fixes the bits of its bucket");
        let bucket = bucket(row.pattern.value);
        index.next[place] = index.first[bucket];
        index.first[bucket] = place as u16;
    }
    index
};
