/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch's card for broadcasts and barriers (group.h has the format): when `expected` ranks have sent a packet, it
 * sends the last one to all ranks but the one with the number `rank`.
 *
 * Broadcast: expected = 1, and `rank` is the root. Barrier: expected = size = rank, so all ranks get the packet. A rank
 * enters the next barrier after it has left the last one, so one counter is enough.
 *
 * The cards of the hosts run broadcast.c and barrier.c. Each host takes the switch for the only other rank. The address
 * of the switch's card is behind those of the ranks.
 *
 * Memory: the packet in L1; a barrier also has one atomic on L2 for each packet.
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

__handler__ void group_switch_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    const group_head_t *head = group_head(task);
    if (head == NULL || head->bytes > group->bytes || !is_last(args, group)) {
        return;
    }
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    const spin_pkt_t data = spin_data(task);
    const uint32_t bytes = (uint32_t)(data.data - frame) + data.size, size = group->size;
    spin_data_udp(task)->checksum = 0; /* it covers the addresses; IPv4 allows UDP without one */
    uint32_t to = head->block % size; /* each block begins with another rank */
    for (uint32_t i = 0; i < size; i++) {
        if (to != group->rank) {
            flare_address(frame, &group->peer[size], &group->peer[to]);
            flare_send(frame, bytes);
        }
        to = to + 1 == size ? 0 : to + 1;
    }
}
