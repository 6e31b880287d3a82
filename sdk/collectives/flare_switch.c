/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare's switch for dense blocks (flare.h has the format): combines the packets of all children for a block.
 *
 * Packets of a block may run on any cluster, so partial sums are in L2 handler memory. A handler copies a sum to its
 * own L1 by DMA, 64 bytes a cycle, combines it with its packet there, and writes the new sum back or sends it.
 *
 * -DBUFFERS=1   one buffer for a block, which handlers lock in turn
 * -DBUFFERS=n   handlers take any free one of n buffers, and the last handler combines them
 * -DTREE        children are leaves of a fixed binary tree; the later of two neighbours combines both, so no handler
 *               waits, and the order of operations is fixed: float results are bit-identical from run to run
 *
 * -DTYPE and -DOP are those of spin_reduce.h.
 *
 * Memory: handler memory: the configuration, then for each of `window` blocks 64 bytes and BUFFERS buffers
 * (with -DTREE 2 * (children - 1)). Scratchpad: a copy of the configuration, then a block for each HPU.
 */
#include "flare.h"

#ifndef BUFFERS
#define BUFFERS 1
#endif

#define RECORD_BYTES 64 /* size of a record, in front of its buffers */

typedef struct {
    volatile uint32_t came[FLARE_MAX_CHILDREN / 32]; /* a bit for each child, which changes when its packet comes */
#ifdef TREE
    volatile uint32_t arrived[FLARE_MAX_CHILDREN / 32]; /* a bit for each pair of the tree: one of its nodes has data */
#else
    volatile int32_t children;           /* combined in this block; BUFFERS == 1: twice that, and bit 0 is a lock */
    volatile uint32_t buffers[BUFFERS]; /* bit 0: a lock; bit 1: the buffer holds data */
#endif
} record_t;

_Static_assert(BUFFERS >= 1 && BUFFERS <= 7 && sizeof(record_t) <= RECORD_BYTES, "at most 7 buffers");

/* The record with this number; NULL if the handler memory is too small. */
static record_t *record_of(const task_t *task, const flare_switch_t *tree, uint32_t place)
{
#ifdef TREE
    const uint32_t buffers = 2 * (tree->children - 1);
#else
    const uint32_t buffers = BUFFERS;
#endif
    const uint32_t bytes = RECORD_BYTES + buffers * FLARE_BLOCK_BYTES;
    const uint32_t at = FLARE_CONFIGURATION_BYTES + place * bytes;
    return at + bytes <= task->handler_mem_size ? (record_t *)((uint8_t *)task->handler_mem + at) : NULL;
}

/*
 * False for a repeated packet. `turn` is the number of earlier blocks in the record. Each of them had one packet of each
 * child, so the bits of `came` need no reset between blocks.
 */
static bool is_first(record_t *record, uint32_t turn, uint32_t child)
{
    volatile uint32_t *word = &record->came[child / 32];
    const uint32_t bit = 1u << child % 32;
    return turn % 2 == 0 ? (amo_or(word, bit) & bit) == 0 : (amo_and(word, ~bit) & bit) != 0;
}

static uint8_t *buffer_of(record_t *record, uint32_t i)
{
    return (uint8_t *)record + RECORD_BYTES + i * FLARE_BLOCK_BYTES;
}

/* Copies to or from L2: about 45 cycles for 1 KiB. */
static void copy(void *to, const void *from, uint32_t bytes)
{
    spin_dma_t copied;
    spin_dma((void *)from, to, bytes, 0, 0, &copied);
    spin_dma_wait(copied);
}

/* data = buffer op data, or data op buffer. */
static void combine_with(const handler_args_t *args, uint8_t *data, const uint8_t *buffer, uint32_t bytes, bool data_first)
{
    uint8_t *own = (uint8_t *)args->task->scratchpad[args->cluster_id] + FLARE_CONFIGURATION_BYTES;
    uint8_t *fetched = own + args->hpu_id * FLARE_BLOCK_BYTES;
    copy(fetched, buffer, bytes);
    spin_reduce(TYPE, OP, data, data_first ? data : fetched, data_first ? fetched : data, bytes);
}

/*
 * Each version of combine() combines the data of a child. It returns true if `data` then holds the whole result. No
 * other handler touches the record before the hosts have this result.
 */
#if defined(TREE)
/*
 * The children are level 0 of the tree. Node i of a level combines the nodes 2i and 2i + 1 of the level below. Each
 * node has a buffer, in which its handler stores the data. The handler of the second of two neighbours combines both,
 * the lower node first, and continues on the next level.
 */
static bool combine(const handler_args_t *args, const flare_switch_t *tree, record_t *record, uint8_t *data,
                    uint32_t bytes, uint32_t child)
{
    uint32_t first_pair = 0;
    for (uint32_t n = tree->children, i = child; n > 1; n = (n + 1) / 2, i /= 2) {
        if ((i ^ 1) < n) { /* a last node without a neighbour moves up unchanged */
            const uint32_t pair = first_pair + i / 2, bit = 1u << pair % 32;
            copy(buffer_of(record, 2 * pair + i % 2), data, bytes);
            if ((amo_xor(&record->arrived[pair / 32], bit) & bit) == 0) {
                return false;
            }
            combine_with(args, data, buffer_of(record, 2 * pair + (i + 1) % 2), bytes, i % 2 == 0);
        }
        first_pair += n / 2;
    }
    return true;
}
#elif BUFFERS == 1
static bool combine(const handler_args_t *args, const flare_switch_t *tree, record_t *record, uint8_t *data,
                    uint32_t bytes, uint32_t child)
{
    int32_t before;
    (void)child;
    while ((before = (int32_t)amo_or((volatile uint32_t *)&record->children, 1)) % 2 != 0) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    const uint32_t children = (uint32_t)before / 2 + 1;
    const bool is_last = children == tree->children;
    if (before != 0) {
        combine_with(args, data, buffer_of(record, 0), bytes, false);
    }
    if (!is_last) {
        copy(buffer_of(record, 0), data, bytes);
    }
    amo_store((volatile uint32_t *)&record->children, is_last ? 0 : 2 * children);
    return is_last;
}
#else
static bool combine(const handler_args_t *args, const flare_switch_t *tree, record_t *record, uint8_t *data,
                    uint32_t bytes, uint32_t child)
{
    uint32_t mine = child % BUFFERS, before;
    for (uint32_t tries = 1; (before = amo_or(&record->buffers[mine], 1)) % 2 != 0; tries++) {
        mine = mine + 1 == BUFFERS ? 0 : mine + 1;
        if (tries % BUFFERS == 0) {
            rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
        }
    }
    if (before != 0) {
        combine_with(args, data, buffer_of(record, mine), bytes, false);
    }
    copy(buffer_of(record, mine), data, bytes);
    amo_store(&record->buffers[mine], 2);
    if ((uint32_t)amo_add(&record->children, 1) + 1 != tree->children) {
        return false;
    }
    /*
     * All other handlers are done with this block. Another one may have added its child to `mine` since the copy above,
     * so the result comes from the buffers alone.
     */
    bool has_data = false;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        if (record->buffers[i] != 0) {
            if (has_data) {
                combine_with(args, data, buffer_of(record, i), bytes, true);
            } else {
                copy(data, buffer_of(record, i), bytes);
                has_data = true;
            }
            amo_store(&record->buffers[i], 0);
        }
    }
    amo_store((volatile uint32_t *)&record->children, 0);
    return true;
}
#endif

/* Sends the frame to all children; each block begins with another child. */
static void send_down(const flare_switch_t *tree, uint8_t *frame, uint32_t size, uint32_t block)
{
    ((spin_udp_t *)(frame + 34))->dst_port = spin_htons(FLARE_DOWN);
    uint32_t child = block % tree->children;
    for (uint32_t i = 0; i < tree->children; i++) {
        flare_address(frame, &tree->self, &tree->child[child]);
        flare_send(frame, size);
        child = child + 1 == tree->children ? 0 : child + 1;
    }
}

__handler__ void flare_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    const uint32_t port = flare_port(task), bytes = flare_data_bytes(task);
    const flare_switch_t *tree = (const flare_switch_t *)flare_configuration(args, sizeof(flare_switch_t));
    flare_head_t *head = flare_head(task);
    if (bytes == 0 || bytes > FLARE_BLOCK_BYTES || bytes != head->elements * spin_type_bytes(TYPE)) {
        return;
    }
    if (port == FLARE_DOWN) {
        send_down(tree, frame, task->pkt_mem_size, head->block);
        return;
    }
    const uint32_t turn = head->block / tree->window;
    record_t *record = record_of(task, tree, head->block - turn * tree->window);
    if (port != FLARE_UP || !flare_is_from_child(task, tree) || record == NULL || !is_first(record, turn, head->port) ||
        !combine(args, tree, record, frame + FLARE_DATA_AT, bytes, head->port)) {
        return;
    }
    if (tree->is_root) {
        send_down(tree, frame, task->pkt_mem_size, head->block);
        return;
    }
    head->port = (uint8_t)tree->port;
    flare_address(frame, &tree->self, &tree->parent);
    spin_cmd_t sent;
    spin_send_packet(frame, task->pkt_mem_size, &sent);
}
