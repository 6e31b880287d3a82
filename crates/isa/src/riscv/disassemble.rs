//! From instructions to text.

use super::csr;
use super::decode::Inst;
use super::format;
use super::row::Row;
use std::fmt::Write;

/// Names of the registers in the calling convention. RISC-V ABIs 1.0, table 1.
const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The calling convention's name of register `r`, such as `a0` for 10. Only the low five bits count.
pub fn register_name(r: u8) -> &'static str {
    REGISTERS[(r & 31) as usize]
}

/// The instruction at address `pc` in assembly language: names as encoded (no aliases such as `ret`), ABI register
/// names, branch targets as absolute addresses. An illegal word becomes data, such as `.word 0xffffffff`.
pub fn disassemble(inst: Inst, pc: u32) -> String {
    let Some(row) = inst.row() else {
        let digits = 2 * inst.len as usize;
        let directive = if inst.len == 2 { ".half" } else { ".word" };
        return format!("{directive} 0x{:0digits$x}", inst.imm);
    };
    let mut text = String::from(row.name);
    text.push_str(ordering(row, inst));
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

/// The suffix of an atomic operation.
fn ordering(row: &Row, inst: Inst) -> &'static str {
    if row.format != format::AMO && row.format != format::LR {
        return "";
    }
    ["", ".rl", ".aq", ".aqrl"][(inst.imm & 3) as usize]
}

/// Appends the operand that `word` of a format's syntax names.
fn operand(text: &mut String, word: &str, inst: Inst, pc: u32) {
    // Writing to a string cannot fail.
    let _ = match word {
        "rd" => text.write_str(register_name(inst.rd)),
        "rs1" => text.write_str(register_name(inst.rs1)),
        "rs2" => text.write_str(register_name(inst.rs2)),
        "imm" => write!(text, "{}", inst.imm),
        "upper" => write!(text, "0x{:x}", inst.imm as u32 >> 12),
        "target" => write!(text, "0x{:x}", pc.wrapping_add(inst.imm as u32)),
        "zimm" => write!(text, "{}", inst.zimm()),
        "csr" => match csr::name(inst.csr()) {
            Some(name) => text.write_str(name),
            None => write!(text, "0x{:x}", inst.csr()),
        },
        "pred" => fence_set(text, inst.imm >> 4),
        "succ" => fence_set(text, inst.imm),
        _ => text.write_str(word),
    };
}

/// A set of accesses: input, output, read, write.
fn fence_set(text: &mut String, set: i32) -> std::fmt::Result {
    if set & 15 == 0 {
        return text.write_str("0");
    }
    let chosen = [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')].into_iter().filter(|(bit, _)| set & bit != 0);
    for (_, letter) in chosen {
        text.push(letter);
    }
    Ok(())
}
