//! Decodes words into instructions.

use super::format::Operands;
use super::row::Row;
use super::rv32c::COMPRESSED;
use super::table::{BASE, Class, Op};

/// A decoded instruction. It is small, so that programs can be kept decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Its operation.
    pub op: Op,
    /// Destination register, or 0.
    pub rd: u8,
    /// First source register, or 0.
    pub rs1: u8,
    /// Second source register, or a small number in its field; else 0.
    pub rs2: u8,
    /// Third source register, or 0.
    pub rs3: u8,
    /// For a compressed instruction, 1 + its index among the compressed rows, or [`ILLEGAL_COMPRESSED`] if it is illegal; else 0.
    compressed: u8,
    /// Length in halfwords.
    pub halves: u8,
    /// Immediate, extended to 32 bits; for an illegal instruction, the word itself.
    pub imm: i32,
}

/// Value of `compressed` for an illegal instruction of 16 bits.
const ILLEGAL_COMPRESSED: u8 = u8::MAX;
/// End of a chain in the index.
const NO_ROW: u16 = u16::MAX;

impl Inst {
    /// Its class.
    #[inline]
    pub const fn class(&self) -> Class {
        self.op.class()
    }

    /// Bit mask of the registers it reads, without register 0.
    pub fn reads(&self) -> u32 {
        self.row().map_or(0, |row| row.format.reads(self.operands()))
    }

    /// The constant of `p.beqimm` and `p.bneimm`, -16 to 15.
    #[inline]
    pub const fn constant(&self) -> i32 {
        (self.rs2 as i32) << 27 >> 27
    }

    /// Length in bytes: 2 or 4.
    #[inline]
    pub const fn bytes(&self) -> u8 {
        2 * self.halves
    }

    /// Number of the control register, for instructions of [`Class::Csr`].
    #[inline]
    pub const fn csr(&self) -> u16 {
        (self.imm & 0xfff) as u16
    }

    /// The constant of `csrrwi`, `csrrsi` and `csrrci`.
    #[inline]
    pub const fn zimm(&self) -> u32 {
        (self.imm as u32) >> 12
    }

    /// Its row in the table, or `None` if it is illegal.
    pub fn row(&self) -> Option<&'static Row> {
        match self.compressed {
            0 => BASE.get(self.op as usize),
            place => COMPRESSED.get(place as usize - 1),
        }
    }

    /// Its operands.
    pub const fn operands(&self) -> Operands {
        Operands { rd: self.rd, rs1: self.rs1, rs2: self.rs2, rs3: self.rs3, imm: self.imm }
    }
}

/// Decodes `word`. If its low two bits are not both 1, it is compressed and the upper half is ignored.
///
/// Never fails: a word that is not an instruction becomes [`Op::Illegal`], which traps when executed.
pub fn decode(word: u32) -> Inst {
    let word = if word & 3 == 3 { word } else { word & 0xffff };
    let mut candidate = INDEX.first[bucket(word)];
    while candidate != NO_ROW {
        let row = row_at(candidate);
        if row.matches(word) {
            let Operands { rd, rs1, rs2, rs3, imm } = row.format.decode(word);
            let compressed = (candidate as usize + 1).saturating_sub(BASE.len()) as u8;
            return Inst { op: row.op, rd, rs1, rs2, rs3, compressed, halves: row.pattern.len / 2, imm };
        }
        candidate = INDEX.next[candidate as usize];
    }
    illegal(word)
}

/// The illegal instruction for `word`. If it is compressed, the upper half is dropped.
pub(super) const fn illegal(word: u32) -> Inst {
    let (compressed, halves) = if word & 3 == 3 { (0, 2) } else { (ILLEGAL_COMPRESSED, 1) };
    Inst { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, rs3: 0, compressed, halves, imm: word as i32 }
}

fn row_at(place: u16) -> &'static Row {
    let place = place as usize;
    if place < BASE.len() { &BASE[place] } else { &COMPRESSED[place - BASE.len()] }
}

const N_BUCKETS: usize = 32 + 4 * 8;

/// The bits that every row fixes: the major opcode, or the quadrant and upper three bits of a compressed instruction.
const fn bucket(word: u32) -> usize {
    let (opcode, quadrant, function) = (word >> 2 & 31, word & 3, word >> 13 & 7);
    (if quadrant == 3 { opcode } else { 32 + quadrant * 8 + function }) as usize
}

/// For each bucket, a chain of its rows.
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

#[cfg(test)]
mod tests {
    use super::super::{row, rows};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instruction_is_12_bytes() {
        assert_eq!(size_of::<Inst>(), 12);
    }

    /// Counts the legal 16-bit words per quadrant. The expected numbers are derived by hand from U tables 16.5 to 16.7.
    #[test]
    fn the_reserved_compressed_words_are_illegal() {
        let legal = |quadrant| {
            let words = (0..=0xffff_u32).filter(|word| word & 3 == quadrant);
            words.filter(|&word| decode(word).op != Op::Illegal).count()
        };
        // addi4spn without its 8 zero immediates, lw, sw; the other five are floating point, reserved or 64-bit.
        assert_eq!(legal(0), 2040 + 2048 + 2048);
        // addi, jal, li, j, beqz, bnez are complete. lui and addi16sp lack 32 zero immediates. In the arithmetic group
        // srli and srai have 5-bit shift amounts, andi is complete, and four operations have two short registers.
        assert_eq!(legal(1), 6 * 2048 + (2048 - 32) + (2 * 256 + 512 + 4 * 64));
        // slli has 5-bit shift amounts; lwsp lacks register 0; jr, mv, ebreak, jalr, add lack only `jr zero`; swsp.
        assert_eq!(legal(2), 1024 + (2048 - 64) + (2048 - 1) + 2048);
    }

    #[test]
    fn instructions_of_other_machines_are_illegal() {
        let lacking = [
            (0x0000_0000, "all zeros"),
            (0xffff_ffff, "all ones"),
            (0x1020_0073, "sret"),
            (0x1200_0073, "sfence.vma"),
            (0x7b20_0073, "dret"),
            (0x0000_3003, "ld"),
            (0x0000_2007, "flw"),
            (0x0200_1013, "slli by 32"),
            (0x1000_302f, "lr.d"),
            (0x1010_202f, "lr.w with rs2"),
            (0x0000_6000, "c.flw"),
            (0x0000_8002, "c.jr zero"),
        ];
        for (word, name) in lacking {
            let inst = decode(word);
            let len = if word & 3 == 3 { 4 } else { 2 };
            assert_eq!((inst.op, inst.imm as u32, inst.bytes()), (Op::Illegal, word, len), "{name}");
        }
    }

    #[test]
    fn every_compressed_word_encodes_back() {
        for word in (0..=0xffff_u32).filter(|word| word & 3 != 3) {
            let inst = decode(word | 0xabcd_0000);
            if let Some(row) = inst.row() {
                assert_eq!(row.encode(inst.operands()), Some(word), "{}", row.name);
                assert_eq!(inst, decode(word), "the upper half of {word:#x} is not ignored");
            }
        }
    }

    #[test]
    fn operands_out_of_range_are_not_encoded() {
        let encode = |name: &str, rd, rs1, rs2, imm| {
            row(name).and_then(|row| row.encode(Operands { rd, rs1, rs2, rs3: 0, imm }))
        };
        assert_eq!(encode("addi", 1, 2, 0, 2047), Some(0x7ff1_0093));
        assert_eq!(encode("addi", 1, 2, 0, 2048), None, "the immediate is too large");
        assert_eq!(encode("addi", 32, 2, 0, 0), None, "there is no x32");
        assert_eq!(encode("addi", 1, 2, 3, 0), None, "addi has no rs2");
        assert_eq!(encode("beq", 0, 1, 2, 5), None, "targets are even");
        assert_eq!(encode("c.lw", 7, 8, 0, 0), None, "x7 is not a short register");
        assert_eq!(encode("c.add", 1, 2, 3, 0), None, "rd and rs1 are one field");
        assert_eq!(encode("c.lui", 2, 0, 0, 0x1000), None, "that is c.addi16sp");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Covers all rows; every value of the free bits is equally likely.
        #[test]
        fn decoding_undoes_encoding(place in 0..rows().count(), noise: u32) {
            let row = rows().nth(place).unwrap();
            let operands = row.format.decode(noise);
            if let Some(word) = row.encode(operands) {
                let inst = decode(word);
                prop_assert_eq!(inst.row().map(|row| row.name), Some(row.name));
                prop_assert_eq!((inst.op, inst.operands(), inst.bytes()), (row.op, operands, row.pattern.len));
            }
        }

        /// For every word, the index finds the same row as a linear search.
        #[test]
        fn a_word_is_what_exactly_one_row_matches(word: u32) {
            let short = if word & 3 == 3 { word } else { word & 0xffff };
            let matching: Vec<_> = rows().filter(|row| (row.pattern.len == 4) == (word & 3 == 3))
                .filter(|row| row.matches(short)).map(|row| row.name).collect();
            let found: Vec<_> = decode(word).row().into_iter().map(|row| row.name).collect();
            prop_assert_eq!(found, matching);
        }
    }
}
