//! Instructions in the words of the RTL's tracer: registers by number, distances of jumps instead of targets.

use blocks::cpu::SINK;
use isa::riscv::format::P_LOAD_REG;
use isa::riscv::{Class, Inst, Op, decode, disassemble, register_name, rows};

/// The 32-bit word of an instruction; for a compressed instruction, the expanded one.
pub fn base_word(inst: Inst) -> u32 {
    let mut operands = inst.operands();
    if operands.rd == SINK {
        operands.rd = 0;
    }
    let row = rows().nth(inst.op as usize).filter(|_| inst.op != Op::Illegal);
    row.and_then(|row| row.encode(operands)).unwrap_or(inst.imm as u32)
}

/// The disassembly of an instruction: its name in 16 columns, and its operands.
pub fn tracer_text(word: u32) -> String {
    let inst = decode(word);
    let Some(row) = inst.row() else { return "INVALID".into() };
    let (rd, rs1, rs2, imm) = (inst.rd, inst.rs1, inst.rs2, inst.imm);
    let operands = match inst.class() {
        _ if word == 0x0000_0013 => return "nop".into(),
        _ if inst.op == Op::FenceI => return "fencei".into(),
        Class::System | Class::Fence => return row.name.into(),
        Class::Alu if matches!(inst.op, Op::Lui | Op::Auipc) => format!("x{rd}, 0x{imm:x}"),
        // The tracer prints the bits of the function code as a part of the shift distance.
        Class::Alu if matches!(inst.op, Op::Slli | Op::Srli | Op::Srai) => format!("x{rd}, x{rs1}, 0x{:x}", word >> 20),
        Class::Jump => format!("x{rd}, {imm}"),
        Class::JumpReg => format!("x{rd}, x{rs1}, {imm}"),
        Class::Branch if row.format.syntax == "rs1, rs2, target" => format!("x{rs1}, x{rs2}, {imm}"),
        Class::Branch => format!("x{rs1}, {imm}"),
        Class::Loop => hardware_loop(word),
        Class::Csr if row.format.syntax.ends_with("zimm") => {
            format!("x{rd}, 0x{:08x}, 0x{:03x}", inst.zimm(), inst.csr())
        }
        Class::Csr => format!("x{rd}, x{rs1}, 0x{:03x}", inst.csr()),
        Class::Amo if inst.op == Op::LrW => format!("x{rd}, (x{rs1})"),
        Class::Amo => format!("x{rd}, x{rs2}, (x{rs1})"),
        _ => numbered(disassemble(inst, 0).split_once(' ').map_or("", |(_, operands)| operands)),
    };
    // The tracer gives loads from the sum of two registers the same names as other loads.
    let name = if row.format == P_LOAD_REG { row.name.trim_start_matches("p.") } else { row.name };
    format!("{name:<16} {operands}")
}

/// The operands of an instruction for hardware loops: the field with the number of the loop, and addresses as encoded.
fn hardware_loop(word: u32) -> String {
    let (number, rs1, imm) = (word >> 7 & 31, word >> 15 & 31, word >> 20);
    match word >> 12 & 7 {
        2 => format!("0x{number}, x{rs1}"),
        3 => format!("x{number}, 0x{imm:x}"),
        4 => format!("0x{number}, x{rs1}, 0x{imm:x}"),
        5 => format!("0x{number}, 0x{imm:x}, 0x{rs1:x}"),
        _ => format!("0x{number}, 0x{imm:x}"),
    }
}

/// Operands with the numbers of registers instead of their names.
fn numbered(operands: &str) -> String {
    let mut text = String::new();
    let mut rest = operands;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match (0..32).find(|&r| register_name(r) == word) {
            Some(r) => text.push_str(&format!("x{r}")),
            None => text.push_str(word),
        }
        let next = behind.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(behind.len());
        text.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn every_kind_of_instruction_has_the_text_of_the_tracer() {
        let words = [
            0x1234_5537,
            0xffff_f517,
            0xffc1_2503,
            0x00b1_2623,
            0xfeb5_08e3,
            0x0010_00ef,
            0x0045_00e7,
            0x0185_1513,
            0x4055_5513,
            0x06b6_252f,
            0x1405_a52f,
            0x3005_9573,
            0x7c02_6073,
            0x0310_000f,
            0x0000_100f,
            0x3020_0073,
            0x0006_6503,
            0xffff_ffff,
            0x0000_0013,
            0x02b5_0533,
            0x757d,
            0x713d,
            0x8082,
            0x852e,
            0x0001,
            0xc501,
        ];
        let line = |&word: &u32| format!("{:08x} {}\n", base_word(decode(word)), tracer_text(base_word(decode(word))));
        expect![[r#"
            12345537 lui              x10, 0x12345000
            fffff517 auipc            x10, 0xfffff000
            ffc12503 lw               x10, -4(x2)
            00b12623 sw               x11, 12(x2)
            feb508e3 beq              x10, x11, -16
            001000ef jal              x1, 2048
            004500e7 jalr             x1, x10, 4
            01851513 slli             x10, x10, 0x18
            40555513 srai             x10, x10, 0x405
            06b6252f amoadd.w         x10, x11, (x12)
            1405a52f lr.w             x10, (x11)
            30059573 csrrw            x10, x11, 0x300
            7c026073 csrrsi           x0, 0x00000004, 0x7c0
            0310000f fence
            0000100f fencei
            30200073 mret
            00066503 p.elw            x10, 0(x12)
            ffffffff INVALID
            00000013 nop
            02b50533 mul              x10, x10, x11
            fffff537 lui              x10, 0xfffff000
            fe010113 addi             x2, x2, -32
            00008067 jalr             x0, x1, 0
            00b00533 add              x10, x0, x11
            00000013 nop
            00050463 beq              x10, x0, 8
        "#]]
        .assert_eq(&words.iter().map(line).collect::<String>());
    }
}
