/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the number of its cluster plus 1 to a register of the own timer, reads the same register
 * of cluster 0 by its absolute address, and writes the word to host memory, at the word of its cluster.
 */
#include "place.h"
#define OWN_TIMER 0x1B200
#define TIMER_OF_CLUSTER_0 0x10200
#define COMPARE 0x410
    HANDLER(peripherals_ph)
    lw      t0, ARGS_TASK(a0)
    lw      a5, ARGS_CLUSTER(a0)
    lui     a1, OWN_TIMER
    lui     a2, TIMER_OF_CLUSTER_0
    addi    a3, a5, 1
    sw      a3, COMPARE(a1)
    lw      a4, COMPARE(a2)
    lw      a1, TASK_HOST_HIGH(t0)
    lw      a2, TASK_HOST_LOW(t0)
    slli    a5, a5, 2
    add     a2, a2, a5
    lui     t1, DRIVER
    sw      a2, CMD_WORD0(t1)
    sw      a1, CMD_WORD1(t1)
    li      t6, 4 << 1 | 1
    sw      t6, CMD_WORD2(t1)
    sw      a4, CMD_WORD3(t1)
    li      t6, 4
    sw      t6, CMD_INFO(t1)
    lw      t6, CMD_ISSUE(t1)
    sw      t6, CMD_WAIT(t1)
    ret
    END(peripherals_ph)
