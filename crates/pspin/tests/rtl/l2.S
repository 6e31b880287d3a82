/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to the packet in L2, while other packets arrive. */
#include "handlers.h"

/* `count` loads, `apart` bytes from each other. Stores and commands follow below. */
    .macro loads name, where, count, apart
    handler \name
    lw      a5, ARGS_TASK(a0)
    lw      a5, \where(a5)
    .set at, 0
    .rept \count
    lw      a4, at(a5)
    .set at, at + \apart
    .endr
    end \name
    .endm
    loads l2_load4, TASK_L2_PKT, 4, 4
    loads l2_load16, TASK_L2_PKT, 16, 4
    loads l2_load4_apart, TASK_L2_PKT, 4, 64
    loads l2_load8_apart, TASK_L2_PKT, 8, 64
    loads l2_load4_handler_memory, TASK_HANDLER_MEM, 4, 4

    handler l2_store4
    lw      a5, ARGS_TASK(a0)
    lw      a4, TASK_L2_PKT(a5)
    li      a5, 0
    sw      a5, 0(a4)
    sw      a5, 4(a4)
    sw      a5, 8(a4)
    sw      a5, 12(a4)
    end l2_store4

    .macro l2_commands size
    handler l2_send_\size
    lw      a4, ARGS_TASK(a0)
    li      a5, 0
    li      a2, \size
    lw      a3, TASK_L2_PKT(a4)
    li      a1, 2
    lui     a4, DRIVER
    to_network a4, a5, a3, a2, a1, a5
    end l2_send_\size

    handler l2_to_host_\size
    lw      a5, ARGS_TASK(a0)
    li      a1, \size
    li      a0, 1
    lw      a4, TASK_HOST_HIGH(a5)
    lw      a3, TASK_HOST_LOW(a5)
    lw      a2, TASK_L2_PKT(a5)
    li      a6, 0
    lui     a5, DRIVER
    with_host a5, a4, a3, a2, a1, a0, a6, a5
    end l2_to_host_\size

    handler l2_store_to_host_\size
    lw      a5, ARGS_TASK(a0)
    li      a3, 1
    li      a0, \size
    lw      a4, TASK_L2_PKT(a5)
    lw      a2, TASK_HOST_HIGH(a5)
    lw      a1, TASK_HOST_LOW(a5)
    li      a6, 0
    sw      a3, 0(a4)
    lui     a5, DRIVER
    with_host a5, a2, a1, a4, a0, a3, a6, a5
    end l2_store_to_host_\size
    .endm
    l2_commands 512
    l2_commands 1024
