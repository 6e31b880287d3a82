/* SPDX-License-Identifier: Apache-2.0 */
/* Memory protection: user mode may only read one word; the rest is free. s1 counts traps; s2, s4: mcause, mtval. */
#include "machine.h"
#define MPRV 0x20000
    .option norvc
BEGIN(MPP)
    la s5, word
    srli a1, s5, 2
    csrw pmpaddr0, a1
    li a1, -1
    csrw pmpaddr1, a1
    li a1, 0x1f11
    csrw pmpcfg0, a1
    /* Machine mode has all rights while no entry is locked. */
    TEST(2, a0, 1, lw a0, 0(s5); sw a0, 0(s5); lw a0, 0(s5))
    TEST(3, s1, 0, nop)
    /* Loads and stores with the rights of user mode. */
    TEST(4, a0, 1, li a1, MPP; csrc mstatus, a1; li a1, MPRV; csrs mstatus, a1; lw a0, 0(s5); sw a0, 4(s5); sw a0, -4(s5))
    TEST(5, s1, 0, nop)
    TEST(6, s2, 7, sw a0, 0(s5))
    TEST(7, s2, 7, li s2, 0; sb a0, 3(s5))
    TEST(8, s2, 7, li s2, 0; amoadd.w a0, a0, (s5))
    TEST(9, s2, 5, lw a0, 2(s5))                                /* crosses the entry's end */
    TEST(10, a0, 1, lr.w a0, (s5))
    TEST(11, s2, 7, sc.w a0, a0, (s5))
    TEST(12, s1, 5, li a1, MPRV; csrc mstatus, a1; sw a0, 0(s5))
    /* A word without the right to execute: a whole instruction, and the upper half of one. */
    TEST(13, s2, 1, la a1, closed; srli a2, a1, 2; csrw pmpaddr0, a2; la a2, 1f; csrw mepc, a2; mret; 1: jalr a1)
    TEST(14, s4, 0, sub s4, s4, a1)
    TEST(15, s2, 1, li s2, 0; la a1, closed - 2; jalr a1)       /* the upper half of an instruction */
    TEST(16, s4, 2, sub s4, s4, a1)
    TEST(17, s1, 7, nop)
    PASS
    FAIL

    .balign 4
    .half 0x0001
    .half 0x0513                                                /* li a0, ... */
closed:
    .half 0x0000
    .half 0x0001
    ret

/* Continues behind the instruction, or at the origin of the jump. */
    .balign 4
on_trap:
    addi s1, s1, 1
    csrr s2, mcause
    csrr s4, mtval
    mv t5, ra
    li t6, 1
    beq s2, t6, 1f
    csrr t5, mepc
    addi t5, t5, 4
1:  csrw mepc, t5
    mret
DATA
    .word 0
word: .word 1, 2, 3
END
