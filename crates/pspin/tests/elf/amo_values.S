/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMOs add 2 to a word that holds 5, in the own L1, in the next cluster's L1 and in L2 handler memory. Then the handler
 * writes four words to host memory: the value that each AMO returned, and the sum of the new values of the three words.
 */
#include "place.h"
    HANDLER(amo_values_ph)
    lw      t0, ARGS_TASK(a0)
    lw      a5, ARGS_CLUSTER(a0)
    addi    a6, a5, 1
    andi    a6, a6, 3
    slli    a5, a5, 2
    slli    a6, a6, 2
    add     a5, a5, t0
    add     a6, a6, t0
    lw      a1, TASK_SCRATCHPADS(a5)
    lw      a2, TASK_SCRATCHPADS(a6)
    lw      a3, TASK_HANDLER_MEM(t0)
    lw      a4, TASK_HOST_HIGH(t0)
    lw      a5, TASK_HOST_LOW(t0)
    li      t1, 5
    sw      t1, 0(a1)
    sw      t1, 0(a2)
    sw      t1, 0(a3)
    li      t1, 2
    amoadd.w t2, t1, (a1)
    amoadd.w t3, t1, (a2)
    amoadd.w t4, t1, (a3)
    lw      t5, 0(a1)
    lw      t6, 0(a2)
    add     t5, t5, t6
    lw      t6, 0(a3)
    add     t5, t5, t6
    lui     t1, DRIVER
    sw      a5, CMD_WORD0(t1)
    sw      a4, CMD_WORD1(t1)
    li      t6, 16 << 1 | 1
    sw      t6, CMD_WORD2(t1)
    sw      t2, CMD_WORD3(t1)
    sw      t3, CMD_WORD4(t1)
    sw      t4, CMD_WORD4 + 4(t1)
    sw      t5, CMD_WORD4 + 8(t1)
    li      t6, 4
    sw      t6, CMD_INFO(t1)
    lw      t6, CMD_ISSUE(t1)
    sw      t6, CMD_WAIT(t1)
    ret
    END(amo_values_ph)
