//! A buffer of instructions, which are appended by name.

use isa::riscv::{Inst, Operands, decode, disassemble, row};
use std::ops::Range;

/// Code from address 0 upwards.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    /// The instructions so far.
    pub code: Vec<u8>,
}

impl Assembler {
    /// Address of the next instruction.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    /// Appends an instruction. Returns false if it cannot express `operands`.
    pub fn try_emit(&mut self, name: &str, operands: Operands) -> bool {
        let here = self.here();
        self.code.resize(here + length(name), 0);
        let is_expressible = self.try_patch(here, name, operands);
        if !is_expressible {
            self.code.truncate(here);
        }
        is_expressible
    }

    /// Appends an instruction.
    pub fn emit(&mut self, name: &str, operands: Operands) {
        assert!(self.try_emit(name, operands), "{name} cannot express {operands:?}");
    }

    /// Reserves space for the instruction called `name`. Returns its address, for [`Assembler::patch`].
    pub fn reserve(&mut self, name: &str) -> usize {
        let here = self.here();
        self.code.resize(here + length(name), 0);
        here
    }

    /// Writes an instruction into reserved space.
    pub fn patch(&mut self, at: usize, name: &str, operands: Operands) {
        assert!(self.try_patch(at, name, operands), "{name} cannot express {operands:?}");
    }

    fn try_patch(&mut self, at: usize, name: &str, operands: Operands) -> bool {
        let Some(word) = row(name).and_then(|row| row.encode(operands)) else { return false };
        let len = length(name);
        self.code[at..at + len].copy_from_slice(&word.to_le_bytes()[..len]);
        true
    }

    /// The instructions in a range of addresses, with their addresses.
    pub fn instructions(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Inst)> {
        let mut next = range.start;
        std::iter::from_fn(move || {
            let at = next;
            let word = self.code.get(at..range.end)?.iter().take(4).rev().fold(0, |word, &b| word << 8 | u32::from(b));
            let inst = decode(word);
            next += usize::from(inst.bytes());
            (at < range.end).then_some((at, inst))
        })
    }

    /// Disassembles a range of addresses, one instruction per line.
    pub fn listing(&self, range: Range<usize>) -> String {
        self.instructions(range).map(|(at, inst)| format!("{at:8x}: {}\n", disassemble(inst, at as u32))).collect()
    }
}

/// Length in bytes of the instruction called `name`.
fn length(name: &str) -> usize {
    let row = row(name).unwrap_or_else(|| panic!("there is no instruction {name}"));
    usize::from(row.pattern.len)
}

/// Operands of rd = rs1 + rs2 and similar instructions.
pub fn r(rd: u8, rs1: u8, rs2: u8) -> Operands {
    Operands { rd, rs1, rs2, rs3: 0, imm: 0 }
}

/// Operands of rd = rs1 + imm, loads, and jumps to a register.
pub fn i(rd: u8, rs1: u8, imm: i32) -> Operands {
    Operands { rd, rs1, imm, ..Operands::default() }
}

/// Operands of rd = imm, and jumps.
pub fn u(rd: u8, imm: i32) -> Operands {
    Operands { rd, imm, ..Operands::default() }
}

/// Operands of stores of rs2, and branches.
pub fn s(rs1: u8, rs2: u8, imm: i32) -> Operands {
    Operands { rs1, rs2, imm, ..Operands::default() }
}
