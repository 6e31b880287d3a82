//! Decodes words into instructions.

use super::format::Operands;
use super::row::Row;
use super::table::{Class, Op, ROWS};

/// A decoded instruction. It is small, so that programs can be kept decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Its operation.
    pub op: Op,
    /// As in [`Operands::rs`].
    pub rs: u8,
    /// As in [`Operands::rt`].
    pub rt: u8,
    /// As in [`Operands::rd`].
    pub rd: u8,
    /// As in [`Operands::imm`]; for an illegal instruction, the word itself.
    pub imm: i32,
}

const _: () = assert!(size_of::<Inst>() == 8, "a decoded instruction has 8 bytes");

impl Inst {
    /// Its class.
    #[inline]
    pub const fn class(&self) -> Class {
        self.op.class()
    }

    /// Its row in the table, or `None` if it is illegal.
    pub fn row(&self) -> Option<&'static Row> {
        ROWS.get(self.op as usize)
    }

    /// Its operands.
    pub const fn operands(&self) -> Operands {
        Operands { rs: self.rs, rt: self.rt, rd: self.rd, imm: self.imm }
    }

    /// Bit mask of the registers it reads, without register 0.
    pub fn reads(&self) -> u32 {
        self.row().map_or(0, |row| row.format.reads(self.operands()))
    }

    /// The register it writes, or 0.
    pub fn writes(&self) -> u8 {
        self.row().map_or(0, |row| row.format.writes(self.operands()))
    }
}

/// Decodes `word`.
///
/// Never fails: a word that is not an instruction becomes [`Op::Illegal`], which raises an exception when executed.
pub fn decode(word: u32) -> Inst {
    match ROWS.get(usize::from(INDEX[bucket(word)])) {
        Some(row) if row.pattern.matches(word) => {
            let Operands { rs, rt, rd, imm } = row.format.decode(word);
            Inst { op: row.op, rs, rt, rd, imm }
        }
        _ => Inst { op: Op::Illegal, rs: 0, rt: 0, rd: 0, imm: word as i32 },
    }
}

const N_BUCKETS: usize = 64 + 64 + 32;

/// The field that selects a row: the opcode; the function field for SPECIAL; the `rt` field for REGIMM.
const fn bucket(word: u32) -> usize {
    (match word >> 26 {
        0 => 64 + (word & 63),
        1 => 128 + (word >> 16 & 31),
        opcode => opcode,
    }) as usize
}

/// Index of the row in each bucket, or [`u8::MAX`] for an empty bucket.
static INDEX: [u8; N_BUCKETS] = {
    let mut index = [u8::MAX; N_BUCKETS];
    let mut place = 0;
    while place < ROWS.len() {
        let bucket = bucket(ROWS[place].pattern.value);
        assert!(index[bucket] == u8::MAX, "a bucket holds one row");
        index[bucket] = place as u8;
        place += 1;
    }
    index
};

#[cfg(test)]
mod tests {
    use super::super::{row, rows};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instructions_of_other_machines_are_illegal() {
        let lacking = [
            (0xffff_ffff, "all ones"),
            (0x4001_6000, "mfc0"),
            (0x4200_0018, "eret"),
            (0x4600_0000, "add.s"),
            (0xc480_0000, "lwc1"),
            (0xdc80_0000, "ld"),
            (0x6485_0001, "daddiu"),
            (0x0085_102d, "daddu"),
            (0xbc80_0000, "cache"),
            (0x7085_1002, "mul, of MIPS32"),
            (0x0085_1060, "add with a shift amount"),
            (0x5c85_0001, "bgtzl with rt"),
            (0x0085_1080, "sll with rs"),
        ];
        for (word, name) in lacking {
            let inst = decode(word);
            assert_eq!((inst.op, inst.imm as u32), (Op::Illegal, word), "{name}");
        }
    }

    #[test]
    fn operands_out_of_range_are_not_encoded() {
        let encode = |name: &str, rs, rt, rd, imm| row(name).and_then(|row| row.encode(Operands { rs, rt, rd, imm }));
        assert_eq!(encode("addiu", 2, 1, 0, -1), Some(0x2441_ffff));
        assert_eq!(encode("addiu", 2, 1, 0, 32768), None, "the immediate is too large");
        assert_eq!(encode("andi", 2, 1, 0, -1), None, "the immediate is unsigned");
        assert_eq!(encode("addiu", 2, 32, 0, 0), None, "there is no register 32");
        assert_eq!(encode("addiu", 2, 1, 3, 0), None, "addiu has no rd");
        assert_eq!(encode("beq", 2, 1, 0, 2), None, "targets are word-aligned");
    }

    /// These words are in the released firmware of the Tigon-2.
    #[test]
    fn the_tigon_instructions_decode_as_in_the_firmware() {
        assert_eq!(decode(0x0074_100b), Inst { op: Op::Pri, rs: 3, rt: 20, rd: 2, imm: 0 });
        assert_eq!(decode(0x0242_000a), Inst { op: Op::Joff, rs: 18, rt: 2, rd: 0, imm: 0 });
        assert_eq!(decode(0x0242_080a).op, Op::Illegal, "joff has no rd");
    }

    #[test]
    fn reads_and_writes_match_the_operands() {
        let check = |word, reads: u32, writes| {
            let inst = decode(word);
            assert_eq!((inst.reads(), inst.writes()), (reads, writes), "{:?}", inst.op);
        };
        check(0x0074_100b, 1 << 3 | 1 << 20, 2); // pri v0, v1, s4
        check(0x8c82_0000, 1 << 4, 2); // lw v0, 0(a0)
        check(0x8882_0000, 1 << 4 | 1 << 2, 2); // lwl v0, 0(a0)
        check(0xac82_0000, 1 << 4 | 1 << 2, 0); // sw v0, 0(a0)
        check(0x0c00_1000, 0, 31); // jal
        check(0x0060_f809, 1 << 3, 31); // jalr ra, v1
        check(0x1000_0003, 0, 0); // b
        check(0x0000_1012, 0, 2); // mflo v0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Covers all rows; every value of the free bits is equally likely.
        #[test]
        fn decoding_undoes_encoding(place in 0..rows().count(), noise: u32) {
            let row = rows().nth(place).unwrap();
            let operands = row.format.decode(noise);
            let word = row.encode(operands).unwrap();
            let inst = decode(word);
            prop_assert_eq!((inst.op, inst.operands()), (row.op, operands));
        }

        /// For every word, the index finds the same row as a linear search.
        #[test]
        fn a_word_is_what_exactly_one_row_matches(word: u32) {
            let matching: Vec<_> = rows().filter(|row| row.pattern.matches(word)).map(|row| row.name).collect();
            let found: Vec<_> = decode(word).row().into_iter().map(|row| row.name).collect();
            prop_assert_eq!(found, matching);
        }
    }
}
