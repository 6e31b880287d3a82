/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAID-5 (sPIN, SC 2017): a write of one data block reads the old data, and sends the difference (XOR) to the parity
 * node, which adds it to the old parity. Both nodes read and write their place in host memory under a lock.
 *
 * A write that fails half-way leaves the old parity, as in RAID-5 without a journal: the client must write the parity
 * of that stripe again.
 */
#ifndef STORAGE_RAID_H
#define STORAGE_RAID_H

#include "code.h"

static inline spin_lock_t *storage_lock_of(const task_t *task, uint32_t address)
{
    return &storage_node(task)->locks[address / STORAGE_UNIT % STORAGE_LOCKS];
}

/*
 * Write `data` to host memory, and leave the difference to the old content in `data`. If `adds` is true, add `data` to
 * host memory instead, and leave the sum in `data`. `data` begins at a multiple of 4. Waits for a read and a write of
 * host memory: about 2,000 cycles, with the XOR of 1 KiB.
 */
static inline void storage_exchange(const handler_args_t *args, uint32_t address, uint8_t *data, uint32_t n, bool adds)
{
    const task_t *task = args->task;
    uint8_t *old = storage_own(args)->rooms[args->hpu_id][0];
    spin_lock_t *lock = storage_lock_of(task, address);
    spin_cmd_t read, written;
    spin_lock_lock(lock);
    spin_dma_from_host(spin_host_address(task, address), (uintptr_t)old, n, false, &read);
    spin_cmd_wait(read);
    if (!adds) {
        spin_dma_to_host(spin_host_address(task, address), (uintptr_t)data, n, false, &written);
        spin_cmd_wait(written);
    }
    storage_add(data, old, n);
    if (adds) {
        spin_dma_to_host(spin_host_address(task, address), (uintptr_t)data, n, false, &written);
        spin_cmd_wait(written);
    }
    spin_lock_unlock(lock);
}

#endif
