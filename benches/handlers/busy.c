/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep a core busy with the work of the published handlers: sum and hash the packet's words, and count them in a table.
 *
 * A word is a load, a hash step, a sum, an update of the table and a branch: about 14 instructions, 3 of them accesses.
 * Each core has its own table in the cluster's scratchpad, so that cores compete for banks, not for locks.
 * ROUNDS decides how long a packet takes.
 */
#include <handler.h>

#ifndef ROUNDS
#define ROUNDS 16
#endif

#define BINS 256u

__handler__ void busy_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const uint32_t *packet = task->pkt_mem;
    uint32_t *bins = (uint32_t *)task->scratchpad[args->cluster_id] + args->hpu_id * (BINS + 1);
    uint32_t words = task->pkt_mem_size / 4;
    uint32_t sum = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t hash = round;
        for (uint32_t i = 0; i < words; i++) {
            uint32_t word = packet[i];
            sum += word;
            hash += word; /* the step of Jenkins' one-at-a-time hash */
            hash += hash << 10;
            hash ^= hash >> 6;
            bins[hash % BINS]++;
        }
    }
    bins[BINS] = sum;
}
