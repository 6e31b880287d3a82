/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-to-all (group.h has the format): every rank has a part for every other one, in the order of ranks. A packet goes to its place
 * in the receiver's host memory, in the order of senders. Each start packet and each arrival sends the next block, first to the
 * rank behind this one, then to the next but one, so that ranks do not send to one receiver at once. The processor copies the
 * part for its own rank.
 *
 * Memory: scratchpad of a frame for each HPU; for each packet a DMA from the host and one to it.
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
    const group_head_t *head = group_head(task);
    if (head != NULL) {
        if (head->block >= group->blocks || head->origin >= group->size ||
            head->bytes != group_block_bytes(group, head->block)) {
            return;
        }
        group_deliver(args, group, head->origin * group->bytes + head->block * GROUP_BLOCK_BYTES,
                      (uint8_t *)task->pkt_mem + FLARE_DATA_AT, head->bytes);
    }
    send_next(args, group);
}
