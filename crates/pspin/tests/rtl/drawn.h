/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random instructions: arithmetic, products, divisions, accesses to own L1 and to L2, branches, jumps and calls, at
 * random offsets within their fetch lines. Each program runs its instructions three times in a loop. `drawn.txt` has the
 * cycles that they took on the RTL.
 */
#include "handlers.h"
    .section .text.handlers, "ax"
    .option norelax

/* Begins a program: a3 points to L2 handler memory, a2 to the own stack, and t0 counts the rounds. */
    .macro drawn name
    handler \name
    c.nop
    lw      a3, 0(a0)
    lw      a3, 0(a3)
    addi    a2, sp, -128
    andi    a2, a2, -16
    li      t0, 3
    li      t2, 12345
    li      t3, 0x01000000
    li      t6, 0x40000000
    li      t1, 77
    li      a5, -5
    li      a6, 0x7fffffff
    li      a4, 3
    li      a1, 0x100
    li      t4, 1
    .balign 16
    .endm
