/* SPDX-License-Identifier: Apache-2.0 */
/* Corner cases of the standards: hints and reserved words, register 0, write permissions, returns and traps. */
#include "machine.h"
#define ILLEGAL(number, word...) TEST(number, s2, 2, li s2, 0; word)
#define HINT(number, word...) TEST(number, s1, 0, li s1, 0; .half word)
BEGIN(MPP)
    .option rvc
    /* Compressed words that are reserved or belong to another architecture trap, and mtval has 16 bits of them. */
    ILLEGAL(2, .half 0x0004)                    /* c.addi4spn a7, sp, 0 */
    ILLEGAL(3, .half 0x6501)                    /* c.lui a0, 0 */
    ILLEGAL(4, .half 0x6101)                    /* c.addi16sp sp, 0 */
    ILLEGAL(5, .half 0x4002)                    /* c.lwsp zero, 0(sp) */
    ILLEGAL(6, .half 0x8002)                    /* c.jr zero */
    ILLEGAL(7, .half 0x1502)                    /* c.slli a0, 32 */
    ILLEGAL(8, .half 0x9101)                    /* c.srli a0, 32 */
    ILLEGAL(9, .half 0x9d09)                    /* c.subw a0, a0 */
    ILLEGAL(10, .half 0x9d41)                   /* reserved beside it */
    ILLEGAL(11, .half 0x2000)                   /* c.fld */
    ILLEGAL(12, .half 0x8000)                   /* reserved */
    TEST(13, s4, 0x8000, nop)
    TEST(14, s3, 0, la a1, 1f; 1: .half 0x8000; sub s3, s3, a1)
    /* Hints do nothing. */
    HINT(15, 0x0005)                            /* c.nop 1 */
    HINT(16, 0x0501)                            /* c.addi a0, 0 */
    HINT(17, 0x4005)                            /* c.li zero, 1 */
    HINT(18, 0x6005)                            /* c.lui zero, 1 */
    HINT(19, 0x802a)                            /* c.mv zero, a0 */
    HINT(20, 0x902a)                            /* c.add zero, a0 */
    HINT(21, 0x0006)                            /* c.slli zero, 1 */
    HINT(22, 0x0502)                            /* c.slli a0, 0 */
    HINT(23, 0x8101)                            /* c.srli a0, 0 */
    HINT(24, 0x8501)                            /* c.srai a0, 0 */
    TEST(25, a0, 0, li a0, 7; lui zero, 1; auipc zero, 1; addi zero, a0, 1; mul zero, a0, a0; div zero, a0, a0; slli zero, a0, 1; mv a0, zero)
    /* With register 0 as destination, a load still accesses memory, an atomic still stores, and a jump still jumps. */
    TEST(26, s2, 5, li s2, 0; li a1, 0x100; lw zero, 0(a1))
    TEST(27, a0, 9, la a1, word; li a0, 4; sw a0, 0(a1); li a2, 5; amoadd.w zero, a2, (a1); lw a0, 0(a1))
    TEST(28, zero, 0, jal zero, 1f; 1: nop)
    TEST(29, zero, 0, li a0, -1; csrrw zero, mscratch, a0; csrrs zero, mscratch, zero)
    /* Source and destination may be the same register. */
    TEST(30, a1, 9, la a1, word; amoadd.w a1, zero, (a1))
    TEST(31, a1, 9, la a1, word; mv a2, a1; amoswap.w a1, a1, (a1); lw a0, 0(a2); sub a0, a0, a2; or a1, a1, a0)
    TEST(32, a1, 0, la a1, 1f; mv a0, a1; jalr a1, 0(a1); 1: sub a1, a1, a0)
    /* Order bits change nothing. */
    TEST(33, a0, 14, la a1, word; li a0, 1; sw a0, 0(a1); li a2, 1; amoadd.w.aq a0, a2, (a1); amoadd.w.rl a3, a2, (a1); add a0, a0, a3; amoadd.w.aqrl a3, a2, (a1); add a0, a0, a3; lr.w.aqrl a3, (a1); add a0, a0, a3; sc.w.rl a3, a2, (a1); add a0, a0, a3; lw a3, 0(a1); add a0, a0, a3; addi a0, a0, 3)
    /* Store-conditionals fail without a reservation, with one for another word, and after another store-conditional. */
    TEST(34, a0, 1, la a1, word; sc.w a0, zero, (a1))
    TEST(35, a0, 1, la a1, word; addi a2, a1, 4; lr.w a0, (a2); sc.w a0, zero, (a1))
    TEST(36, a0, 1, sc.w a0, zero, (a2))
    TEST(37, a0, 1, lr.w a0, (a1); sc.w a0, zero, (a1); sc.w a0, zero, (a1))
    TEST(38, a3, 5, li a3, 5; sw a3, 0(a1); sc.w a0, zero, (a1); lw a3, 0(a1))
    /* Read-only registers: any attempt to write traps, even if it changes no bits; a mere read does not. */
    TEST(40, s1, 0, li s1, 0; csrrs a0, mvendorid, zero; csrrc a0, mvendorid, zero; csrrsi a0, mvendorid, 0; csrrci a0, mvendorid, 0)
    ILLEGAL(41, csrrw zero, mvendorid, zero)
    ILLEGAL(42, csrrwi zero, mvendorid, 0)
    ILLEGAL(43, li a0, 0; csrrs a1, mvendorid, a0)
    ILLEGAL(44, csrrci a1, mvendorid, 1)
    TEST(45, a1, 7, li a1, 7; csrrw a1, mvendorid, a0)          /* and rd keeps its value */
    TEST(46, a1, 7, csrrs a1, 0x5c0, zero)
    ILLEGAL(47, csrrw zero, 0x5c0, zero)                        /* does not exist; traps although nothing is read */
    TEST(48, a0, 0, li a0, -1; csrw mepc, a0; csrr a0, mepc; andi a0, a0, 1)
    TEST(49, a0, 0, csrr a1, mtvec; li a0, -1; csrw mtvec, a0; csrr a0, mtvec; csrw mtvec, a1; andi a0, a0, 3)
    /* A trap stores the previous mode and interrupt enable in mstatus, and mret restores both. */
    TEST(50, a0, 0x1880, csrsi mstatus, 8; ebreak; mv a0, s5; csrci mstatus, 8)
    TEST(51, a0, 0x88, csrw mstatus, zero; li a1, 0x1880; csrs mstatus, a1; la a1, 1f; csrw mepc, a1; mret; 1: csrr a0, mstatus)
    TEST(52, a0, 0x80, li a1, MPP; csrw mstatus, a1; la a1, 1f; csrw mepc, a1; mret; 1: csrr a0, mstatus)
    /* A return to user mode clears MPRV, by which loads and stores use the mode in MPP. */
    TEST(53, a0, 0, li a1, 0x20000; csrs mstatus, a1; la a1, 1f; csrw mepc, a1; mret; 1: ebreak; mv a0, s5; srli a0, a0, 11)
    /* From here on in user mode: wfi and counters are allowed; any access to registers of machine mode traps. */
    TEST(54, s1, 0, li s1, 0; wfi; rdcycle a0; rdinstret a0; rdtime a0)
    ILLEGAL(55, csrrs a0, mhartid, zero)
    ILLEGAL(56, csrrw zero, mepc, zero)
    TEST(57, s5, 0x80, ebreak)                                  /* MPP says user mode */
    /* Jump targets: bit 0 of the sum is dropped, and a multiple of 2 bytes is allowed. */
    TEST(58, a0, 1, la a1, 1f; jalr zero, 1(a1); li a0, 9; .half 0; 1: li a0, 1)
    TEST(59, a0, 5, li a0, 4; la a1, 1f; jr a1; .half 0; 1: addi a0, a0, 1)
    /* A loop that rewrites its body in each iteration: one instruction, which crosses words and lines. */
    TEST(60, a0, 111, li a0, 0; li a3, 3; la a1, 2f; la sp, bodies; 1: lw a2, 0(sp); sh a2, 0(a1); srli a2, a2, 16; sh a2, 2(a1); fence.i; j 3f; .balign 16; .zero 14; 2: .word 0x13; j 4f; .half 0; 3: j 2b; 4: addi sp, sp, 4; addi a3, a3, -1; bnez a3, 1b)
    PASS
    FAIL
    GO_ON
DATA
word: .word 0, 0
    .option norvc
bodies: addi a0, a0, 1
    addi a0, a0, 10
    addi a0, a0, 100
END
