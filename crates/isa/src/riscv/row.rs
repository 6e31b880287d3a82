//! A row of the instruction table.

use super::extension::Extension;
use super::format::{Format, Operands};
use super::rv32c::COMPRESSED;
use super::table::{BASE, Op};
use crate::Pattern;

/// One instruction: name, encoding and operation.
#[derive(Debug)]
pub struct Row {
    /// Name in assembly language.
    pub name: &'static str,
    /// Operand fields and syntax.
    pub format: Format,
    /// Bits that identify the instruction.
    pub pattern: Pattern,
    /// Patterns whose words are not this instruction although they match `pattern`.
    pub except: &'static [Pattern],
    /// Its extension. The instruction is illegal on a core without it.
    pub extension: Extension,
    /// Its operation. A compressed instruction has the operation of its 32-bit equivalent.
    pub op: Op,
}

impl Row {
    /// Returns true if `word` is this instruction. The upper 16 bits of a compressed one must be 0.
    pub fn matches(&self, word: u32) -> bool {
        self.pattern.matches(word) && !self.except.iter().any(|pattern| pattern.matches(word))
    }

    /// Encodes the instruction with `operands`, or returns `None` if the format cannot express them.
    ///
    /// [`decode`](super::decode()) is the inverse.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        let word = self.pattern.value | self.format.encode(operands)?;
        (self.matches(word)).then_some(word)
    }
}

/// All rows: the 32-bit instructions in the order of [`Op`], then the compressed ones.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    BASE.iter().chain(COMPRESSED)
}

/// The row with this name, such as `amoadd.w` or `c.addi`. For a name with several rows, add the operands: `p.lw rd,
/// imm(rs1!)`.
pub fn row(name: &str) -> Option<&'static Row> {
    let has_operands = |row: &Row| name.strip_prefix(row.name)?.strip_prefix(' ').map(|rest| rest == row.format.syntax);
    rows().find(|row| row.name == name || has_operands(row) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if some word is both instructions. The words that match both patterns form a pattern, too. An
    /// exception excludes them if all of them match the exception.
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
    fn operations_and_rows_have_the_same_order() {
        for (place, row) in BASE.iter().enumerate() {
            assert_eq!(row.op as usize, place, "{}", row.name);
            assert_eq!(row.pattern.len, 4, "{}", row.name);
        }
        for row in COMPRESSED {
            assert_eq!(row.pattern.len, 2, "{}", row.name);
        }
    }

    #[test]
    fn every_bit_is_fixed_or_part_of_an_operand() {
        for row in rows() {
            let unused: u32 = (0..8 * u32::from(row.pattern.len))
                .map(|bit| 1 << bit)
                .filter(|bit| row.pattern.mask & bit == 0)
                .filter(|bit| row.format.decode(*bit) == row.format.decode(0))
                .sum();
            let expected = match row.name {
                "fence" => 0xf00f_8f80, // Reserved fields are ignored.
                "fence.tso" => 0x000f_8f80,
                "fence.i" => 0xffff_8f80,
                _ => 0,
            };
            assert_eq!(unused, expected, "{}: {unused:#x}", row.name);
        }
    }
}
