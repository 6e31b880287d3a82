/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the packet to handler memory and sends it from there to the network. In even clusters, the first core launches
 * the copy through the public DMA registers of its cluster, and the second core through those of the next cluster. All
 * other cores use their own DMA registers.
 */
#include "place.h"
    HANDLER(public_dma_ph)
    lw      t0, ARGS_TASK(a0)
    lw      a1, TASK_PKT_MEM(t0)
    lw      a2, TASK_HANDLER_MEM(t0)
    lw      a3, ARGS_HPU(a0)
    lw      a4, ARGS_CLUSTER(a0)
    lhu     a5, 2(a1)               /* IP length: that of the packet */
    slli    t1, a4, 3
    add     t1, t1, a3
    slli    t1, t1, 11
    add     a2, a2, t1              /* 2 KiB of handler memory for each core */
    andi    t1, a4, 1
    lui     t2, 0x1B204
    addi    t2, t2, 0x400           /* the core's own registers */
    bnez    t1, 1f
    li      t3, 1
    bgtu    a3, t3, 1f
    lui     t2, 0x1B202
    addi    t2, t2, -0x800          /* the public ones */
    beqz    a3, 1f
    addi    t3, a4, 1
    slli    t3, t3, 22
    lui     t2, 0x10202
    addi    t2, t2, -0x800
    add     t2, t2, t3              /* those of the next cluster, whose DMA cannot read this L1 */
    lw      a1, TASK_L2_PKT(t0)
1:
    sw      a1, 0(t2)
    sw      a2, 8(t2)
    sw      a5, 16(t2)
    lw      t4, 24(t2)
2:  lw      t5, 32(t2)
    bltu    t5, t4, 2b
    lui     t1, DRIVER
    sw      x0, CMD_WORD0(t1)
    sw      x0, CMD_WORD1(t1)
    sw      a2, CMD_WORD2(t1)
    sw      x0, CMD_WORD3(t1)
    sw      a5, CMD_WORD4(t1)
    li      t4, 2
    sw      t4, CMD_INFO(t1)
    lw      t4, CMD_ISSUE(t1)
    sw      t4, CMD_WAIT(t1)
    ret
    END(public_dma_ph)
