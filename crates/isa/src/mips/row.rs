//! A row of the instruction table.

use super::format::{Format, Operands};
use super::table::{Op, ROWS};
use crate::Pattern;

/// One instruction: how it is encoded, what it is called and which operation it performs.
#[derive(Debug)]
pub struct Row {
    /// Name in assembly language.
    pub name: &'static str,
    /// Where the operands stand.
    pub format: Format,
    /// The bits that make a word this instruction. Fields that the manual wants to be 0 must be.
    pub pattern: Pattern,
    /// The operation.
    pub op: Op,
}

impl Row {
    /// The word for this instruction with `operands`, or `None` if it cannot express them.
    ///
    /// [`decode`](super::decode()) of the word gives the operands back.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        Some(self.pattern.value | self.format.encode(operands)?)
    }
}

/// All rows, in the order of [`Op`].
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// The row of the instruction called `name`, such as `addiu`.
pub fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_overlap() {
        let all: Vec<_> = rows().collect();
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                let common = a.pattern.mask & b.pattern.mask;
                assert_ne!((a.pattern.value ^ b.pattern.value) & common, 0, "{} and {} overlap", a.name, b.name);
            }
        }
    }

    #[test]
    fn an_operation_has_the_place_of_its_row() {
        for (place, row) in rows().enumerate() {
            assert_eq!((row.op as usize, row.pattern.len), (place, 4), "{}", row.name);
        }
    }

    #[test]
    fn every_bit_is_fixed_or_names_an_operand() {
        for row in rows() {
            let unused: u32 = (0..32)
                .map(|bit| 1 << bit)
                .filter(|bit| row.pattern.mask & bit == 0)
                .filter(|bit| row.format.decode(*bit) == row.format.decode(0))
                .sum();
            assert_eq!(unused, 0, "{}: {unused:#x}", row.name);
        }
    }
}
