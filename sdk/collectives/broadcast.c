/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broadcast: each card forwards a packet when it arrives, and writes it to host memory (group.h has the format).
 *
 * The ranks form a binomial tree. Its root is the rank that gets the start packets. A card forwards each packet at once
 * and waits for no other packet of the message. With -DREDUNDANT, each rank forwards the first copy of a packet to the
 * ranks at the distances 1, 2, 4, ... and drops later copies. With n such distances, all living ranks get all packets
 * if fewer than n ranks are dead, or if fewer than n frames are lost for each rank.
 *
 * Memory: the packet in L1; one DMA write for each packet. With -DREDUNDANT, handler memory behind the configuration
 * has a bit for each block.
 */
#include "group.h"

/* Forwards a frame in this cluster's L1 to the next ranks. */
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
    if (flare_port(task) == GROUP_GO) { /* this rank is the root; a start packet may be too small for a block */
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
