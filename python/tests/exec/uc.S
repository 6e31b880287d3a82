/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed instructions. */
#include "machine.h"
BEGIN(0)
    .option rvc
    TEST(2, a0, 2, la a1, 2f; la a2, 1f; j 2f; 1: c.nop; 2: sub a0, a1, a2)
    TEST(3, a1, -32, c.li a1, -32)
    TEST(4, a1, 0xfffe0000, c.lui a1, 0xfffe0)
    TEST(5, a1, -31, c.li a1, -32; c.addi a1, 1)
    TEST(6, a1, 0x7ffff, li a1, 0xfffff; c.srli a1, 1)
    TEST(7, a1, 0xfffffff0, li a1, -32; c.srai a1, 1)
    TEST(8, a1, 0x10, li a1, 0x1f; c.andi a1, 0x10)
    TEST(9, a1, 5, li a1, 12; li a2, 7; c.sub a1, a2)
    TEST(10, a1, 0xb, li a1, 12; li a2, 7; c.xor a1, a2)
    TEST(11, a1, 0xf, li a1, 12; li a2, 7; c.or a1, a2)
    TEST(12, a1, 4, li a1, 12; li a2, 7; c.and a1, a2)
    TEST(13, a1, 24, li a1, 12; c.slli a1, 1)
    TEST(14, a2, 0x12345678, la sp, words; c.lwsp a1, 12(sp); c.swsp a1, 8(sp); c.addi4spn a0, sp, 8; c.lw a2, 0(a0))
    TEST(15, sp, 0, la sp, words; mv a1, sp; c.addi16sp sp, 496; sub sp, sp, a1; addi sp, sp, -496)
    TEST(16, a0, 7, li a0, 6; li a1, 0; c.beqz a1, 1f; c.li a0, 1; 1: c.addi a0, 1)
    TEST(17, a0, 7, li a0, 6; li a1, 1; c.bnez a1, 1f; c.li a0, 1; 1: c.addi a0, 1)
    TEST(18, a0, 2, la a1, 1f; c.jalr a1; 1: sub a0, ra, a1; c.addi a0, 2)
    /* A word across a page, and one at an odd half-word. */
    TEST(19, a0, 3, j 1f; .balign 4096; .zero 4094; 1: addi a0, zero, 3)
    PASS
    FAIL
DATA
words: .word 1, 2, 3, 0x12345678
END
