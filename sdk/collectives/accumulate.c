/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulate: a packet carries operands for a block of an array in the target's host memory (group.h has the format).
 * The handler fetches the block, combines it with the operands, and writes it back. It locks the block meanwhile, so
 * packets of several origins may address the same block.
 *
 * -DTYPE and -DOP are those of spin_reduce.h. For the product of complex numbers, as in the SC'17 paper:
 * -DTYPE=SPIN_CUSTOM -DOP=0 -DSPIN_CUSTOM_OPERATOR='"operators/complex.h"'.
 *
 * Memory: scratchpad: the configuration and a frame for each HPU. Handler memory: the configuration, then 256 locks; a
 * block uses the lock of its number modulo 256. Host memory: a DMA read and a DMA write for each packet.
 */
#include "group.h"

#define LOCKS 256

__handler__ void accumulate_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    const group_head_t *head = group_head(task);
    if (head == NULL || head->block >= group->blocks || head->bytes > group_block_bytes(group, head->block) ||
        head->bytes == 0 || head->bytes % spin_type_bytes(TYPE) != 0) {
        return;
    }
    spin_lock_t *locks = (spin_lock_t *)((uint8_t *)task->handler_mem + GROUP_CONFIGURATION_BYTES);
    spin_lock_t *lock = &locks[head->block % LOCKS];
    uint8_t *own = group_frame(args), *data = (uint8_t *)task->pkt_mem + FLARE_DATA_AT;
    const uint32_t at = head->block * GROUP_BLOCK_BYTES, bytes = head->bytes;
    spin_lock_lock(lock);
    group_fetch(task, at, own, bytes);
    spin_reduce(TYPE, OP, own, own, data, bytes);
    spin_cmd_t stored;
    spin_dma_to_host(spin_host_address(task, at), (uintptr_t)own, bytes, false, &stored);
    spin_cmd_wait(stored);
    spin_lock_unlock(lock);
}
