/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broadcast: each card passes a packet on when it arrives, and puts it into host memory (group.h has the format).
 *
 * The ranks are a binomial tree around the root, which is the rank that start packets come to. Packets stream: a card waits
 * for no other packet of the message. With -DREDUNDANT, each rank passes the first copy of a packet on to the ranks 1, 2, 4,
 * ... behind it, and drops later copies: with n such distances, all living ranks get all packets if fewer than n ranks
 * are dead, or the lost frames are as few for each rank.
 *
 * Memory: the packet in L1; one DMA write a packet. With -DREDUNDANT, a bit a block in handler memory behind the configuration.
 */
#include "group.h"

/* Passes a frame in this cluster's L1 on to the ranks behind this one. */
static void pass_on(const group_t *group, uint8_t *frame, group_head_t head)
{
    const uint32_t size = group->size, place = (group->rank + size - head.origin) % size; /* the root has place 0 */
    for (uint32_t distance = 1; distance < size; distance *= 2) {
#ifdef REDUNDANT
        group_send(group, frame, (group->rank + distance) % size, head);
#else
        if (distance > place && place + distance < size) {
            group_send(group, frame, (group->rank + distance) % size, head);
        }
#endif
    }
}

/* True for the first copy of a block. */
static bool is_new(const task_t *task, uint32_t block)
{
#ifdef REDUNDANT
    volatile uint32_t *seen = (volatile uint32_t *)((uint8_t *)task->handler_mem + GROUP_CONFIGURATION_BYTES);
    return (amo_or(&seen[block / 32], 1u << block % 32) >> block % 32 & 1) == 0;
#else
    (void)task, (void)block;
    return true;
#endif
}

__handler__ void broadcast_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    if (flare_port(task) == GROUP_GO) { /* this rank is the root: the packet's own memory may be too small for a block */
        const uint32_t block = group_next(args);
        if (block < group->blocks && is_new(task, block)) {
            const uint32_t bytes = group_block_bytes(group, block);
            frame = group_frame(args);
            group_fetch(task, block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
            pass_on(group, frame, (group_head_t){block, (uint16_t)group->rank, 0, bytes});
            group_deliver(args, group, block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
        }
        return;
    }
    const group_head_t *head = group_head(task);
    if (head == NULL || head->block >= group->blocks || head->bytes != group_block_bytes(group, head->block) ||
        head->origin >= group->size || !is_new(task, head->block)) {
        return;
    }
    const group_head_t kept = *head;
    pass_on(group, frame, kept);
    group_deliver(args, group, kept.block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, kept.bytes);
}
