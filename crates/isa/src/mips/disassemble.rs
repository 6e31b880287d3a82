//! Disassembles instructions.

use super::decode::Inst;
use super::flow;
use std::fmt::Write;

/// Register names of the o32 calling convention. System V ABI, MIPS supplement, figure 3-18.
const REGISTERS: [&str; 32] = [
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s0", "s1", "s2",
    "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "s8", "ra",
];

/// The o32 name of register `r`, such as `a0` for 4. Only the low five bits of `r` count.
pub fn register_name(r: u8) -> &'static str {
    REGISTERS[(r & 31) as usize]
}

/// Disassembles the instruction at address `pc`. The text has no aliases such as `move`, uses o32 register names, and
/// shows targets as absolute addresses. An illegal word becomes data: `.word 0xffffffff`.
pub fn disassemble(inst: Inst, pc: u32) -> String {
    let Some(row) = inst.row() else { return format!(".word 0x{:08x}", inst.imm) };
    let mut text = String::from(row.name);
    let mut rest = row.format.syntax;
    if !rest.is_empty() {
        text.push(' ');
    }
    while !rest.is_empty() {
        let word_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(word_end);
        operand(&mut text, word, inst, pc);
        let next_word = behind.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(behind.len());
        text.push_str(&behind[..next_word]);
        rest = &behind[next_word..];
    }
    text
}

/// Appends the operand that `word` names in the format's syntax.
fn operand(text: &mut String, word: &str, inst: Inst, pc: u32) {
    // Writing to a string cannot fail.
    let _ = match word {
        "rs" => text.write_str(register_name(inst.rs)),
        "rt" => text.write_str(register_name(inst.rt)),
        "rd" => text.write_str(register_name(inst.rd)),
        "imm" => write!(text, "{}", inst.imm),
        "hex" => write!(text, "0x{:x}", inst.imm),
        "target" => write!(text, "0x{:x}", flow::target(pc, inst.imm)),
        "region" => write!(text, "0x{:x}", flow::region(pc, inst.imm)),
        _ => text.write_str(word),
    };
}

#[cfg(test)]
mod tests {
    use super::super::decode;
    use super::*;
    use expect_test::expect;

    /// Shows the syntax of operands. `tests/mips_binutils.rs` compares every row with another disassembler.
    #[test]
    fn operands_have_the_syntax_of_assemblers() {
        let words = [
            0x3c08_c000,
            0x8d03_0060,
            0x0074_100b,
            0x0242_000a,
            0x0240_f825,
            0x27bd_ffe8,
            0x1443_fffe,
            0x0800_1000,
            0x03e0_0008,
            0x0320_f809,
            0x0085_001a,
            0x0000_2012,
            0x30a5_ffff,
            0x0000_0000,
            0x0001_c34d,
            0x0085_01f4,
            0x4001_6000,
        ];
        let lines: Vec<_> = words.iter().map(|&word| disassemble(decode(word), 0x00c0_0080)).collect();
        expect![[r#"
            lui t0, 0xc000
            lw v1, 96(t0)
            pri v0, v1, s4
            joff s2, v0
            or ra, s2, zero
            addiu sp, sp, -24
            bne v0, v1, 0xc0007c
            j 0x4000
            jr ra
            jalr ra, t9
            div zero, a0, a1
            mflo a0
            andi a1, a1, 0xffff
            sll zero, zero, 0
            break 0x70d
            teq a0, a1, 0x7
            .word 0x40016000
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
    }
}
