/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers that were measured on the RTL: the same instructions, at the same place within a fetch line.
 *
 * PsPIN's examples (ping_pong, copy_to_host) and probes of one mechanism each, as gcc 12.2 compiles them.
 */
#include "handlers.h"

/* A header, a payload and a completion handler that only return. The payload handler is next to the completion handler. */
#if ALIGN == 32
#define PAYLOAD 0x60
#define COMPLETION 0x80
#elif ALIGN == 16
#define PAYLOAD 0x50
#define COMPLETION 0x60
#elif ALIGN == 4
#define PAYLOAD 0x44
#define COMPLETION 0x48
#else
#define PAYLOAD 0x40
#define COMPLETION 0x42
#endif
    .balign 256
#ifndef ALIGN
    .skip 14
#elif ALIGN == 32
    .skip 32
#else
    .skip 16
#endif
    .globl chain_hh, chain_ph, chain_th
    .type chain_hh, @function
    .type chain_ph, @function
    .type chain_th, @function
1:
chain_hh:
    ret
    .skip PAYLOAD - 2
chain_ph:
    ret
    .skip COMPLETION - PAYLOAD - 2
chain_th:
    ret
    .size chain_hh, 2
    .size chain_ph, 2
    .size chain_th, 2
    .balign 32
    .skip 32

/* A payload handler that only returns, placed as above: 4 bytes into its line if functions are aligned to 4. */
    .balign 32
#ifndef ALIGN
    .skip 14
#elif ALIGN == 4
    .skip 4
#endif
    .globl empty_ph
    .type empty_ph, @function
empty_ph:
    ret
    .size empty_ph, 2
    .balign 32

/* Swaps IP identities and UDP ports and sends the packet from L1, or from L2. */
    handler ping_pong
    lw      a5, ARGS_TASK(a0)
    li      a3, 0
    lw      a4, TASK_PKT_MEM(a5)
    lbu     a5, 0(a4)               /* version and header length */
    lw      a2, 12(a4)
    lw      a6, 16(a4)
    srli    a5, a5, 4
    slli    a5, a5, 2
    add     a5, a5, a4              /* UDP header */
    lhu     a1, 0(a5)
    lhu     a0, 2(a5)
    sw      a2, 16(a4)
    sw      a6, 12(a4)
    lhu     a2, 2(a4)               /* IP length */
    sh      a1, 2(a5)
    sh      a0, 0(a5)
    li      a1, 2
    lui     a5, DRIVER
    to_network a5, a3, a4, a2, a1, a3
    end ping_pong

    handler ping_pong_l2
    lw      a5, ARGS_TASK(a0)
    li      a3, 0
    lw      a4, TASK_PKT_MEM(a5)
    lw      a2, TASK_L2_PKT(a5)
    lbu     a5, 0(a4)
    lw      a6, 12(a4)
    lw      a7, 16(a4)
    srli    a5, a5, 4
    slli    a5, a5, 2
    add     a5, a5, a4
    lhu     a1, 0(a5)
    lhu     a0, 2(a5)
    sw      a7, 12(a4)
    sw      a6, 16(a4)
    lhu     a4, 2(a4)
    sh      a1, 2(a5)
    sh      a0, 0(a5)
    li      a1, 2
    lui     a5, DRIVER
    to_network a5, a3, a2, a4, a1, a3
    end ping_pong_l2

/* Copies the packet, as long as its IP header says, to the start of the context's host memory; from L1, or from L2. */
    handler copy_to_host
    lw      a4, ARGS_TASK(a0)
    li      a5, 1                   /* towards the host; and an event */
    lw      a3, TASK_PKT_MEM(a4)
    lw      a2, TASK_HOST_HIGH(a4)
    lw      a1, TASK_HOST_LOW(a4)
    lhu     a0, 2(a3)
    lui     a4, DRIVER
    with_host a4, a2, a1, a3, a0, a5, a5, a5
    end copy_to_host

    handler copy_to_host_l2
    lw      a5, ARGS_TASK(a0)
    li      a4, 1
    lw      a0, TASK_PKT_MEM(a5)
    lw      a3, TASK_HOST_HIGH(a5)
    lw      a2, TASK_HOST_LOW(a5)
    lw      a1, TASK_L2_PKT(a5)
    lhu     a0, 2(a0)
    lui     a5, DRIVER
    with_host a5, a3, a2, a1, a0, a4, a4, a4
    end copy_to_host_l2

/* Contention in own L1 and L2: all cores on one word, or each on its own. */
    .macro own_scratchpad
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    own_l1  a5, a4, a4
    li      a5, 1
    .endm

    handler amo_one_word
    own_scratchpad
    .rept 32
    amoadd.w zero, a5, (a4)
    .endr
    end amo_one_word

    handler amo_own_word
    lw      a4, ARGS_CLUSTER(a0)
    lw      a3, ARGS_TASK(a0)
    lw      a5, ARGS_HPU(a0)
    own_l1  a4, a3, a4
    slli    a5, a5, 2
    add     a5, a5, a4
    li      a4, 1
    .rept 32
    amoadd.w zero, a4, (a5)
    .endr
    end amo_own_word

    handler load_one_bank
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    own_l1  a5, a4, a5
    .rept 32
    lw      a4, 0(a5)
    .endr
    end load_one_bank

    handler store_own_word
    lw      a4, ARGS_TASK(a0)
    lw      a5, ARGS_GLOBAL(a0)
    lw      a4, TASK_HANDLER_MEM(a4)
    slli    a5, a5, 2
    add     a5, a5, a4
    li      a4, 1
    .rept 8
    sw      a4, 0(a5)
    .endr
    end store_own_word

