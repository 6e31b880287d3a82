/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of handlers and their initial state; see runtime.S. */

/*
 * Each handler is like a separate program: it begins at the same offset in its fetch line as the only handler of a
 * measured program, and no other code is in its lines or in the next line. Unaligned, that is the last halfword of a
 * line.
 */
    .macro handler name, offset=0
    .balign 32
#ifdef ALIGN
    .skip 32
#else
    .skip 32 + 14 + \offset
#endif
    .globl \name\()_ph
    .type \name\()_ph, @function
\name\()_ph:
    .endm

    .macro end name
    ret
    .size \name\()_ph, . - \name\()_ph
    .balign 16
    .skip 16
    .endm

/* handler_args_t and task_t. Source: PsPIN RTL a49fec8, sw/runtime/include/handler.h. */
#define ARGS_TASK 0
#define ARGS_GLOBAL 4
#define ARGS_CLUSTER 8
#define ARGS_HPU 12
#define TASK_HANDLER_MEM 0
#define TASK_PKT_MEM 8
#define TASK_SCRATCHPADS 16
#define TASK_HOST_HIGH 48
#define TASK_HOST_LOW 52
#define TASK_L2_PKT 60

/* The HPU driver's command registers and the DMA's. Source: same repository, hwsched.h and pulp_cluster_frontend. */
#define DRIVER 0x1B205
#define DMA 0x1B204

/* A packet to the network, and a transfer to or from the host. `low` holds 0 for the network; `info` names the unit. */
    .macro to_network driver, zero, source, size, info, handle
    sw      \zero, 0x90(\driver)
    sw      \zero, 0x94(\driver)
    sw      \source, 0x98(\driver)
    sw      \zero, 0x9C(\driver)
    sw      \size, 0xA0(\driver)
    sw      \info, 0x8C(\driver)
    lw      \handle, 0x80(\driver)
    .endm

    .macro with_host driver, high, low, nic, size, direction, info, handle
    sw      \high, 0x94(\driver)
    sw      \low, 0x90(\driver)
    sw      \nic, 0x98(\driver)
    sw      \size, 0x9C(\driver)
    sw      \direction, 0xA0(\driver)
    sw      \info, 0x8C(\driver)
    lw      \handle, 0x80(\driver)
    .endm

    .macro wait driver, handle
    sw      \handle, 0x84(\driver)
    .endm

/* Puts the address of the scratchpad of `cluster` into `to`. All four instructions compress with registers a0 to a5. */
    .macro own_l1 cluster, task, to
    addi    \cluster, \cluster, TASK_SCRATCHPADS / 4
    slli    \cluster, \cluster, 2
    add     \cluster, \cluster, \task
    lw      \to, 0(\cluster)
    .endm

    .section .text.handlers, "ax"
