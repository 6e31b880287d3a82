/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allreduce on a ring (group.h has the format): the vector has a part for each rank, and a packet for each block of a
 * part travels round the ring twice. In the first round, each card adds its own block, which it fetches from host
 * memory; in the second round, each card stores the result. The packet carries the sums, so cards keep no state, and
 * the order of operations is fixed.
 *
 * Each start packet begins a block of the rank's part, up to `window` blocks. A result that returns to its first rank
 * begins another block. Each rank sends and receives 2 (n - 1) / n of the vector.
 *
 * -DTYPE and -DOP are those of spin_reduce.h. Memory: scratchpad: the configuration and a frame for each HPU. Host
 * memory: one DMA read or write for each packet.
 */
#include "group.h"

/* First block of a rank's part. If the division has a remainder, the first ranks have one block more. */
static uint32_t first_block(const group_t *group, uint32_t rank)
{
    const uint32_t each = group->blocks / group->size, more = group->blocks % group->size;
    return rank * each + MIN(rank, more);
}

static void begin(const handler_args_t *args, const group_t *group, uint32_t k)
{
    const uint32_t block = first_block(group, group->rank) + k;
    if (block >= first_block(group, group->rank + 1)) {
        return;
    }
    const uint32_t bytes = group_block_bytes(group, block);
    uint8_t *frame = group_frame(args);
    group_fetch(args->task, block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
    group_send(group, frame, (group->rank + 1) % group->size, (group_head_t){block, (uint16_t)group->rank, 1, bytes});
}

__handler__ void ring_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    if (flare_port(task) == GROUP_GO) {
        begin(args, group, group_next(args));
        return;
    }
    const group_head_t *head = group_head(task);
    const uint32_t last_step = 2 * group->size - 2;
    if (head == NULL || head->block >= group->blocks || head->bytes != group_block_bytes(group, head->block) ||
        head->step == 0 || head->step > last_step) {
        return;
    }
    uint8_t *frame = (uint8_t *)task->pkt_mem, *data = frame + FLARE_DATA_AT;
    group_head_t next = *head;
    next.step++;
    if (head->step < group->size) { /* the first round */
        uint8_t *own = group_frame(args);
        group_fetch(task, head->block * GROUP_BLOCK_BYTES, own, next.bytes);
        spin_reduce(TYPE, OP, data, data, own, next.bytes);
    }
    const bool has_result = next.step >= group->size;
    if (next.step <= last_step) {
        group_send(group, frame, (group->rank + 1) % group->size, next);
    }
    if (has_result) {
        group_deliver(args, group, next.block * GROUP_BLOCK_BYTES, data, next.bytes);
    }
    if (next.step == group->size + 1 && next.origin == group->rank) { /* back at its first rank */
        begin(args, group, group_next(args));
    }
}
