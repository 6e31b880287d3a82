/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a packet from L1 to the start of the context's host memory. The IP header gives its length. */
#include "place.h"
    HANDLER(copy_to_host_ph)
    lw      a4, ARGS_TASK(a0)
    li      a5, 1                   /* towards the host; and an event */
    lw      a3, TASK_PKT_MEM(a4)
    lw      a1, TASK_HOST_HIGH(a4)
    lw      a2, TASK_HOST_LOW(a4)
    lhu     a0, 2(a3)
    lui     a4, DRIVER
    sw      a1, CMD_WORD1(a4)
    sw      a2, CMD_WORD0(a4)
    sw      a3, CMD_WORD2(a4)
    sw      a0, CMD_WORD3(a4)
    sw      a5, CMD_WORD4(a4)
    sw      a5, CMD_INFO(a4)
    lw      a5, CMD_ISSUE(a4)
    ret
    END(copy_to_host_ph)
