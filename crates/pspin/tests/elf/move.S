/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the packet's first 64 bytes in every possible way, and waits for each: to handler memory by the cluster DMA, to
 * host memory from there and from L1, to the network from L2; then marks them in L1.
 */
#include "place.h"
#define DMA 0x1B204
    HANDLER(move_ph)
    lw      t0, ARGS_TASK(a0)
    lw      a1, TASK_PKT_MEM(t0)
    lw      a2, TASK_HANDLER_MEM(t0)
    lw      a3, TASK_HOST_HIGH(t0)
    lw      a4, TASK_HOST_LOW(t0)
    lw      a5, TASK_L2_PKT(t0)
    lui     t1, DRIVER
    lui     t2, DMA
    li      t3, 64
    /* L1 to handler memory. */
    sw      a1, 0x400(t2)
    sw      a2, 0x408(t2)
    sw      t3, 0x410(t2)
    lw      t4, 0x418(t2)
1:  lw      t5, 0x420(t2)
    bltu    t5, t4, 1b
    /* Handler memory to host, at its start. */
    sw      a3, CMD_WORD1(t1)
    sw      a4, CMD_WORD0(t1)
    sw      a2, CMD_WORD2(t1)
    sw      t3, CMD_WORD3(t1)
    li      t4, 1
    sw      t4, CMD_WORD4(t1)
    sw      x0, CMD_INFO(t1)
    lw      t4, CMD_ISSUE(t1)
    sw      t4, CMD_WAIT(t1)
    /* L1 to host, 4 KiB further. */
    lui     t5, 1
    add     t5, t5, a4
    sw      t5, CMD_WORD0(t1)
    sw      a1, CMD_WORD2(t1)
    lw      t4, CMD_ISSUE(t1)
    sw      t4, CMD_WAIT(t1)
    /* L2 to the network. */
    sw      x0, CMD_WORD0(t1)
    sw      x0, CMD_WORD1(t1)
    sw      a5, CMD_WORD2(t1)
    sw      x0, CMD_WORD3(t1)
    sw      t3, CMD_WORD4(t1)
    li      t4, 2
    sw      t4, CMD_INFO(t1)
    lw      t4, CMD_ISSUE(t1)
    sw      t4, CMD_WAIT(t1)
    /* Host, 8 KiB from its start, back to L1; then that to the network. */
    lui     t5, 2
    add     t5, t5, a4
    sw      t5, CMD_WORD0(t1)
    sw      a3, CMD_WORD1(t1)
    sw      a1, CMD_WORD2(t1)
    sw      t3, CMD_WORD3(t1)
    sw      x0, CMD_WORD4(t1)
    sw      x0, CMD_INFO(t1)
    lw      t4, CMD_ISSUE(t1)
    sw      t4, CMD_WAIT(t1)
    sw      x0, CMD_WORD0(t1)
    sw      x0, CMD_WORD1(t1)
    sw      x0, CMD_WORD3(t1)
    sw      t3, CMD_WORD4(t1)
    li      t4, 2
    sw      t4, CMD_INFO(t1)
    lw      t4, CMD_ISSUE(t1)
    ret
    END(move_ph)
