/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of many cores outside their own L1. */
#include "handlers.h"

/* Eight accesses to the next cluster's L1: all cores on one word. */
    .macro next_scratchpad
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    addi    a5, a5, 1
    andi    a5, a5, 3
    .endm

    handler load_remote
    next_scratchpad
    own_l1  a5, a4, a5
    .rept 8
    lw      a4, 0(a5)
    .endr
    end load_remote

    handler store_remote
    next_scratchpad
    own_l1  a5, a4, a4
    li      a5, 1
    .rept 8
    sw      a5, 0(a4)
    .endr
    end store_remote

    handler amo_remote
    next_scratchpad
    own_l1  a5, a4, a4
    li      a5, 1
    .rept 8
    amoadd.w zero, a5, (a4)
    .endr
    end amo_remote

/* The same, each core on its own word. */
    .macro next_scratchpad_own
    lw      a5, ARGS_CLUSTER(a0)
    lw      a3, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    addi    a5, a5, 1
    andi    a5, a5, 3
    own_l1  a5, a3, a3
    slli    a5, a4, 2
    .endm

    handler load_remote_own
    next_scratchpad_own
    add     a5, a5, a3
    .rept 8
    lw      a4, 0(a5)
    .endr
    end load_remote_own

    handler store_remote_own
    next_scratchpad_own
    li      a4, 1
    add     a5, a5, a3
    .rept 8
    sw      a4, 0(a5)
    .endr
    end store_remote_own

    handler amo_remote_own
    next_scratchpad_own
    li      a4, 1
    add     a5, a5, a3
    .rept 8
    amoadd.w zero, a4, (a5)
    .endr
    end amo_remote_own

/* Eight accesses to one word of L2. */
    .macro load_l2 name, where
    handler \name
    lw      a5, ARGS_TASK(a0)
    lw      a5, \where(a5)
    .rept 8
    lw      a4, 0(a5)
    .endr
    end \name
    .endm
    load_l2 load_packet, TASK_L2_PKT
    load_l2 load_handler_memory, TASK_HANDLER_MEM

    .macro store_l2 name, where
    handler \name
    lw      a5, ARGS_TASK(a0)
    lw      a4, \where(a5)
    li      a5, 1
    .rept 8
    sw      a5, 0(a4)
    .endr
    end \name
    .endm
    store_l2 store_packet, TASK_L2_PKT
    store_l2 store_handler_memory, TASK_HANDLER_MEM

    handler amo_handler_memory
    lw      a5, ARGS_TASK(a0)
    lw      a4, TASK_HANDLER_MEM(a5)
    li      a5, 1
    .rept 8
    amoadd.w zero, a5, (a4)
    .endr
    end amo_handler_memory
