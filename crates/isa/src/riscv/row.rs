//! A row of the instruction table.

use super::extension::Extension;
use super::format::{Format, Operands};
use super::rv32c::COMPRESSED;
use super::table::{BASE, Op};
use crate::Pattern;

/// One instruction: how it is encoded, what it is called and which operation it performs.
#[derive(Debug)]
pub struct Row {
    /// Name in assembly language.
    pub name: &'static str,
    /// Where the operands stand.
    pub format: Format,
    /// The bits that make a word this instruction ...
    pub pattern: Pattern,
    /// ... unless it shows one of these as well.
    pub except: &'static [Pattern],
    /// The extension it belongs to; a core without it does not know the instruction.
    pub extension: Extension,
    /// The operation. A compressed instruction has that of the instruction it stands for.
    pub op: Op,
}

impl Row {
    /// Whether `word` is this instruction. Of a compressed one the upper 16 bits must be 0.
    pub fn matches(&self, word: u32) -> bool {
        self.pattern.matches(word) && !self.except.iter().any(|pattern| pattern.matches(word))
    }

    /// The word for this instruction with `operands`, or `None` if it cannot express them.
    ///
    /// [`decode`](super::decode()) of the word gives the operands back.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        let word = self.pattern.value | self.format.encode(operands)?;
        (self.matches(word)).then_some(word)
    }
}

/// All rows: those of the 32-bit instructions in the order of [`Op`], then the compressed ones.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    BASE.iter().chain(COMPRESSED)
}

/// The row of the instruction called `name`, such as `amoadd.w` or `c.addi`. Where several share a name, their operands
/// tell them apart: `p.lw rd, imm(rs1!)`.
pub fn row(name: &str) -> Option<&'static Row> {
    let has_operands = |row: &Row| name.strip_prefix(row.name)?.strip_prefix(' ').map(|rest| rest == row.format.syntax);
    rows().find(|row| row.name == name || has_operands(row) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether some word is both instructions. The words that show both patterns show a third; an exception rules
    /// them out if all of them show it too.
    fn overlap(a: &Row, b: &Row) -> bool {
        let common = a.pattern.mask & b.pattern.mask;
        if a.pattern.len != b.pattern.len || (a.pattern.value ^ b.pattern.value) & common != 0 {
            return false;
        }
        let (mask, value) = (a.pattern.mask | b.pattern.mask, a.pattern.value | b.pattern.value);
        let rules_out = |except: &Pattern| except.mask & !mask == 0 && value & except.mask == except.value;
        !a.except.iter().chain(b.except).any(rules_out)
    }

    #[test]
    fn no_two_rows_overlap() {
        let all: Vec<_> = rows().collect();
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert!(!overlap(a, b), "{} and {} overlap", a.name, b.name);
            }
        }
    }

    #[test]
    fn an_operation_has_the_place_of_its_row() {
        for (place, row) in BASE.iter().enumerate() {
            assert_eq!(row.op as usize, place, "{}", row.name);
            assert_eq!(row.pattern.len, 4, "{}", row.name);
        }
        for row in COMPRESSED {
            assert_eq!(row.pattern.len, 2, "{}", row.name);
        }
    }

    #[test]
    fn every_bit_is_fixed_or_names_an_operand() {
        for row in rows() {
            let unused: u32 = (0..8 * u32::from(row.pattern.len))
                .map(|bit| 1 << bit)
                .filter(|bit| row.pattern.mask & bit == 0)
                .filter(|bit| row.format.decode(*bit) == row.format.decode(0))
                .sum();
            let expected = match row.name {
                "fence" => 0xf00f_8f80, // Reserved fields, to be ignored.
                "fence.tso" => 0x000f_8f80,
                "fence.i" => 0xffff_8f80,
                _ => 0,
            };
            assert_eq!(unused, expected, "{}: {unused:#x}", row.name);
        }
    }
}
