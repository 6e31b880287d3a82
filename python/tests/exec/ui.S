/* SPDX-License-Identifier: Apache-2.0 */
/* The base instructions. */
#include "machine.h"
BEGIN(0)
    TEST(2, a0, 0x80000000, li a1, 0x7fffffff; addi a0, a1, 1)
    TEST(3, a0, 1, li a1, -1; sltu a0, zero, a1)
    TEST(4, a0, 0, li a1, -1; slt a0, zero, a1)
    TEST(5, a0, 0xf8000000, li a1, 0x80000000; srai a0, a1, 4)
    TEST(6, a0, 2, li a1, 1; li a2, 33; sll a0, a1, a2)         /* five bits of the amount count */
    TEST(7, a0, 0xffffff80, la a1, bytes; lb a0, 3(a1))
    TEST(8, a0, 0x8003, la a1, bytes; lhu a0, 2(a1))
    TEST(9, a0, 0x80030201, la a1, bytes; lw a0, 0(a1))
    TEST(10, a0, 0x06800302, la a1, bytes; lw a0, 1(a1))        /* misaligned, done by the core */
    TEST(11, a0, 0x80035a01, la a1, bytes; li a2, 0x5a; sb a2, 1(a1); lw a0, 0(a1))
    TEST(12, a0, 0, lui a0, 0xfffff; auipc a1, 0; auipc a2, 0; sub a1, a2, a1; addi a1, a1, -4; mv a0, a1)
    TEST(13, zero, 0, li a1, 7; add zero, a1, a1)
    TEST(14, a0, 3, li a0, 0; 1: addi a0, a0, 1; li a1, 3; blt a0, a1, 1b)
    TEST(15, a0, 1, la a1, 1f + 1; li a0, 1; jalr a2, a1, 0; li a0, 2; 1:)  /* the lowest bit is dropped */
    /* A store to code is seen behind fence.i. */
    TEST(16, a0, 42, la a1, 1f; la a2, 2f; lw a3, 0(a2); sw a3, 0(a1); fence.i; .balign 4; .option push; .option norvc; 1: li a0, 0; .option pop)
    PASS
    .option norvc
2:  li a0, 42
    FAIL
DATA
bytes: .byte 1, 2, 3, 0x80, 6, 0, 0, 0
END
