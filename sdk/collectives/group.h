/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective operations on NICs: wire format and configuration of a group of up to 64 ranks, or more with
 * -DGROUP_MAX_SIZE.
 *
 * A frame is Ethernet, IPv4, UDP, two unused bytes, then
 *
 *     byte 44  block, u32     number of the block
 *     byte 48  origin, u16    rank at which the operation began, or sender
 *     byte 50  step, u16      hop, round, or place in the operation
 *     byte 52  bytes, u32     number of bytes of data
 *     byte 56  the data
 *
 * Numbers are little-endian. Networks must not lose or repeat frames, except for broadcasts with -DREDUNDANT. Packets
 * to port GROUP_GO start an operation: each of them starts one block.
 */
#ifndef GROUP_H
#define GROUP_H

#include "flare.h"

#define GROUP_DATA 9410 /* UDP port of the operation's packets */
#define GROUP_GO 9411

#ifndef GROUP_MAX_SIZE
#define GROUP_MAX_SIZE 64 /* ranks that the configuration has room for */
#endif
#define GROUP_PEER_BYTES 12
#ifndef GROUP_BLOCK_BYTES
#define GROUP_BLOCK_BYTES 1024 /* bytes of a block; the last one may have less */
#endif
#define GROUP_COUNTERS 4
#define GROUP_FIXED_BYTES 256
#define GROUP_CONFIGURATION_BYTES (GROUP_FIXED_BYTES + GROUP_PEER_BYTES * GROUP_MAX_SIZE)
#define GROUP_HEADERS_BYTES 64                                      /* room for all headers */
#define GROUP_FRAME_BYTES (GROUP_HEADERS_BYTES + GROUP_BLOCK_BYTES) /* in whole lines of 64 bytes */

typedef struct {
    uint32_t block;
    uint16_t origin, step;
    uint32_t bytes;
} group_head_t;

/* Configuration at the start of the handler memory, with counters. */
typedef struct {
    uint32_t rank, size;
    uint32_t bytes;  /* size of the vector, at the start of host memory; all-to-all: size of the part for one rank */
    uint32_t blocks; /* in the vector, or the part */
    uint32_t window; /* blocks that each rank begins with */
    uint32_t result; /* offset of the result in host memory; the 8 bytes behind its `result_bytes` become 1 at the end */
    uint32_t result_bytes;
    uint32_t expected;                         /* number of blocks until the end */
    volatile int32_t counters[GROUP_COUNTERS]; /* blocks started, blocks finished, two for the operation */
    flare_peer_t peer[GROUP_MAX_SIZE];
} group_t;

_Static_assert(sizeof(group_t) <= GROUP_CONFIGURATION_BYTES - 16, "the configuration has room for all peers");
_Static_assert(sizeof(flare_peer_t) == GROUP_PEER_BYTES, "as in the Python side");
_Static_assert(FLARE_DATA_AT <= GROUP_HEADERS_BYTES && GROUP_BLOCK_BYTES % 64 == 0, "a frame holds a block");

static inline const group_t *group_of(const handler_args_t *args)
{
    return (const group_t *)flare_configuration(args, sizeof(group_t));
}

static inline volatile int32_t *group_counters(const handler_args_t *args)
{
    return ((group_t *)args->task->handler_mem)->counters;
}

/* This core's own frame in L1. */
static inline uint8_t *group_frame(const handler_args_t *args)
{
    uint8_t *own = (uint8_t *)args->task->scratchpad[args->cluster_id] + GROUP_CONFIGURATION_BYTES;
    return own + args->hpu_id * GROUP_FRAME_BYTES;
}

static inline uint32_t group_block_bytes(const group_t *group, uint32_t block)
{
    return MIN(group->bytes - block * GROUP_BLOCK_BYTES, GROUP_BLOCK_BYTES);
}

/* The header of an operation's packet; NULL for other packets, and for packets with missing data. */
static inline group_head_t *group_head(const task_t *task)
{
    group_head_t *head = (group_head_t *)((uint8_t *)task->pkt_mem + FLARE_HEAD_AT);
    const bool is_whole = flare_port(task) == GROUP_DATA && flare_data_bytes(task) >= head->bytes;
    return is_whole && head->bytes <= GROUP_BLOCK_BYTES ? head : NULL;
}

/* Reads from host memory and waits. */
static inline void group_fetch(const task_t *task, uint32_t at, void *to, uint32_t bytes)
{
    spin_cmd_t fetched;
    spin_dma_from_host(spin_host_address(task, at), (uintptr_t)to, bytes, false, &fetched);
    spin_cmd_wait(fetched);
}

/* Writes all headers of a frame whose data are in place; returns its length. */
static inline uint32_t group_headers(const group_t *group, uint8_t *frame, uint32_t to, group_head_t head)
{
    *(group_head_t *)(frame + FLARE_HEAD_AT) = head;
    return flare_headers(frame, &group->peer[group->rank], &group->peer[to], GROUP_DATA, head.bytes);
}

/* Writes the headers of a frame whose data are in place, and sends it. */
static inline void group_send(const group_t *group, uint8_t *frame, uint32_t to, group_head_t head)
{
    flare_send(frame, group_headers(group, frame, to, head));
}

/* Begins to write a block to host memory. */
static inline spin_cmd_t group_store(const task_t *task, const group_t *group, uint32_t at, const void *data,
                                     uint32_t bytes)
{
    spin_cmd_t stored;
    spin_dma_to_host(spin_host_address(task, group->result + at), (uintptr_t)data, bytes, false, &stored);
    return stored;
}

/* Counts a block that is in host memory; the last block sets the flag behind the result. */
static inline void group_count(const handler_args_t *args, const group_t *group)
{
    if ((uint32_t)amo_add(&group_counters(args)[1], 1) + 1 == group->expected) {
        spin_cmd_t written;
        spin_write_to_host(spin_host_address(args->task, group->result + group->result_bytes), 1, &written);
    }
}

/* Writes data to host memory, waits, and counts the block. */
static inline void group_deliver(const handler_args_t *args, const group_t *group, uint32_t at, const void *data,
                                 uint32_t bytes)
{
    if (bytes != 0) {
        spin_cmd_wait(group_store(args->task, group, at, data, bytes));
    }
    group_count(args, group);
}

/* Number of the next block to begin. */
static inline uint32_t group_next(const handler_args_t *args) { return (uint32_t)amo_add(&group_counters(args)[0], 1); }

#endif
