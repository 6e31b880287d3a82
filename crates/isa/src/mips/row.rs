//! A row of the instruction table.

use super::format::{Format, Operands};
use super::table::{Op, ROWS};
use crate::Pattern;

/// One instruction: name, encoding and operation.
#[derive(Debug)]
pub struct Row {
    /// Name in assembly language.
    pub name: &'static str,
    /// Operand fields and syntax.
    pub format: Format,
    /// Bits that identify the instruction. They include fields that the manual requires to be 0.
    pub pattern: Pattern,
    /// The operation.
    pub op: Op,
}

impl Row {
    /// Encodes the instruction with `operands`, or returns `None` if the format cannot express them.
    ///
    /// [`decode`](super::decode()) is the inverse.
    pub fn encode(&self, operands: Operands) -> Option<u32> {
        Some(self.pattern.value | self.format.encode(operands)?)
    }
}

/// All rows, in the order of [`Op`].
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// The row with this name, such as `addiu`.
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
    fn operations_and_rows_have_the_same_order() {
        for (place, row) in rows().enumerate() {
            assert_eq!((row.op as usize, row.pattern.len), (place, 4), "{}", row.name);
        }
    }

    #[test]
    fn every_bit_is_fixed_or_part_of_an_operand() {
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
