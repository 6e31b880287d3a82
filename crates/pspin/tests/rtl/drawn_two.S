/* SPDX-License-Identifier: Apache-2.0 */
/* Two drawn programs, see drawn.h. */
#include "drawn.h"

    drawn   drawn_3
.L3_again:
    mul     a5, a1, a1
    bne     a1, t2, .L3_1
    li      a1, -21
    nop
.L3_1:
    sw      a5, 44(a3)
    xor     t2, t4, a1
    amoadd.w t1, a5, (a2)
    bgeu    t0, t0, .L3_2
    addi    t4, a6, 1050
    divu    t4, a5, a1
.L3_2:
    bgeu    t0, t0, .L3_3
    remu    a1, a5, t4
    mul     a5, a1, t1
    add     t4, t4, a1
.L3_3:
    mul     a1, a6, a4
    amoadd.w a1, t2, (a2)
    sw      t2, 32(a2)
    add     a5, a5, a5
    remu    a5, a4, a4
    divu    a4, a6, t6
    add     t2, t2, t2
    j       .L3_4
    nop
    remu    a6, t1, t4
    .4byte  0x13                    /* nop, not compressed */
    xor     t4, a1, t4
    rem     t2, a1, t4
.L3_4:
    la      t5, .L3_5
    addi    t2, a1, 1496
    jr      t5
    lbu     a4, 57(a2)
    li      a6, -19
    lw      t1, 37(a2)
    add     a1, a1, a4
    .4byte  0x13                    /* nop, not compressed */
.L3_5:
    mulh    t2, t4, a1
    lh      t2, 56(a3)
    nop
    lw      a1, 28(a2)
    add     t1, t1, t2
    mulh    a6, a5, a5
    lh      a4, 30(a3)
    div     t1, a5, a1
    xor     a4, a4, a4
    bgeu    t0, t0, .L3_6
    li      t2, -14
    xor     a4, a1, t2
    mul     t2, a5, a6
    mul     t4, t4, t2
    xor     a4, t2, a5
    add     a5, a5, a6
    li      a5, -5
.L3_6:
    addi    a6, a6, -1645
    nop
    amoadd.w t1, a1, (a2)
    bltu    t2, a6, .L3_7
    lw      a4, 20(a2)
    divu    t2, t4, t1
    addi    t4, t2, -1106
    addi    a4, a6, -809
    addi    t2, t1, -522
    remu    a4, a4, t4
    addi    a4, a5, -1471
.L3_7:
    la      t5, .L3_8
    sw      t5, 60(a2)
    lw      t5, 60(a2)
    .4byte  0x13                    /* nop, not compressed */
    jr      t5
    mul     t2, t1, t2
    mul     t2, t1, a6
    nop
    addi    t4, t4, -1125
    li      t2, 10
    add     t4, t4, t4
    divu    a4, a6, t1
    lw      a4, 4(a2)
.L3_8:
    bltu    a4, a6, .L3_9
    add     a5, a5, a5
    addi    t1, t1, -1316
    mul     t1, t1, a4
    mul     a5, t4, t1
.L3_9:
    mulhsu  a6, t2, a4
    bgeu    t0, t0, .L3_10
    nop
    addi    a6, a6, -70
    rem     t2, t4, a5
    rem     t1, a4, t1
.L3_10:
    sh      a5, 16(a3)
    .4byte  0x13                    /* nop, not compressed */
    la      t5, .L3_11
    sw      t5, 60(a2)
    xor     t2, t4, t4
    lw      t5, 60(a2)
    xor     a5, t2, a6
    jr      t5
    sw      a1, 12(a2)
    divu    t1, a4, t1
    divu    t2, t1, t1
    lbu     a6, 19(a2)
    lw      a1, 13(a2)
    mul     a6, t1, a4
    li      t2, -13
    lbu     a4, 41(a2)
    rem     t2, a6, t1
.L3_11:
    amoadd.w t1, t2, (a2)
    mulhsu  a4, t1, a4
    sb      t1, 41(a2)
    lw      a1, 15(a2)
    nop
    divu    a6, t4, a1
    bgeu    t0, t0, .L3_12
    mul     a5, a1, t2
    mul     a5, a4, t1
.L3_12:
    mul     a1, t2, t2
    la      t5, .L3_13
    jr      t5
    nop
    lbu     t1, 39(a2)
    rem     a6, a4, t3
    lw      a6, 4(a2)
    sh      t1, 20(a2)
    li      a5, -8
    lh      a6, 48(a2)
    nop
    mul     a6, a6, a6
.L3_13:
    lw      t1, 4(a2)
    add     a5, a5, a5
    bgeu    t0, t0, .L3_14
    xor     a4, a5, t1
    li      t1, 15
    li      t2, 29
    add     a6, a6, a1
    addi    t2, t1, -1345
    mul     t2, t1, t1
    xor     a4, t2, a1
    mul     a6, a1, t1
.L3_14:
    bgeu    t4, a4, .L3_15
    nop
    add     t1, t1, a4
.L3_15:
    bgeu    t0, t0, .L3_16
    mul     t2, t1, a1
    rem     a6, a5, a6
    addi    t4, a4, 929
    lw      a1, 56(a2)
    mul     t2, t1, t4
    mul     t1, t2, t1
    addi    t2, t4, -1101
    sh      a6, 6(a2)
.L3_16:
    amoadd.w t1, t1, (a2)
    j       .L3_17
    lw      t2, 8(a2)
    rem     t4, a5, t2
    li      a6, -27
    mul     t1, t4, t4
    xor     t1, a6, t2
    mul     t1, a1, a4
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    remu    t1, a5, a1
.L3_17:
    mulhu   a1, t2, t1
    li      t2, 4
    li      a6, 28
    add     a6, a6, t4
    xor     a6, a4, t2
    bgeu    t0, t0, .L3_18
    lw      t4, 48(a2)
    rem     a6, a6, a4
.L3_18:
    add     t2, t2, a6
    add     t4, t4, a4
    xor     a6, t1, a4
    addi    t0, t0, -1
    beqz    t0, .L3_end
    j       .L3_again
.L3_end:
    nop
    end drawn_3

    drawn   drawn_4
.L4_again:
    lw      a5, 48(a2)
    mulh    t4, a1, a1
    sh      t1, 6(a3)
    xor     t4, a1, a6
    mul     t4, a4, t4
    mulhsu  t4, a1, a1
    divu    a4, t1, a5
    bgeu    t0, t0, .L4_1
    li      a4, 3
    mul     t2, a5, a4
    li      a1, -28
.L4_1:
    mulhu   t1, a4, t4
    lbu     t4, 43(a2)
    sb      a4, 1(a2)
    li      a5, -29
    la      t5, .L4_2
    sw      t5, 60(a2)
    addi    a4, t4, -1979
    lw      t5, 60(a2)
    .4byte  0x13                    /* nop, not compressed */
    jr      t5
    sw      a5, 12(a2)
.L4_2:
    addi    t1, t4, -872
    li      a4, 21
    lbu     a1, 16(a3)
    mulhu   a5, t2, a5
    add     a4, a4, t4
    mul     a5, t1, t1
    bltu    t1, a6, .L4_3
    div     a1, t2, a4
    nop
    mul     a1, a6, t1
    lbu     a4, 25(a2)
.L4_3:
    bgeu    t0, t0, .L4_4
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    mul     t1, t2, t1
    sh      a5, 51(a2)
    nop
    xor     t1, a1, t4
.L4_4:
    mulhu   a1, a6, a6
    add     t1, t1, a4
    amoadd.w t2, t2, (a3)
    sh      t2, 36(a3)
    bltu    t1, a1, .L4_5
    lw      a4, 52(a2)
    remu    t1, a6, a6
    xor     a5, t4, t2
    add     t1, t1, a1
    lw      a5, 3(a2)
    lbu     t2, 59(a2)
    sb      t4, 23(a2)
.L4_5:
    addi    a6, a5, -161
    lh      t1, 32(a3)
    lw      a1, 12(a2)
    lbu     a6, 28(a3)
    lbu     a6, 34(a2)
    addi    a5, t2, -1967
    bgeu    t0, t0, .L4_6
    addi    t2, t1, -906
    add     a1, a1, a1
    nop
    xor     a1, a5, a4
    nop
    xor     a4, t4, t4
    li      t1, 22
.L4_6:
    div     a6, t1, t6
    .4byte  0x13                    /* nop, not compressed */
    sh      a5, 16(a3)
    remu    a6, t1, t6
    bltu    t1, t4, .L4_7
.L4_7:
    amoadd.w a1, t4, (a3)
    mulhu   a5, t1, a5
    add     t4, t4, t2
    lw      a6, 52(a2)
    add     a5, a6, a6
    addi    t2, t1, 789
    sh      a5, 42(a2)
    .4byte  0x13                    /* nop, not compressed */
    lbu     a6, 50(a2)
    lw      t4, 48(a2)
    j       .L4_9
.L4_8:
    lbu     a5, 37(a2)
    rem     a6, t1, a6
    jr      a7
.L4_9:
    jal     a7, .L4_8
    li      t2, 17
    xor     a4, a5, a4
    bgeu    t4, a4, .L4_10
    .4byte  0x13                    /* nop, not compressed */
    rem     a4, t2, a1
.L4_10:
    li      t1, -11
    lh      a4, 26(a2)
    divu    t2, t1, a4
    addi    a5, t4, -106
    mulh    t2, a1, a5
    mulhu   t4, a5, a4
    lbu     t4, 27(a2)
    bltu    t2, t2, .L4_11
    sb      a6, 53(a2)
    nop
    xor     a1, t2, a5
.L4_11:
    nop
    bgeu    t0, t0, .L4_12
    lw      a6, 20(a2)
    remu    a4, a5, a4
    divu    t4, a6, a6
    .4byte  0x13                    /* nop, not compressed */
    li      a1, 28
    .4byte  0x13                    /* nop, not compressed */
    mul     t4, a6, t1
    divu    a5, a1, t6
    add     a6, a6, a1
.L4_12:
    lh      a6, 8(a2)
    bgeu    t2, a1, .L4_13
    remu    a5, t4, a6
    xor     t2, t4, t2
    div     a6, t1, t4
    mul     a6, t1, t2
    div     a5, a6, a5
    .4byte  0x13                    /* nop, not compressed */
.L4_13:
    mul     t2, t1, t4
    addi    a6, t1, -1642
    j       .L4_15
.L4_14:
    mul     a4, a5, a1
    rem     t4, a4, t1
    li      a4, -14
    jr      a7
.L4_15:
    jal     a7, .L4_14
    lh      t1, 44(a3)
    mul     a5, a4, a5
    j       .L4_17
.L4_16:
    lh      a6, 2(a2)
    rem     t4, t4, t3
    mul     t2, t1, a4
    addi    a4, t4, -1391
    jr      a7
.L4_17:
    jal     a7, .L4_16
    bgeu    t0, t0, .L4_18
    add     a4, a4, t1
    li      a6, 28
    li      a1, -3
    li      t2, 3
    div     a1, t4, a4
    add     t1, t1, t4
.L4_18:
    .4byte  0x13                    /* nop, not compressed */
    sw      a5, 19(a2)
    mulhsu  a5, a4, t1
    lh      a6, 24(a2)
    addi    a4, t4, -676
    la      t5, .L4_19
    nop
    jr      t5
    add     a1, a1, a6
    add     t1, t1, a1
    lbu     a1, 48(a2)
    li      t1, 22
    add     a1, a1, t2
    li      a6, 18
    nop
.L4_19:
    bgeu    t0, t0, .L4_20
    xor     a4, a6, a6
    mul     a5, a4, t2
    lw      a1, 36(a2)
    addi    t4, t2, 694
    xor     a5, t4, t2
    lh      a4, 52(a2)
.L4_20:
    sw      t4, 28(a2)
    lw      t2, 12(a2)
    addi    t1, a5, 1557
    j       .L4_21
    remu    a1, t1, t6
    lw      t4, 0(a2)
    li      a4, -12
    mul     t2, t4, a5
    sb      a5, 38(a2)
.L4_21:
    sw      a6, 56(a3)
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    lbu     a4, 45(a2)
    addi    t0, t0, -1
    beqz    t0, .L4_end
    j       .L4_again
.L4_end:
    nop
    end drawn_4
