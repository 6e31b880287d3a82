/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics, and reservations. */
#include "machine.h"
BEGIN(0)
    la s0, word
    li a1, 0x80000000
    TEST(2, a0, 5, amoadd.w a0, a1, (s0))
    TEST(3, a0, 0x80000005, amoswap.w a0, zero, (s0))
    TEST(4, a0, 0, li a2, 6; amoor.w a0, a2, (s0))
    TEST(5, a0, 6, li a2, 3; amoxor.w a0, a2, (s0))
    TEST(6, a0, 5, li a2, 4; amoand.w a0, a2, (s0))
    TEST(7, a0, 4, amomin.w a0, a1, (s0))
    TEST(8, a0, 0x80000000, amomax.w a0, zero, (s0))
    TEST(9, a0, 0, amomaxu.w a0, a1, (s0))
    TEST(10, a0, 0x80000000, amominu.w a0, zero, (s0))
    TEST(11, a0, 0, lw a0, 0(s0))
    /* A store without a reservation fails and stores nothing. */
    TEST(12, a0, 1, li a2, 9; sc.w a0, a2, (s0); snez a0, a0)
    TEST(13, a0, 0, lw a0, 0(s0))
    TEST(14, a0, 0, li a2, 9; lr.w a3, (s0); sc.w a0, a2, (s0))
    TEST(15, a0, 9, lw a0, 0(s0))
    /* A reservation allows one store-conditional, and only to its own address. */
    TEST(16, a0, 1, sc.w a0, a2, (s0); snez a0, a0)
    TEST(17, a0, 1, la a4, word + 256; lr.w a3, (a4); sc.w a0, a2, (s0); snez a0, a0)
    /* A thousand increments. */
    TEST(18, a0, 1009, li a5, 1000; 1: lr.w a3, (s0); addi a3, a3, 1; sc.w a4, a3, (s0); bnez a4, 1b; addi a5, a5, -1; bnez a5, 1b; lw a0, 0(s0))
    PASS
    FAIL
DATA
word: .word 5
    .zero 1024
END
