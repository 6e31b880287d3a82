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

/*
 * Remember a message of an update. False if it has come before: then its difference must not be added again. About 200 cycles, of
 * which 100 look the message up.
 */
static bool __attribute__((noinline)) storage_is_new_update(const task_t *task, const storage_packet_t *header, uint32_t policy)
{
    /* Clients count their requests, so the latest ones of a client are in different sets. */
    storage_seen_t *seen = &storage_node(task)->seen[(header->request + (header->client >> 24)) % STORAGE_SETS];
    const uint32_t attempt_stream = (uint32_t)header->stream << 16 | header->attempt;
    bool is_new = true;
    spin_lock_lock(&seen->lock);
    for (uint32_t i = 0; i < STORAGE_WAYS && is_new; i++) {
        is_new = seen->ways[i].request != header->request || seen->ways[i].client != header->client ||
                 seen->ways[i].attempt_stream != attempt_stream || seen->ways[i].policy != policy;
    }
    if (is_new) {
        const uint32_t way = seen->next;
        seen->ways[way].client = header->client;
        seen->ways[way].request = header->request;
        seen->ways[way].attempt_stream = attempt_stream;
        seen->ways[way].policy = policy;
        seen->next = (way + 1) % STORAGE_WAYS;
    }
    spin_lock_unlock(&seen->lock);
    return is_new;
}

/*
 * The locks of a range of at most STORAGE_UNIT bytes, in the order in which all cores take them. Those of two neighbours differ;
 * both are the same if the range is within one unit.
 */
static inline void storage_locks_of(const task_t *task, uint32_t address, uint32_t n, spin_lock_t *locks[2])
{
    spin_lock_t *all = storage_node(task)->locks;
    spin_lock_t *first = &all[address / STORAGE_UNIT % STORAGE_LOCKS];
    spin_lock_t *last = &all[(address + n - 1) / STORAGE_UNIT % STORAGE_LOCKS];
    locks[0] = MIN(first, last);
    locks[1] = first < last ? last : first;
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
    spin_lock_t *locks[2];
    spin_cmd_t read, written;
    storage_locks_of(task, address, n, locks);
    spin_lock_lock(locks[0]);
    if (locks[1] != locks[0]) {
        spin_lock_lock(locks[1]);
    }
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
    if (locks[1] != locks[0]) {
        spin_lock_unlock(locks[1]);
    }
    spin_lock_unlock(locks[0]);
}

#endif
