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

/* The rank at a distance from this one. A division would take 35 cycles. */
static uint32_t at_distance(const group_t *group, uint32_t distance)
{
    const uint32_t rank = group->rank + distance;
    return rank < group->size ? rank : rank - group->size;
}

/*
 * Forwards a frame of `bytes` bytes in this cluster's L1 to the next ranks, and writes its data to host memory meanwhile.
 * The first rank, from which the longest path begins, gets it first.
 */
static void pass_on(const handler_args_t *args, const group_t *group, uint8_t *frame, uint32_t bytes)
{
    const group_head_t head = *(const group_head_t *)(frame + FLARE_HEAD_AT);
    const uint32_t size = group->size;
    const uint32_t place = group->rank + (group->rank < head.origin ? size : 0) - head.origin; /* the root has place 0 */
    uint32_t distance = 1;
#ifndef REDUNDANT
    while (distance <= place) {
        distance *= 2;
    }
#endif
    spin_cmd_t sent, stored;
    bool has_sent = false, has_stored = false;
    while (true) {
#ifdef REDUNDANT
        const bool is_rank = distance < size;
#else
        const bool is_rank = place + distance < size;
#endif
        if (is_rank) {
            if (has_sent) {
                spin_cmd_wait(sent); /* the card has read the frame, so its addresses can change */
            }
            flare_address(frame, &group->peer[group->rank], &group->peer[at_distance(group, distance)]);
            spin_send_packet(frame, bytes, &sent);
            has_sent = true;
            distance *= 2;
        }
        if (!has_stored) {
            stored = group_store(args->task, group, head.block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, head.bytes);
            has_stored = true;
        }
        if (!is_rank) {
            break;
        }
    }
    spin_cmd_wait(stored);
    group_count(args, group);
    if (has_sent) {
        spin_cmd_wait(sent);
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
            const group_head_t head = {block, (uint16_t)group->rank, 0, bytes};
            pass_on(args, group, frame, group_headers(group, frame, group->rank, head));
        }
        return;
    }
    const group_head_t *head = group_head(task);
    if (head == NULL || head->block >= group->blocks || head->bytes != group_block_bytes(group, head->block) ||
        head->origin >= group->size || !is_new(task, head->block)) {
        return;
    }
    spin_data_udp(task)->checksum = 0; /* the addresses change; IPv4 allows UDP without a checksum */
    const spin_pkt_t data = spin_data(task);
    pass_on(args, group, frame, (uint32_t)(data.data - frame) + data.size);
}
