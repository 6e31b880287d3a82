/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch's card for broadcasts and barriers (group.h has the format): when `expected` of its children have sent a packet,
 * it sends the last one to all children but the one with the number `rank`. Children are the cards of ranks.
 *
 * Broadcast: expected = 1, and `rank` is the root. Barrier: expected = size = rank, so all ranks get the packet. A rank
 * enters the next barrier after it has left the last one, so one counter is enough.
 *
 * -DLEAF   the switch is below another one, whose card runs this program without LEAF and has the cards of the leaf switches as
 *          children. A complete set of packets goes to the card above. A packet from there goes to all children but `rank`. In a
 *          broadcast, the leaf with the root sends the packet to its other children, too, and the card above leaves it out.
 *
 * The cards of the hosts run broadcast.c and barrier.c. Each host takes the switch for the only other rank. The address
 * of the switch's card is behind those of the children, and with LEAF that of the card above is next.
 *
 * Memory: the packet in L1; a barrier also has one atomic on L2 for each packet of a child.
 */
#include "group.h"

/* True for the packet that completes a set of `expected` packets. */
static bool is_last(const handler_args_t *args, const group_t *group)
{
    if (group->expected == 1) {
        return true;
    }
    volatile int32_t *arrived = group_counters(args);
    if ((uint32_t)amo_add(arrived, 1) + 1 < group->expected) {
        return false;
    }
    amo_store((volatile uint32_t *)arrived, 0); /* no rank sends again before it gets the packet below */
    return true;
}

/* True for a packet of the card above. */
static bool is_from_above(const task_t *task, const group_t *group)
{
#ifdef LEAF
    return ((const spin_ipv4_t *)((const uint8_t *)task->pkt_mem + 14))->src == group->peer[group->size + 1].ip;
#else
    (void)task;
    (void)group;
    return false;
#endif
}

__handler__ void group_switch_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    const group_head_t *head = group_head(task);
    if (head == NULL || head->bytes > group->bytes) {
        return;
    }
    const bool comes_down = is_from_above(task, group);
    if (!comes_down && !is_last(args, group)) {
        return;
    }
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    const spin_pkt_t data = spin_data(task);
    const uint32_t bytes = (uint32_t)(data.data - frame) + data.size, size = group->size;
    spin_data_udp(task)->checksum = 0; /* the addresses change; IPv4 allows UDP without a checksum */
#ifdef LEAF
    if (!comes_down) {
        flare_address(frame, &group->peer[size], &group->peer[size + 1]);
        flare_send(frame, bytes);
        if (group->rank == size) {
            return; /* a barrier: its ranks wait for the card above */
        }
    }
#endif
    uint32_t to = head->block % size; /* each block begins with another rank */
    for (uint32_t i = 0; i < size; i++) {
        if (to != group->rank) {
            flare_address(frame, &group->peer[size], &group->peer[to]);
            flare_send(frame, bytes);
        }
        to = to + 1 == size ? 0 : to + 1;
    }
}
