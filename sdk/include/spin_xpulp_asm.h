/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PULP's mnemonics in inline assembly (`pv.add.h %0, %1, %2`), as macros of the assembler: every instruction of spin_xpulp.h
 * whose operands are registers, and shifts, clips and fields by constants. Macros cannot read post-increment (`4(a1!)`),
 * vectors with a constant (`.sci`) and hardware loops: spin_xpulp.h has these. handler.h includes this file.
 */
#ifndef SPIN_XPULP_ASM_H
#define SPIN_XPULP_ASM_H

/* The text below is longer than -pedantic allows. */
#pragma GCC system_header

/* Each row is a text; all of them are one statement, which does nothing the second time: link-time optimization joins files. */
#define SPIN_ASM_(mnemonic, operands, opcode, funct3, funct7, registers)                                               \
    ".macro " mnemonic " " operands "\n.insn r " #opcode ", " #funct3 ", " #funct7 ", " registers "\n.endm\n"
#define SPIN_ASM_1(name, opcode, funct3, funct7) SPIN_ASM_(#name, "d, a", opcode, funct3, funct7, "\\d, \\a, x0")
#define SPIN_ASM_2(name, opcode, funct3, funct7) SPIN_ASM_(#name, "d, a, b", opcode, funct3, funct7, "\\d, \\a, \\b")
/* With a constant in the place of the third register, with two, and with a shift behind three registers. */
#define SPIN_ASM_1_CONST(name, opcode, funct3, funct7)                                                                 \
    SPIN_ASM_(#name, "d, a, n", opcode, funct3, funct7, "\\d, \\a, x\\n")
#define SPIN_ASM_FIELD(name, funct3)                                                                                   \
    SPIN_ASM_(#name, "d, a, top, low", 0x33, funct3, 0x60 + \\top, "\\d, \\a, x\\low")
#define SPIN_ASM_SHIFTED(name, funct3, upper)                                                                          \
    SPIN_ASM_(#name, "d, a, b, n", 0x5b, funct3, upper + \\n, "\\d, \\a, \\b")
#define SPIN_ASM_VECTOR(name, funct7)                                                                                  \
    SPIN_ASM_2(name.h, 0x57, 0, funct7)                                                                                \
    SPIN_ASM_2(name.b, 0x57, 1, funct7)                                                                                \
    SPIN_ASM_2(name.sc.h, 0x57, 4, funct7)                                                                             \
    SPIN_ASM_2(name.sc.b, 0x57, 5, funct7)

__asm__(
    ".ifndef .Lspin_xpulp_asm\n.set .Lspin_xpulp_asm, 1\n"
    SPIN_ASM_1(p.abs, 0x33, 0, 0x02)
    SPIN_ASM_2(p.slet, 0x33, 2, 0x02)
    SPIN_ASM_2(p.sletu, 0x33, 3, 0x02)
    SPIN_ASM_2(p.min, 0x33, 4, 0x02)
    SPIN_ASM_2(p.minu, 0x33, 5, 0x02)
    SPIN_ASM_2(p.max, 0x33, 6, 0x02)
    SPIN_ASM_2(p.maxu, 0x33, 7, 0x02)
    SPIN_ASM_2(p.ror, 0x33, 5, 0x04)
    SPIN_ASM_1(p.ff1, 0x33, 0, 0x08)
    SPIN_ASM_1(p.fl1, 0x33, 1, 0x08)
    SPIN_ASM_1(p.clb, 0x33, 2, 0x08)
    SPIN_ASM_1(p.cnt, 0x33, 3, 0x08)
    SPIN_ASM_1(p.exths, 0x33, 4, 0x08)
    SPIN_ASM_1(p.exthz, 0x33, 5, 0x08)
    SPIN_ASM_1(p.extbs, 0x33, 6, 0x08)
    SPIN_ASM_1(p.extbz, 0x33, 7, 0x08)
    SPIN_ASM_1_CONST(p.clip, 0x33, 1, 0x0a)
    SPIN_ASM_1_CONST(p.clipu, 0x33, 2, 0x0a)
    SPIN_ASM_2(p.clipr, 0x33, 5, 0x0a)
    SPIN_ASM_2(p.clipur, 0x33, 6, 0x0a)
    SPIN_ASM_FIELD(p.extract, 0)
    SPIN_ASM_FIELD(p.extractu, 1)
    SPIN_ASM_FIELD(p.insert, 2)
    SPIN_ASM_FIELD(p.bclr, 3)
    SPIN_ASM_FIELD(p.bset, 4)
    SPIN_ASM_2(p.extractr, 0x33, 0, 0x40)
    SPIN_ASM_2(p.extractur, 0x33, 1, 0x40)
    SPIN_ASM_2(p.insertr, 0x33, 2, 0x40)
    SPIN_ASM_2(p.bclrr, 0x33, 3, 0x40)
    SPIN_ASM_2(p.bsetr, 0x33, 4, 0x40)
    SPIN_ASM_2(p.mac, 0x33, 0, 0x21)
    SPIN_ASM_2(p.msu, 0x33, 1, 0x21)
    SPIN_ASM_2(p.muls, 0x5b, 0, 0x40)
    SPIN_ASM_2(p.mulhhs, 0x5b, 0, 0x60)
    SPIN_ASM_2(p.mulu, 0x5b, 0, 0x00)
    SPIN_ASM_2(p.mulhhu, 0x5b, 0, 0x20)
    SPIN_ASM_2(p.macs, 0x5b, 1, 0x40)
    SPIN_ASM_2(p.machhs, 0x5b, 1, 0x60)
    SPIN_ASM_2(p.macu, 0x5b, 1, 0x00)
    SPIN_ASM_2(p.machhu, 0x5b, 1, 0x20)
    SPIN_ASM_SHIFTED(p.mulsN, 0, 0x40)
    SPIN_ASM_SHIFTED(p.mulsRN, 4, 0x40)
    SPIN_ASM_SHIFTED(p.muluN, 0, 0x00)
    SPIN_ASM_SHIFTED(p.muluRN, 4, 0x00)
    SPIN_ASM_SHIFTED(p.macsN, 1, 0x40)
    SPIN_ASM_SHIFTED(p.macsRN, 5, 0x40)
    SPIN_ASM_SHIFTED(p.macuN, 1, 0x00)
    SPIN_ASM_SHIFTED(p.macuRN, 5, 0x00)
    SPIN_ASM_SHIFTED(p.addN, 2, 0x00)
    SPIN_ASM_SHIFTED(p.adduN, 2, 0x40)
    SPIN_ASM_SHIFTED(p.addRN, 6, 0x00)
    SPIN_ASM_SHIFTED(p.adduRN, 6, 0x40)
    SPIN_ASM_SHIFTED(p.subN, 3, 0x00)
    SPIN_ASM_SHIFTED(p.subuN, 3, 0x40)
    SPIN_ASM_SHIFTED(p.subRN, 7, 0x00)
    SPIN_ASM_SHIFTED(p.subuRN, 7, 0x40)
    SPIN_ASM_VECTOR(pv.add, 0x00)
    SPIN_ASM_VECTOR(pv.sub, 0x04)
    SPIN_ASM_VECTOR(pv.avg, 0x08)
    SPIN_ASM_VECTOR(pv.avgu, 0x0c)
    SPIN_ASM_VECTOR(pv.min, 0x10)
    SPIN_ASM_VECTOR(pv.minu, 0x14)
    SPIN_ASM_VECTOR(pv.max, 0x18)
    SPIN_ASM_VECTOR(pv.maxu, 0x1c)
    SPIN_ASM_VECTOR(pv.srl, 0x20)
    SPIN_ASM_VECTOR(pv.sra, 0x24)
    SPIN_ASM_VECTOR(pv.sll, 0x28)
    SPIN_ASM_VECTOR(pv.or, 0x2c)
    SPIN_ASM_VECTOR(pv.xor, 0x30)
    SPIN_ASM_VECTOR(pv.and, 0x34)
    SPIN_ASM_VECTOR(pv.cmpeq, 0x02)
    SPIN_ASM_VECTOR(pv.cmpne, 0x06)
    SPIN_ASM_VECTOR(pv.cmpgt, 0x0a)
    SPIN_ASM_VECTOR(pv.cmpge, 0x0e)
    SPIN_ASM_VECTOR(pv.cmplt, 0x12)
    SPIN_ASM_VECTOR(pv.cmple, 0x16)
    SPIN_ASM_VECTOR(pv.cmpgtu, 0x1a)
    SPIN_ASM_VECTOR(pv.cmpgeu, 0x1e)
    SPIN_ASM_VECTOR(pv.cmpltu, 0x22)
    SPIN_ASM_VECTOR(pv.cmpleu, 0x26)
    SPIN_ASM_1(pv.abs.h, 0x57, 0, 0x38)
    SPIN_ASM_1(pv.abs.b, 0x57, 1, 0x38)
    SPIN_ASM_VECTOR(pv.dotup, 0x40)
    SPIN_ASM_VECTOR(pv.dotusp, 0x44)
    SPIN_ASM_VECTOR(pv.dotsp, 0x4c)
    SPIN_ASM_VECTOR(pv.sdotup, 0x50)
    SPIN_ASM_VECTOR(pv.sdotusp, 0x54)
    SPIN_ASM_VECTOR(pv.sdotsp, 0x5c)
    SPIN_ASM_2(pv.shuffle.h, 0x57, 0, 0x60)
    SPIN_ASM_2(pv.shuffle.b, 0x57, 1, 0x60)
    SPIN_ASM_2(pv.shuffle2.h, 0x57, 0, 0x64)
    SPIN_ASM_2(pv.shuffle2.b, 0x57, 1, 0x64)
    SPIN_ASM_2(pv.pack, 0x57, 0, 0x68)
    SPIN_ASM_2(pv.pack.h, 0x57, 0, 0x69)
    SPIN_ASM_2(pv.packhi.b, 0x57, 1, 0x6c)
    SPIN_ASM_2(pv.packlo.b, 0x57, 1, 0x70)
    ".endif");

#endif
