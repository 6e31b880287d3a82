/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of host memory. */
#include "handlers.h"

/* A read from the host, waited for: onto the packet, or into the scratchpad; then sent on. */
    .macro host_read size
    handler host_read_\size
    lw      a4, ARGS_TASK(a0)
    lui     a3, DRIVER
    li      a1, \size
    lw      a5, TASK_HOST_HIGH(a4)
    lw      a2, TASK_HOST_LOW(a4)
    li      a6, 1
    lw      a4, TASK_PKT_MEM(a4)
    li      a0, 0
    with_host a3, a5, a2, a4, a1, a0, a6, a5
    wait    a3, a5
    end host_read_\size

    handler host_read_send_\size
    lw      a2, ARGS_TASK(a0)
    li      a5, 0
    lui     a4, DRIVER
    lw      a3, TASK_HOST_HIGH(a2)
    lw      a0, TASK_HOST_LOW(a2)
    li      a1, \size
    lw      a2, TASK_PKT_MEM(a2)
    li      a6, 1
    with_host a4, a3, a0, a2, a1, a5, a6, a3
    wait    a4, a3
    li      a3, 2
    to_network a4, a5, a2, a1, a3, a5
    end host_read_send_\size
    .endm
    host_read 64
    host_read 256
    host_read 1024

    handler host_read_scratch
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    own_l1  a5, a2, a3
    slli    a5, a4, 11
    lui     a4, 1
    add     a5, a5, a4
    lw      a1, TASK_HOST_LOW(a2)
    lw      a4, TASK_HOST_HIGH(a2)
    add     a5, a5, a3
    lui     a2, DRIVER
    li      a3, 1024
    li      a6, 1
    li      a0, 0
    with_host a2, a4, a1, a5, a3, a0, a6, a5
    wait    a2, a5
    end host_read_scratch

    handler host_read_scratch_send
    lw      a5, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    own_l1  a5, a1, a3
    slli    a4, a4, 11
    lui     a5, 1
    add     a4, a4, a5
    lw      a2, TASK_HOST_HIGH(a1)
    lw      a0, TASK_HOST_LOW(a1)
    add     a4, a4, a3
    li      a5, 0
    lui     a3, DRIVER
    li      a1, 1024
    li      a6, 1
    with_host a3, a2, a0, a4, a1, a5, a6, a2
    wait    a3, a2
    li      a2, 2
    to_network a3, a5, a4, a1, a2, a5
    end host_read_scratch_send
