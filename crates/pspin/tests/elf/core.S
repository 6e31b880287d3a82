/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction pattern in each section; a section begins with `ori x0, x0, N`.
 *
 * Instructions are not compressed. Unless noted otherwise, a section begins at the start of a fetch line, so that the
 * sequence alone decides the offsets. Addresses are in registers before the sections start; nops replace the address
 * arithmetic of the measured programs.
 */
#include "place.h"
    .option norvc
    .option norelax
#define MARK(n) .balign 16; ori x0, x0, n
#define L1 s0       /* scratchpad of the own cluster */
#define REMOTE s1   /* scratchpad of the next one */
#define HND s2      /* L2 handler memory */
#define L2PKT s3    /* the packet in L2 */
#define PKT s4      /* the packet in L1 */
#define TASK s5
#define DMAREGS s6
#define HOST_LO s7
#define HOST_HI s8
#define L1HI s9     /* scratchpad + 1 KiB */
#define DRV s10

    .section .text.core_ph, "ax"
    .globl core_ph
    .type core_ph, @function
    .balign 16
core_ph:
    addi    sp, sp, -64
    sw      s0, 0(sp)
    sw      s1, 4(sp)
    sw      s2, 8(sp)
    sw      s3, 12(sp)
    sw      s4, 16(sp)
    sw      s5, 20(sp)
    sw      s6, 24(sp)
    sw      s7, 28(sp)
    sw      s8, 32(sp)
    sw      s9, 36(sp)
    sw      s10, 40(sp)
    lw      TASK, ARGS_TASK(a0)
    lw      t0, ARGS_CLUSTER(a0)
    slli    t1, t0, 2
    add     t1, t1, TASK
    lw      L1, TASK_SCRATCHPADS(t1)
    addi    t1, t0, 1
    andi    t1, t1, 3
    slli    t1, t1, 2
    add     t1, t1, TASK
    lw      REMOTE, TASK_SCRATCHPADS(t1)
    lw      HND, TASK_HANDLER_MEM(TASK)
    lw      L2PKT, TASK_L2_PKT(TASK)
    lw      PKT, TASK_PKT_MEM(TASK)
    lw      HOST_LO, TASK_HOST_LOW(TASK)
    andi    HOST_LO, HOST_LO, -64
    lw      HOST_HI, TASK_HOST_HIGH(TASK)
    lui     DMAREGS, 0x1B204
    addi    DMAREGS, DMAREGS, 0x400
    lui     DRV, DRIVER
    addi    L1HI, L1, 1024
    li      t1, 3

    MARK(1)
    .rept 8
    addi    t0, t0, 1
    .endr
    MARK(2)
    lw      t0, 0(PKT)
    lw      t1, 4(PKT)
    lw      t2, 8(PKT)
    lw      t3, 12(PKT)
    MARK(3)
    .rept 4
    lw      t0, 0(PKT)
    addi    t0, t0, 1
    .endr
    MARK(4)
    sw      t0, 0(L1)
    sw      t0, 4(L1)
    sw      t0, 8(L1)
    sw      t0, 12(L1)
    MARK(5)
    lw      t0, 0(L2PKT)
    lw      t1, 4(L2PKT)
    lw      t0, 8(L2PKT)
    lw      t1, 12(L2PKT)
    MARK(6)
    lw      t0, 0(HND)
    lw      t1, 4(HND)
    lw      t0, 8(HND)
    lw      t1, 12(HND)
    MARK(7)
    sw      t0, 0(HND)
    sw      t0, 4(HND)
    sw      t0, 8(HND)
    sw      t0, 12(HND)
    MARK(8)
    sw      t0, 0(L2PKT)
    sw      t0, 4(L2PKT)
    sw      t0, 8(L2PKT)
    sw      t0, 12(L2PKT)
    MARK(9)
    .rept 4
    amoadd.w t0, t1, (L1)
    .endr
    MARK(10)
    amoadd.w x0, t1, (L1)
    addi    L1, L1, 4
    amoadd.w x0, t1, (L1)
    addi    L1, L1, 4
    amoadd.w x0, t1, (L1)
    addi    L1, L1, -8
    MARK(11)
    lw      t0, 0(REMOTE)
    lw      t1, 4(REMOTE)
    lw      t0, 8(REMOTE)
    lw      t1, 12(REMOTE)
    MARK(12)
    sw      t0, 0(REMOTE)
    sw      t0, 4(REMOTE)
    sw      t0, 8(REMOTE)
    sw      t0, 12(REMOTE)
    MARK(13)
    amoadd.w t0, t1, (REMOTE)
    amoadd.w t0, t1, (REMOTE)
    MARK(14)
    amoadd.w t0, t1, (HND)
    amoadd.w t0, t1, (HND)
    MARK(15)
    .rept 4
    bne     x0, x0, 1f
    .endr
1:
    /* Placed such that the third branch straddles two lines, as measured. */
    .balign 16
    .option rvc
    nop
    .option norvc
    nop
    nop
    ori     x0, x0, 16
    beq     x0, x0, 1f
    addi    x0, x0, 1
1:  beq     x0, x0, 2f
    addi    x0, x0, 2
2:  beq     x0, x0, 3f
    addi    x0, x0, 3
3:  addi    x0, x0, 4
    .option rvc
    nop
    .option norvc
    MARK(17)
    li      t0, 6
1:  addi    t0, t0, -1
    bne     t0, x0, 1b
    MARK(18)
    j       1f
    addi    x0, x0, 1
1:  j       2f
    addi    x0, x0, 2
2:  addi    x0, x0, 3
    MARK(19)
    lla     t0, 1f                  /* auipc, addi */
    jalr    x0, 0(t0)
    addi    x0, x0, 1
1:  addi    x0, x0, 2
    li      t1, 3
    li      t2, 1000003
    MARK(20)
    .rept 4
    mul     t0, t1, t2
    .endr
    MARK(21)
    mulh    t0, t1, t2
    mulhu   t0, t1, t2
    mulhsu  t0, t1, t2
    MARK(22)
    div     t0, t2, t1
    div     t0, t1, t2
    divu    t0, t2, t1
    rem     t0, t2, t1
    remu    t0, t2, t1
    div     t0, t2, x0
    MARK(23)
    lw      t0, 2(L1)
    lw      t0, 1(L1)
    lh      t0, 3(L1)
    lh      t0, 1(L1)
    sw      t0, 2(L1)
    sh      t0, 3(L1)
    MARK(24)
    lb      t0, 0(L1)
    lbu     t0, 1(L1)
    lh      t0, 2(L1)
    lhu     t0, 0(L1)
    sb      t0, 0(L1)
    sh      t0, 2(L1)
    MARK(25)
    lw      t0, 0(TASK)
    lw      t1, 8(TASK)
    lw      t0, 60(TASK)
    lw      t1, 64(TASK)

    /* 64 bytes from L2 packet memory to L1. */
    li      t2, 64
    MARK(26)
    nop
    nop
    nop
    sw      L2PKT, 0x00(DMAREGS)
    nop
    sw      L1HI, 0x08(DMAREGS)
    sw      t2, 0x10(DMAREGS)
    lw      t0, 0x18(DMAREGS)
    lw      t1, 0x20(DMAREGS)
    bltu    t1, t0, 2f
    j       3f
    .balign 16
1:  nop
2:  lw      t1, 0x20(DMAREGS)
    bltu    t1, t0, 1b
3:
    /* 1 KiB from L2 handler memory to L1. */
    li      t2, 1024
    MARK(27)
    nop
    nop
    sw      HND, 0x00(DMAREGS)
    nop
    sw      L1HI, 0x08(DMAREGS)
    sw      t2, 0x10(DMAREGS)
    lw      t0, 0x18(DMAREGS)
    lw      t1, 0x20(DMAREGS)
    bltu    t1, t0, 2f
    j       3f
    .balign 16
1:  nop
2:  lw      t1, 0x20(DMAREGS)
    bltu    t1, t0, 1b
3:
    /* 256 bytes from L1 to L2 handler memory. */
    li      t2, 256
    MARK(28)
    nop
    sw      L1HI, 0x00(DMAREGS)
    nop
    nop
    sw      HND, 0x08(DMAREGS)
    sw      t2, 0x10(DMAREGS)
    lw      t0, 0x18(DMAREGS)
    lw      t1, 0x20(DMAREGS)
    bgeu    t1, t0, 3f
1:  nop
    lw      t1, 0x20(DMAREGS)
    bltu    t1, t0, 1b
3:
    /* 8 bytes to the host, within the command. */
    li      t0, 4
    li      t1, 0x11
    li      t2, 42
    MARK(29)
    nop
    nop
    nop
    nop
    nop
    sw      HOST_HI, CMD_WORD1(DRV)
    sw      HOST_LO, CMD_WORD0(DRV)
    sw      t1, CMD_WORD2(DRV)
    sw      t2, CMD_WORD3(DRV)
    sw      x0, CMD_WORD4(DRV)
    sw      t0, CMD_INFO(DRV)
    lw      t3, CMD_ISSUE(DRV)
    sw      t3, CMD_WAIT(DRV)

    /* 64 bytes from L1 to the network. */
    li      t0, 2
    li      t1, 64
    MARK(30)
    sw      x0, CMD_WORD0(DRV)
    sw      x0, CMD_WORD1(DRV)
    sw      PKT, CMD_WORD2(DRV)
    sw      x0, CMD_WORD3(DRV)
    sw      t1, CMD_WORD4(DRV)
    sw      t0, CMD_INFO(DRV)
    lw      t3, CMD_ISSUE(DRV)
    sw      t3, CMD_WAIT(DRV)
    /* 64 bytes from L1 to the host. */
    li      t0, 1
    MARK(31)
    sw      HOST_HI, CMD_WORD1(DRV)
    sw      HOST_LO, CMD_WORD0(DRV)
    sw      PKT, CMD_WORD2(DRV)
    sw      t1, CMD_WORD3(DRV)
    sw      t0, CMD_WORD4(DRV)
    sw      x0, CMD_INFO(DRV)
    lw      t3, CMD_ISSUE(DRV)
    sw      t3, CMD_WAIT(DRV)
    /* The same from L2. */
    MARK(32)
    sw      HOST_HI, CMD_WORD1(DRV)
    sw      HOST_LO, CMD_WORD0(DRV)
    sw      L2PKT, CMD_WORD2(DRV)
    sw      t1, CMD_WORD3(DRV)
    sw      t0, CMD_WORD4(DRV)
    sw      x0, CMD_INFO(DRV)
    lw      t3, CMD_ISSUE(DRV)
    sw      t3, CMD_WAIT(DRV)
    /* 64 bytes from the host to L1. */
    MARK(33)
    sw      HOST_HI, CMD_WORD1(DRV)
    sw      HOST_LO, CMD_WORD0(DRV)
    sw      L1HI, CMD_WORD2(DRV)
    sw      t1, CMD_WORD3(DRV)
    sw      x0, CMD_WORD4(DRV)
    sw      x0, CMD_INFO(DRV)
    lw      t3, CMD_ISSUE(DRV)
    sw      t3, CMD_WAIT(DRV)
    MARK(34)
    lw      s0, 0(sp)
    lw      s1, 4(sp)
    lw      s2, 8(sp)
    lw      s3, 12(sp)
    lw      s4, 16(sp)
    lw      s5, 20(sp)
    lw      s6, 24(sp)
    lw      s7, 28(sp)
    lw      s8, 32(sp)
    lw      s9, 36(sp)
    lw      s10, 40(sp)
    addi    sp, sp, 64
    ret
    .size core_ph, . - core_ph
