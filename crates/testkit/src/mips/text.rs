//! Programs as text: each line is an instruction in the disassembler's syntax, or a label with a colon.

use isa::mips::{Operands, Row, register_name, row, rows};
use std::collections::BTreeMap;

/// Assembles a program for the address `base`. `#` begins a comment; targets are labels; `nop` is an instruction, and
/// `.word 0x...` is data.
///
/// # Panics
///
/// Panics on a line that is not an instruction: the programs are constants of tests.
pub fn assemble(base: u32, text: &str) -> Vec<u32> {
    let lines =
        || text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    let mut labels = BTreeMap::new();
    let mut pc = base;
    for line in lines() {
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label, pc);
            }
            None => pc += 4,
        }
    }
    let places = (base..).step_by(4);
    let instructions = lines().filter(|line| !line.ends_with(':'));
    let word = |(line, pc)| instruction(line, pc, &labels).unwrap_or_else(|| panic!("`{line}` is not an instruction"));
    instructions.zip(places).map(word).collect()
}

/// Encodes the instruction called `name`.
///
/// # Panics
///
/// Panics if it cannot express `operands`.
pub fn word(name: &str, operands: Operands) -> u32 {
    let word = row(name).and_then(|row| row.encode(operands));
    word.unwrap_or_else(|| panic!("{name} cannot express {operands:?}"))
}

fn instruction(line: &str, pc: u32, labels: &BTreeMap<&str, u32>) -> Option<u32> {
    let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
    match name {
        "nop" => Some(0),
        ".word" => number(operands.trim()).map(|word| word as u32),
        _ => encode(rows().find(|row| row.name == name)?, operands.trim(), pc, labels),
    }
}

fn encode(row: &Row, text: &str, pc: u32, labels: &BTreeMap<&str, u32>) -> Option<u32> {
    let mut operands = Operands::default();
    let (mut syntax, mut text) = (row.format.syntax, text);
    while !syntax.is_empty() {
        let (word, behind) = syntax.split_at(syntax.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(syntax.len()));
        let (marks, rest) = behind.split_at(behind.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(behind.len()));
        let end = if marks.is_empty() { text.len() } else { text.find(marks)? };
        set(&mut operands, word, &text[..end], pc, labels)?;
        text = text[end..].strip_prefix(marks)?;
        syntax = rest;
    }
    if text.is_empty() { row.encode(operands) } else { None }
}

fn set(operands: &mut Operands, word: &str, text: &str, pc: u32, labels: &BTreeMap<&str, u32>) -> Option<()> {
    let register = || (0..32).find(|&r| register_name(r) == text);
    let target = || labels.get(text).copied().or_else(|| number(text).map(|target| target as u32));
    match word {
        "rs" => operands.rs = register()?,
        "rt" => operands.rt = register()?,
        "rd" => operands.rd = register()?,
        "imm" | "hex" => operands.imm = number(text)?,
        "target" => operands.imm = target()?.wrapping_sub(pc.wrapping_add(4)) as i32,
        "region" => operands.imm = (target()? & 0x0fff_ffff) as i32,
        "zero" => register().filter(|&r| r == 0).map(|_| ())?,
        _ => return None,
    }
    Some(())
}

fn number(text: &str) -> Option<i32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok().map(|n| n as i32),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::mips::{decode, disassemble};

    /// Covers every row, with different operands.
    #[test]
    fn disassembled_text_assembles_to_itself() {
        for row in rows() {
            let word = row.encode(row.format.decode(0x1083_2944)).expect("it can be encoded");
            let text = disassemble(decode(word), 0x4000);
            assert_eq!(assemble(0x4000, &text), [word], "{text}");
        }
    }

    #[test]
    fn labels_are_targets() {
        let text = "start: \n beq a0, zero, end \n nop # the delay slot \n j start \n end: \n nop";
        assert_eq!(assemble(0x4000, text), [0x1080_0002, 0, 0x0800_1000, 0]);
    }
}
