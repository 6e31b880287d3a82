/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-to-all (group.h has the format): the vector of a rank has a part for each rank, in the order of ranks. The
 * receiver stores the parts in host memory in the order of senders. Each start packet and each arrival makes a rank
 * send one more block: the first block to the next rank, the second block to the rank after it, and so on. So the ranks
 * send to different receivers at the same time. The processor copies the part for its own rank.
 *
 * Memory: scratchpad: the configuration and a frame for each HPU. Host memory: a DMA read and a DMA write for each
 * packet.
 */
#include "group.h"

static void send_next(const handler_args_t *args, const group_t *group)
{
    const uint32_t k = group_next(args);
    if (k >= (group->size - 1) * group->blocks) {
        return;
    }
    /* One block to each rank in turn. */
    const uint32_t to = (group->rank + 1 + k % (group->size - 1)) % group->size, block = k / (group->size - 1);
    const uint32_t bytes = group_block_bytes(group, block);
    uint8_t *frame = group_frame(args);
    group_fetch(args->task, to * group->bytes + block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
    group_send(group, frame, to, (group_head_t){block, (uint16_t)group->rank, 0, bytes});
}

__handler__ void alltoall_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    if (flare_port(task) == GROUP_GO) {
        send_next(args, group);
        return;
    }
    const group_head_t *head = group_head(task);
    if (head == NULL || head->block >= group->blocks || head->origin >= group->size || head->origin == group->rank ||
        head->bytes != group_block_bytes(group, head->block)) {
        return;
    }
    const uint32_t at = head->origin * group->bytes + head->block * GROUP_BLOCK_BYTES;
    const spin_cmd_t stored = group_store(task, group, at, (uint8_t *)task->pkt_mem + FLARE_DATA_AT, head->bytes);
    send_next(args, group); /* meanwhile */
    spin_cmd_wait(stored);
    group_count(args, group);
}
