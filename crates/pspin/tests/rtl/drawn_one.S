/* SPDX-License-Identifier: Apache-2.0 */
/* Two drawn programs, see drawn.h. */
#include "drawn.h"

    drawn   drawn_1
.L1_again:
    addi    t1, a1, -378
    lbu     a6, 5(a2)
    sh      t4, 50(a3)
    .4byte  0x13                    /* nop, not compressed */
    sb      t4, 17(a2)
    addi    t2, t1, 1395
    amoadd.w t4, a5, (a3)
    bltu    t2, t2, .L1_1
    li      t4, 14
    nop
    sb      t2, 42(a2)
    .4byte  0x13                    /* nop, not compressed */
.L1_1:
    sh      t4, 5(a2)
    bgeu    t0, t0, .L1_2
    nop
    add     a1, a1, a5
    sw      a5, 24(a2)
    remu    t2, t2, a4
    nop
    nop
    rem     a4, a4, t3
    mul     a5, t2, a1
.L1_2:
    nop
    sw      a5, 40(a2)
    addi    a6, a1, 411
    mulhsu  a4, t2, a5
    nop
    j       .L1_3
    add     a4, a4, t4
    nop
    .4byte  0x13                    /* nop, not compressed */
.L1_3:
    mulhu   t1, t1, a5
    j       .L1_4
    li      a1, 29
.L1_4:
    mulh    a5, a5, a5
    la      t5, .L1_5
    sw      t5, 60(a2)
    lw      t5, 60(a2)
    add     a1, a1, t4
    jr      t5
    add     t2, t2, a6
.L1_5:
    mulh    a5, a6, a4
    la      t5, .L1_6
    sw      t5, 60(a2)
    lw      t5, 60(a2)
    add     t1, t1, a5
    jr      t5
.L1_6:
    lbu     a5, 23(a2)
    mulhsu  t1, a6, t2
    sw      t1, 4(a2)
    la      t5, .L1_7
    jr      t5
    mul     t2, a4, t1
    sw      t1, 36(a2)
    add     a5, a5, t4
    divu    a6, t2, a6
    remu    a6, t1, a6
    remu    t2, a1, t4
    xor     t2, t1, t1
    addi    t2, a4, -1148
    xor     t4, a5, t2
.L1_7:
    mulh    a5, a4, t1
    lw      a1, 56(a3)
    amoadd.w t4, t4, (a3)
    j       .L1_8
.L1_8:
    lw      t4, 4(a2)
    lbu     a5, 21(a3)
    j       .L1_9
    mul     a5, t4, a6
    sw      t4, 41(a2)
    addi    a6, a6, -1696
    li      a1, -20
    xor     a4, t2, t4
    li      t4, -29
    li      a1, -3
.L1_9:
    sw      a6, 44(a3)
    lw      a6, 12(a2)
    add     t4, a6, t1
    .4byte  0x13                    /* nop, not compressed */
    add     a5, a5, t1
    remu    t2, a4, t1
    j       .L1_11
.L1_10:
    sb      t4, 52(a2)
    remu    t1, t1, t1
    jr      a7
.L1_11:
    jal     a7, .L1_10
    j       .L1_12
    xor     a4, t4, a5
    lbu     t4, 2(a2)
    lw      t4, 19(a2)
    nop
    sw      a5, 24(a2)
    divu    t4, a6, t4
    nop
    add     t4, t4, a5
    lw      t4, 26(a2)
.L1_12:
    lh      t2, 40(a2)
    amoadd.w a5, t4, (a3)
    lw      t2, 7(a2)
    divu    t2, a1, a5
    mulhu   t4, a5, a5
    lw      t2, 44(a3)
    li      a5, -25
    lh      t4, 30(a3)
    j       .L1_13
    div     a4, t2, t4
    addi    t2, t4, -1262
    mul     t1, a1, t1
    sb      a6, 34(a2)
    sh      t4, 59(a2)
    remu    a6, t2, a4
    sb      a6, 42(a2)
    add     t2, t2, a1
    lbu     a5, 18(a2)
.L1_13:
    add     t4, t4, a5
    j       .L1_14
    nop
    divu    a5, a1, a1
    .4byte  0x13                    /* nop, not compressed */
    nop
    lw      t4, 33(a2)
    addi    t4, t4, 1904
    .4byte  0x13                    /* nop, not compressed */
    add     a6, a6, a1
    lh      t1, 48(a2)
.L1_14:
    li      a6, 11
    j       .L1_16
.L1_15:
    mul     t4, a1, a6
    sw      a5, 44(a2)
    jr      a7
.L1_16:
    jal     a7, .L1_15
    li      a5, 2
    amoadd.w a4, a6, (a3)
    j       .L1_18
.L1_17:
    rem     a5, a6, t4
    addi    t2, a4, -122
    mul     a6, a6, a4
    .4byte  0x13                    /* nop, not compressed */
    jr      a7
.L1_18:
    jal     a7, .L1_17
    lh      a1, 29(a2)
    lw      a5, 36(a2)
    add     t4, a5, a5
    lw      t1, 48(a2)
    add     a5, t1, a6
    li      a6, 25
    amoadd.w t4, t1, (a2)
    .4byte  0x13                    /* nop, not compressed */
    addi    t2, t1, -1332
    rem     t1, a4, a6
    nop
    nop
    la      t5, .L1_19
    sw      t5, 60(a2)
    nop
    lw      t5, 60(a2)
    jr      t5
    li      a5, 7
    mul     a1, t2, a1
    li      a6, 28
    li      a1, -27
.L1_19:
    sb      t1, 44(a3)
    la      t5, .L1_20
    .4byte  0x13                    /* nop, not compressed */
    add     a6, a6, t2
    jr      t5
    xor     a4, t1, a6
    .4byte  0x13                    /* nop, not compressed */
    add     a6, a6, a4
.L1_20:
    j       .L1_21
    rem     t2, a6, t1
    div     a5, a1, t1
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
.L1_21:
    add     t4, t4, t1
    .4byte  0x13                    /* nop, not compressed */
    lw      a1, 28(a3)
    lbu     t4, 56(a3)
    lw      t4, 21(a2)
    sw      a5, 4(a2)
    mulhsu  t4, a6, a4
    la      t5, .L1_22
    jr      t5
    add     t4, t4, t4
    mul     a4, a5, t4
    rem     t4, t4, t2
.L1_22:
    addi    t0, t0, -1
    beqz    t0, .L1_end
    j       .L1_again
.L1_end:
    nop
    end drawn_1

    drawn   drawn_2
.L2_again:
    mulh    a6, a1, t1
    add     t1, t1, a5
    lw      a4, 56(a3)
    nop
    xor     a6, t1, t2
    add     a6, a6, t1
    bgeu    t0, t0, .L2_1
    .4byte  0x13                    /* nop, not compressed */
    mul     a1, a4, t1
    lw      t1, 3(a2)
    lbu     a4, 18(a2)
    add     a5, a5, a4
    mul     t2, t1, a4
    sw      a1, 20(a2)
    add     t1, t1, a4
    xor     a1, a4, a6
.L2_1:
    bltu    a6, a4, .L2_2
    addi    t2, t4, -1264
    mul     t4, t2, t1
    sh      a5, 32(a2)
    mul     a6, a5, a4
    nop
    lw      t2, 10(a2)
    remu    t1, a1, t2
.L2_2:
    blt     a4, t4, .L2_3
    li      a5, 6
    remu    t1, t4, t2
    xor     a1, a1, t1
    li      a1, -13
    mul     a4, a1, t4
.L2_3:
    sh      a1, 44(a2)
    div     a6, a5, a5
    amoadd.w t1, a6, (a2)
    .4byte  0x13                    /* nop, not compressed */
    bltu    t2, a1, .L2_4
    remu    t4, a6, t2
    xor     a6, a4, a5
    xor     t4, a4, a5
.L2_4:
    j       .L2_5
    li      a6, 29
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    mul     t2, t1, a6
    lbu     t2, 16(a2)
.L2_5:
    sb      t2, 39(a2)
    j       .L2_6
    lw      t4, 29(a2)
    mul     t4, a4, a6
    remu    a6, t1, t3
    mul     a6, t1, t2
    .4byte  0x13                    /* nop, not compressed */
    divu    t1, a5, t1
    nop
    lbu     a5, 34(a2)
.L2_6:
    amoadd.w t1, t1, (a2)
    bgeu    t0, t0, .L2_7
    lw      a5, 8(a2)
    sb      t4, 30(a2)
    remu    a6, a6, a4
.L2_7:
    .4byte  0x13                    /* nop, not compressed */
    li      a5, 15
    mul     a6, t4, a1
    add     t1, t1, t2
    la      t5, .L2_8
    sw      t5, 60(a2)
    .4byte  0x13                    /* nop, not compressed */
    lw      t5, 60(a2)
    jr      t5
    li      t4, -27
    mul     t4, a5, a4
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    sb      t4, 40(a2)
    .4byte  0x13                    /* nop, not compressed */
    divu    t2, a4, t3
    li      t1, -31
.L2_8:
    bltu    a6, a5, .L2_9
    mul     a4, a5, a6
    mul     a5, a5, t1
    nop
.L2_9:
    xor     t2, a5, t2
    lw      a5, 30(a2)
    beq     t4, a1, .L2_10
    divu    a6, t2, t4
.L2_10:
    bltu    t1, t4, .L2_11
    remu    a1, t1, a5
    .4byte  0x13                    /* nop, not compressed */
    .4byte  0x13                    /* nop, not compressed */
    sw      a4, 48(a2)
    sw      t2, 42(a2)
    lbu     a1, 1(a2)
.L2_11:
    amoadd.w t1, a4, (a3)
    la      t5, .L2_12
    jr      t5
    .4byte  0x13                    /* nop, not compressed */
    addi    t2, a5, 52
    add     a5, a5, a5
    lw      a1, 52(a2)
    xor     a1, a4, t4
    lw      a4, 52(a2)
.L2_12:
    add     t2, t2, a4
    lw      t2, 52(a2)
    amoadd.w t1, t4, (a2)
    bne     t2, t2, .L2_13
    lh      a1, 34(a2)
    sw      a4, 50(a2)
    .4byte  0x13                    /* nop, not compressed */
    addi    t1, t4, -1600
    sw      t1, 32(a2)
    rem     a4, a4, t6
    li      a5, -4
.L2_13:
    sw      a1, 32(a2)
    sh      t2, 58(a2)
    bgeu    t0, t0, .L2_14
    xor     t1, a6, a6
    nop
    mul     t2, a6, t1
    li      a5, 18
    .4byte  0x13                    /* nop, not compressed */
    mul     a1, a1, a5
    addi    t2, a6, -1101
.L2_14:
    la      t5, .L2_15
    jr      t5
    divu    a1, t4, a6
    li      a6, 0
    rem     a6, t2, a1
    nop
    mul     a5, t1, a5
    sw      a6, 28(a2)
.L2_15:
    mulhsu  a4, a5, a4
    la      t5, .L2_16
    sw      t5, 60(a2)
    lw      t5, 60(a2)
    jr      t5
    nop
    addi    t1, t4, -1257
    .4byte  0x13                    /* nop, not compressed */
.L2_16:
    bgeu    t0, t0, .L2_17
    mul     t4, a5, a6
    add     a4, a4, a4
    rem     t1, a5, t1
    mul     t2, a6, t1
    nop
    mul     t1, t4, a5
.L2_17:
    add     t4, t4, t2
    addi    t4, t1, -142
    addi    a4, a6, 1795
    lw      a5, 36(a2)
    add     t2, a5, t1
    sw      a5, 7(a2)
    .4byte  0x13                    /* nop, not compressed */
    addi    a1, a5, 175
    bne     a5, a6, .L2_18
    mul     t2, a5, a5
    addi    t1, t1, -1925
    mul     a4, a4, t2
    sw      t1, 15(a2)
    mul     t4, a1, a6
    mul     a6, a4, t4
    rem     a1, t2, a6
    .4byte  0x13                    /* nop, not compressed */
.L2_18:
    bgeu    t0, t0, .L2_19
    rem     t1, t4, a5
    nop
.L2_19:
    amoadd.w a1, a5, (a3)
    lbu     t4, 3(a2)
    rem     a4, t2, a4
    xor     t2, t2, a5
    lw      a5, 16(a2)
    sb      t1, 15(a3)
    addi    t0, t0, -1
    beqz    t0, .L2_end
    j       .L2_again
.L2_end:
    nop
    end drawn_2
