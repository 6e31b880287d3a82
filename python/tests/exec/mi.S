/* SPDX-License-Identifier: Apache-2.0 */
/* Machine mode: control registers and traps. */
#include "machine.h"
BEGIN(MPP)
    TEST(2, a0, 3, csrwi mscratch, 3; csrr a0, mscratch)
    TEST(3, a0, 3, csrrci a0, mscratch, 1)
    TEST(4, a0, 2, csrrsi a0, mscratch, 4)
    TEST(5, a0, 6, li a1, 0xbad1dea; csrrw a0, mscratch, a1)
    TEST(6, a0, 0xbad1dea, li a1, 0x1dea; csrrc a0, mscratch, a1)
    TEST(7, a0, 0xbad0000, csrr a0, mscratch)
    /* misa: 32 bits; A, C, I, M and U, and no S. Writing it does not trap. */
    TEST(8, a0, 0x40101105, csrr a0, misa; li a1, 0x40141105; and a0, a0, a1)
    TEST(9, s1, 0, csrwi misa, 0; csrr a0, mvendorid; csrr a0, marchid; csrr a0, mimpid; csrr a0, mcycle; csrr a0, minstret)
    /* Supervisor mode does not exist, so MPP cannot have its number. */
    TEST(10, a0, 0, li a1, MPP; csrc mstatus, a1; li a1, 0x800; csrs mstatus, a1; csrr a0, mstatus; li a1, MPP; and a0, a0, a1; xori a0, a0, 0x7ff; addi a0, a0, 1; seqz a0, a0)
    TEST(11, a0, 3, csrr a1, minstret; nop; nop; csrr a0, minstret; sub a0, a0, a1)
    TEST(12, a0, 1, rdcycle a1; rdcycle a0; sltu a0, a1, a0)
    /* A write to a half of minstret replaces the increment of that instruction. A carry reaches the upper half. */
    TEST(13, a0, 0, csrwi minstret, 0; csrr a0, minstret)
    TEST(14, a0, 0, li a1, -1; csrw minstret, a1; csrw minstreth, a1; nop; csrr a0, minstret)
    TEST(15, a0, 0, csrr a0, minstreth)
    /* There are no triggers, and the trigger registers report this. Memory protection entries keep written values. */
    TEST(16, a0, 0, li a1, 0x80000000; csrw tselect, a1; csrr a0, tselect; csrr a1, tdata1; srli a1, a1, 28; or a0, a0, a1)
    TEST(17, a0, 1, csrw pmpcfg0, zero; li a1, -1; csrw pmpaddr0, a1; csrr a0, pmpaddr0; andi a0, a0, 1; li a1, 0x1f; csrw pmpcfg0, a1)
    TEST(18, s1, 0, nop)
    /* Traps. */
    TEST(20, s2, 2, .word 0)
    TEST(21, s4, 0, li s4, 1; .word 0)
    TEST(19, s4, 0x02051513, .word 0x02051513)                  /* mtval shows the word */
    TEST(22, s2, 2, li s2, 0; .word 0x02051513)                 /* slli by 32 */
    TEST(23, s2, 2, li s2, 0; csrr a0, 0x5c0)                   /* no such register */
    TEST(24, s2, 2, li s2, 0; csrwi cycle, 0)                   /* read only */
    TEST(25, s2, 3, li s2, 0; ebreak)
    TEST(26, s3, 0, la a1, 1f; 1: ebreak; sub s3, s3, a1)
    TEST(27, s2, 5, li s2, 0; li a1, 0x100; lw a0, 0(a1))       /* unmapped */
    TEST(28, s4, 0x104, li a1, 0x100; lw a0, 4(a1))
    TEST(29, s2, 7, li s2, 0; li a1, 0x100; sw a0, 0(a1))
    TEST(30, s2, 1, li s2, 0; li a1, 0x100; jalr a1)
    TEST(31, s3, 0x100, li a1, 0x100; jalr a1)
    TEST(32, s1, 13, nop)
    /* Misaligned loads and stores work; misaligned atomics trap (causes 4 and 6). */
    TEST(33, a0, 0x05040302, la a1, bytes; lw a0, 1(a1))
    /* Registers that the standard requires exist, even if they are always 0; those of other extensions do not. */
    TEST(34, s1, 0, li s1, 0; csrr a0, 0xb04; csrr a0, 0xb9f; csrr a0, 0x33f; csrr a0, 0x310; csrr a0, 0x30a; csrr a0, 0xf15)
    TEST(35, s2, 2, li s2, 0; .word 0x00200073)                 /* uret */
    TEST(36, s2, 2, li s2, 0; csrr a0, 0)                       /* ustatus */
    TEST(37, a0, 0, li a1, 0x11; csrs mstatus, a1; csrr a0, mstatus; and a0, a0, a1)
    TEST(38, a0, 0x888, li a1, -1; csrw mie, a1; csrr a0, mie; csrw mie, zero)
    TEST(39, s2, 5, li a1, 0x100; lr.w a0, (a1))
    TEST(43, s2, 4, li a1, 0x102; lr.w a0, (a1))                /* misaligned atomics trap */
    TEST(44, s2, 6, amoadd.w a0, a0, (a1))
    TEST(45, s4, 0x5c002573, csrr a0, 0x5c0)
    /* In user mode, accesses to registers of machine mode trap. */
    TEST(40, s2, 2, li a1, MPP; csrc mstatus, a1; la a1, 1f; csrw mepc, a1; mret; 1: li s2, 0; csrr a0, mscratch)
    TEST(41, s2, 2, li s2, 0; mret)
    TEST(42, s2, 2, li s2, 0; csrw mscratch, zero)
    PASS
    FAIL

    GO_ON
DATA
bytes: .byte 1, 2, 3, 4, 5, 6, 7, 8
END
