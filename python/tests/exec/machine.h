/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code around a bare-metal test, as in the public RISC-V tests: control registers
 * that a core may lack are written with mtvec pointing to the next instruction, so that a trap skips the write; the test
 * is entered by mret; it ends by ecall, and the trap handler writes the verdict to tohost. gp holds the number of the
 * test.
 *
 * A test that expects traps defines `on_trap`, which handles all traps except the final ecall.
 */
#define MPP 0x1800

/* Do `code`, or skip the rest of it if it traps. */
#define IF_THERE(code...) \
    la t0, 9f; \
    csrw mtvec, t0; \
    code; \
    .balign 4; \
9:

/* Enter the test in machine mode (MPP) or in user mode (0). */
#define BEGIN(mode) \
    .section .text.start, "ax"; \
    .globl _start; \
    _start: \
    csrr a0, mhartid; \
8:  bnez a0, 8b; \
    IF_THERE(csrwi 0x744, 8)    /* mnstatus */ \
    IF_THERE(csrwi satp, 0) \
    IF_THERE(li t0, -1; csrw pmpaddr0, t0; li t0, 0x1f; csrw pmpcfg0, t0) \
    IF_THERE(csrwi medeleg, 0; csrwi mideleg, 0) \
    csrwi mie, 0; \
    li gp, 0; \
    la t0, trap; \
    csrw mtvec, t0; \
    la t0, on_supervisor_trap; \
    beqz t0, 7f; \
    csrw stvec, t0; \
7:  csrwi mstatus, 0; \
    li t0, mode; \
    csrs mstatus, t0; \
    la t0, test; \
    csrw mepc, t0; \
    mret; \
    .weak on_trap, on_supervisor_trap; \
    .balign 64; \
    trap: \
    csrr t5, mcause; \
    li t6, 8; \
    beq t5, t6, verdict; \
    li t6, 11; \
    beq t5, t6, verdict; \
    la t5, on_trap; \
    beqz t5, 6f; \
    jr t5; \
6:  ori gp, gp, 1337; \
    verdict: \
    la t5, tohost; \
    sw gp, 0(t5); \
    sw zero, 4(t5); \
    j verdict; \
    .balign 4; \
    test:

#define PASS \
    fence; \
    li gp, 1; \
    ecall

#define FAIL \
    fail: \
    fence; \
    slli gp, gp, 1; \
    ori gp, gp, 1; \
    ecall

/*
 * A trap handler that continues after the instruction, or at the origin of the jump if there was none. It uses t5 and t6; s1
 * counts traps, and s2 to s5 hold mcause, mepc, mtval and mstatus of the last.
 */
#define GO_ON \
    .balign 4; \
on_trap: \
    addi s1, s1, 1; \
    csrr s2, mcause; \
    csrr s3, mepc; \
    csrr s4, mtval; \
    csrr s5, mstatus; \
    mv t5, ra; \
    li t6, 1; \
    beq s2, t6, 1f; \
    mv t5, s3; \
    lhu t6, 0(t5); \
    andi t6, t6, 3; \
    addi t6, t6, -3; \
    snez t6, t6;        /* 1 if it is compressed */ \
    slli t6, t6, 1; \
    addi t5, t5, 4; \
    sub t5, t5, t6; \
    lw t6, 0(s3); \
    bnez t6, 1f; \
    addi t5, t5, 2;     /* the zero word is two illegal halves */ \
1:  csrw mepc, t5; \
    mret

/* After `code`, `reg` must hold `value`. */
#define TEST(number, reg, value, code...) \
    li gp, number; \
    code; \
    li x7, value; \
    bne reg, x7, fail;

/* After the last test: the trap and verdict words. */
#define DATA \
    .section .tohost, "aw"; \
    .balign 64; \
    .globl tohost, fromhost; \
    tohost: .quad 0; \
    .balign 64; \
    fromhost: .quad 0; \
    .section .data; \
    .balign 16; \
    .globl begin_signature; \
    begin_signature:

#define END \
    .balign 16; \
    .globl end_signature; \
    end_signature:
