//! Words and their disassembly in PULP's syntax.

use expect_test::expect;
use isa::riscv::{decode, disassemble};

/// Each entry has the address, the word and its disassembly. Entries marked `*` come from the output of PULP's GCC
/// 7.1.1. The others are assembled by hand from the fields in the RTL's decoder.
const WORDS: &[(u32, u32, &str)] = &[
    (0x1c00_87cc, 0x0803_50fb, "*"),
    (0x1c00_87d0, 0x00f6_a22b, "*"),
    (0x1c00_87ea, 0xca5e_1733, "*"),
    (0x1c00_822e, 0x048e_50fb, "*"),
    (0x1c00_8232, 0x0049_a78b, "*"),
    (0x1c00_824a, 0xa8a7_14d7, "*"),
    // opcode 0x0b, funct3 7, funct7 0x28: p.lhu with a register; rd 10, rs1 11, rs2 12.
    (0, 0x28 << 25 | 12 << 20 | 11 << 15 | 7 << 12 | 10 << 7 | 0x0b, ""),
    // opcode 0x03, funct3 7, funct7 0x20: p.lbu at a sum.
    (0, 0x20 << 25 | 12 << 20 | 11 << 15 | 7 << 12 | 10 << 7 | 0x03, ""),
    // opcode 0x23, funct3 6: p.sw at a sum; the index register is in the field of rd.
    (0, 12 << 20 | 11 << 15 | 6 << 12 | 13 << 7 | 0x23, ""),
    (0, 12 << 20 | 11 << 15 | 6 << 12 | 13 << 7 | 0x2b, ""),
    (0, 12 << 20 | 11 << 15 | 2 << 12 | 4 << 7 | 0x6b, ""),
    (0, 12 << 20 | 11 << 15 | 2 << 12 | 4 << 7 | 0x77, ""),
    // opcode 0x63, funct3 2 and 3: constants 15 and -16, 8 bytes ahead.
    (0x100, 15 << 20 | 10 << 15 | 2 << 12 | 8 << 7 | 0x63, ""),
    (0x100, 16 << 20 | 10 << 15 | 3 << 12 | 8 << 7 | 0x63, ""),
    // opcode 0x33, upper bits 11: size 7 + 1 at 16.
    (0, 3 << 30 | 7 << 25 | 16 << 20 | 11 << 15 | 3 << 12 | 10 << 7 | 0x33, ""),
    (0, 2 << 30 | 12 << 20 | 11 << 15 | 2 << 12 | 10 << 7 | 0x33, ""),
    (0, 0x21 << 25 | 12 << 20 | 11 << 15 | 10 << 7 | 0x33, ""),
    (0, 0x0a << 25 | 8 << 20 | 11 << 15 | 1 << 12 | 10 << 7 | 0x33, ""),
    // opcode 0x5b: sign, high halves, shift 15, rounding.
    (0, 3 << 30 | 15 << 25 | 12 << 20 | 11 << 15 | 5 << 12 | 10 << 7 | 0x5b, ""),
    (0, 12 << 20 | 11 << 15 | 2 << 12 | 10 << 7 | 0x5b, ""),
    (0, 2 << 30 | 12 << 20 | 11 << 15 | 10 << 7 | 0x5b, ""),
    // opcode 0x57: constants have their lowest bit in bit 25; -3 and 33.
    (0, 1 << 25 | 0x1e << 20 | 11 << 15 | 6 << 12 | 10 << 7 | 0x57, ""),
    (0, 0x03 << 27 | 1 << 25 | 0x10 << 20 | 11 << 15 | 7 << 12 | 10 << 7 | 0x57, ""),
    (0, 0x1f << 27 | 12 << 20 | 11 << 15 | 7 << 12 | 10 << 7 | 0x57, ""),
    (0, 0x0a << 27 | 1 << 26 | 1 << 25 | 12 << 20 | 11 << 15 | 4 << 12 | 10 << 7 | 0x57, ""),
    // opcode 0x7b: loop 1 in bit 7.
    (0x200, 20 << 20 | 4 << 12 | 1 << 7 | 10 << 15 | 0x7b, ""),
    (0x200, 20 << 20 | 1 << 12 | 0x7b, ""),
    (0x200, 10 << 15 | 2 << 12 | 0x7b, ""),
    // Reserved fields, and combinations that are not instructions.
    (0, 0x02 << 25 | 12 << 20 | 11 << 15 | 10 << 7 | 0x33, ""),
    (0, 2 << 30 | 12 << 20 | 11 << 15 | 5 << 12 | 10 << 7 | 0x33, ""),
    (0, 12 << 20 | 11 << 15 | 7 << 12 | 13 << 7 | 0x2b, ""),
    (0, 12 << 20 | 11 << 15 | 2 << 12 | 10 << 7 | 0x57, ""),
    (0, 6 << 12 | 0x7b, ""),
];

#[test]
fn words_disassemble_in_the_syntax_of_pulps_assembler() {
    let mut text = String::new();
    for &(pc, word, seen) in WORDS {
        text += &format!("{word:08x} {}{seen}\n", disassemble(decode(word), pc));
    }
    expect![[r#"
        080350fb lp.setupi x1, 128, 0x1c0087d8*
        00f6a22b p.sw a5, 4(a3!)*
        ca5e1733 p.extractu a4, t3, 5, 5*
        048e50fb lp.setupi x1, 72, 0x1c008266*
        0049a78b p.lw a5, 4(s3!)*
        a8a714d7 pv.sdotusp.b s1, a4, a0*
        50c5f50b p.lhu a0, a2(a1!)
        40c5f503 p.lbu a0, a2(a1)
        00c5e6a3 p.sw a2, a3(a1)
        00c5e6ab p.sw a2, a3(a1!)
        00c5a26b p.bsw a2, 4(a1)
        00c5a277 p.bsw a2, 4(a1!)
        00f52463 p.beqimm a0, 15, 0x108
        01053463 p.bneimm a0, -16, 0x108
        cf05b533 p.bclr a0, a1, 7, 16
        80c5a533 p.insertr a0, a1, a2
        42c58533 p.mac a0, a1, a2
        14859533 p.clip a0, a1, 8
        dec5d55b p.machhsRN a0, a1, a2, 15
        00c5a55b p.addN a0, a1, a2, 0
        80c5855b p.muls a0, a1, a2
        03e5e557 pv.add.sci.h a0, a1, -3
        1b05f557 pv.avgu.sci.b a0, a1, 33
        f8c5f557 pv.shufflei3.sci.b a0, a1, 24
        56c5c557 pv.cplxmul.h.i.div4 a0, a1, a2
        014540fb lp.setup x1, a0, 0x228
        0140107b lp.endi x0, 0x228
        0005207b lp.count x0, a0
        04c58533 .word 0x04c58533
        80c5d533 .word 0x80c5d533
        00c5f6ab .word 0x00c5f6ab
        00c5a557 .word 0x00c5a557
        0000607b .word 0x0000607b
    "#]]
    .assert_eq(&text);
}
