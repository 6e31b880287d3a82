//! Disassembles instructions.

use super::csr;
use super::decode::Inst;
use super::format;
use super::row::Row;
use std::fmt::Write;

/// Register names of the calling convention. RISC-V ABIs 1.0, table 1.
const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The ABI name of register `r`, such as `a0` for 10. Only the low five bits of `r` count.
pub fn register_name(r: u8) -> &'static str {
    REGISTERS[(r & 31) as usize]
}

/// Disassembles the instruction at address `pc`. The text has no aliases such as `ret`, uses ABI register names, and
/// shows branch targets as absolute addresses. An illegal word becomes data: `.word 0xffffffff`.
pub fn disassemble(inst: Inst, pc: u32) -> String {
    let Some(row) = inst.row() else {
        let digits = 2 * inst.bytes() as usize;
        let directive = if inst.bytes() == 2 { ".half" } else { ".word" };
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

/// The `.aq` and `.rl` suffixes of an atomic operation.
fn ordering(row: &Row, inst: Inst) -> &'static str {
    if row.format != format::AMO && row.format != format::LR {
        return "";
    }
    ["", ".rl", ".aq", ".aqrl"][(inst.imm & 3) as usize]
}

/// Appends the operand that `word` names in the format's syntax.
fn operand(text: &mut String, word: &str, inst: Inst, pc: u32) {
    // Writing to a string cannot fail.
    let _ = match word {
        "rd" => text.write_str(register_name(inst.rd)),
        "rs1" => text.write_str(register_name(inst.rs1)),
        "rs2" => text.write_str(register_name(inst.rs2)),
        "rs3" => text.write_str(register_name(inst.rs3)),
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
        "constant" => write!(text, "{}", inst.constant()),
        "size" => write!(text, "{}", inst.imm >> 5),
        "offset" => write!(text, "{}", inst.imm & 31),
        "loop" => write!(text, "x{}", inst.rs2),
        "count" => write!(text, "{}", inst.imm >> 16),
        "end" => write!(text, "0x{:x}", pc.wrapping_add(inst.imm as u32 & 0xffff)),
        _ => text.write_str(word),
    };
}

/// The access set of a fence: input, output, read, write.
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

#[cfg(test)]
mod tests {
    use super::super::decode;
    use super::*;
    use expect_test::expect;

    /// Shows the syntax of operands. `tests/binutils.rs` compares every row with another disassembler.
    #[test]
    fn operands_have_the_syntax_of_assemblers() {
        let words = [
            0x1234_5537,
            0xffc1_2503,
            0x00b1_2623,
            0xfeb5_08e3,
            0x0010_00ef,
            0x0045_00e7,
            0x0185_1513,
            0x06b6_252f,
            0x1405_a52f,
            0x3005_9573,
            0x7c02_6073,
            0x8005_9573,
            0x0310_000f,
            0x0000_000f,
            0x3020_0073,
            0x0006_6503,
            0xffff_ffff,
            0x757d,
            0x713d,
            0x0808,
            0xc501,
            0x8082,
            0x0000,
        ];
        let lines: Vec<_> = words.iter().map(|&word| disassemble(decode(word), 0x1d00_0080)).collect();
        expect![[r#"
            lui a0, 0x12345
            lw a0, -4(sp)
            sw a1, 12(sp)
            beq a0, a1, 0x1d000070
            jal ra, 0x1d000880
            jalr ra, 4(a0)
            slli a0, a0, 24
            amoadd.w.aqrl a0, a1, (a2)
            lr.w.aq a0, (a1)
            csrrw a0, mstatus, a1
            csrrsi zero, lpstart0, 4
            csrrw a0, 0x800, a1
            fence rw, w
            fence 0, 0
            mret
            p.elw a0, 0(a2)
            .word 0xffffffff
            c.lui a0, 0xfffff
            c.addi16sp sp, -32
            c.addi4spn a0, sp, 16
            c.beqz a0, 0x1d000088
            c.jr ra
            .half 0x0000
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
    }
}
