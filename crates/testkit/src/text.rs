//! Programs as text: each line is an instruction in the disassembler's syntax, or a label with a colon.

use isa::riscv::format::Register;
use isa::riscv::{Operands, Row, csr, register_name, rows};
use std::collections::BTreeMap;

/// Assembles a program for the address `base`. `#` begins a comment; targets are labels.
///
/// # Panics
///
/// Panics on a line that is not an instruction: the programs are constants of tests.
pub fn assemble(base: u32, text: &str) -> Vec<u8> {
    let lines =
        || text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    let mut labels = BTreeMap::new();
    let mut pc = base;
    for line in lines() {
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label, pc);
            }
            None => pc += if line.starts_with("c.") { 2 } else { 4 },
        }
    }
    let mut code = Vec::new();
    for line in lines().filter(|line| !line.ends_with(':')) {
        let pc = base + code.len() as u32;
        let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
        let named = rows().filter(|row| row.name == name);
        let word = named.filter_map(|row| encode(row, operands.trim(), pc, &labels)).next();
        let word = word.unwrap_or_else(|| panic!("`{line}` is not an instruction"));
        code.extend(&word.to_le_bytes()[..if word & 3 == 3 { 4 } else { 2 }]);
    }
    code
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
    if !text.is_empty() {
        return None;
    }
    // A register that the text omits is the destination, or is given by the format.
    let is_implicit = |of: Register, word: &str| of != Register::Absent && !row.format.syntax.contains(word);
    let again = |of| if let Register::Fixed(r) = of { r } else { operands.rd };
    if is_implicit(row.format.rs1, "rs1") {
        operands.rs1 = again(row.format.rs1);
    }
    if is_implicit(row.format.rs3, "rs3") {
        operands.rs3 = again(row.format.rs3);
    }
    row.encode(operands)
}

fn set(operands: &mut Operands, word: &str, text: &str, pc: u32, labels: &BTreeMap<&str, u32>) -> Option<()> {
    let register = || (0..32).find(|&r| register_name(r) == text);
    let number = || match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok().map(|n| n as i32),
        None => text.parse().ok(),
    };
    let target = || labels.get(text).map(|target| target.wrapping_sub(pc) as i32);
    match word {
        "rd" => operands.rd = register()?,
        "rs1" => operands.rs1 = register()?,
        "rs2" => operands.rs2 = register()?,
        "rs3" => operands.rs3 = register()?,
        "imm" => operands.imm = number()?,
        "upper" => operands.imm = number()? << 12,
        "target" => operands.imm = target()?,
        "constant" => operands.rs2 = number()? as u8 & 31,
        "size" => operands.imm |= number()? << 5,
        "offset" => operands.imm |= number()?,
        "zimm" => operands.imm |= number()? << 12,
        "csr" => operands.imm |= i32::from((0..4096).find(|&n| csr::name(n) == Some(text))?),
        "loop" => operands.rs2 = ["x0", "x1"].iter().position(|name| name == &text)? as u8,
        "count" => operands.imm |= number()? << 16,
        "end" => operands.imm |= target()? & 0xffff,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::riscv::{decode, disassemble};

    #[test]
    fn assembled_text_disassembles_to_itself() {
        let text = "\
            lui a0, 0x12345\n\
            lw a0, -4(sp)\n\
            p.lw a0, 4(a1!)\n\
            p.lw a0, a2(a1!)\n\
            p.sw a2, a3(a1)\n\
            p.mac a0, a1, a2\n\
            p.extract a0, a1, 7, 16\n\
            lp.count x1, a0\n\
            csrrw zero, lpcount0, a1\n\
            csrrwi zero, lpend1, 5\n";
        let code = assemble(0, text);
        let words = code.chunks(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        assert_eq!(words.map(|word| disassemble(decode(word), 0) + "\n").collect::<String>(), text);
    }

    #[test]
    fn labels_are_targets() {
        let code =
            assemble(0x100, "start:\n lp.setupi x0, 3, end\n c.nop\n end: \n c.addi a0, 1\n p.bneimm a0, -1, start\n");
        let text: Vec<_> = [(0, 0x100), (4, 0x104), (6, 0x106), (8, 0x108)]
            .map(|(at, pc)| {
                let bytes = [0, 1, 2, 3].map(|i| code.get(at + i).copied().unwrap_or(0));
                disassemble(decode(u32::from_le_bytes(bytes)), pc)
            })
            .to_vec();
        assert_eq!(text, ["lp.setupi x0, 3, 0x106", "c.nop", "c.addi a0, 1", "p.bneimm a0, -1, 0x100"]);
    }
}
