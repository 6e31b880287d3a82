/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up partial results of all clusters and writes the sums to host memory; for completion handlers.
 *
 * Handlers that add up keep their sums in the L1 of their own cluster, where an atomic addition takes one cycle. At the
 * end one core adds the sums of all clusters. A word of another cluster would cost it 22 cycles, but a DMA engine moves
 * 64 bytes in one cycle. So the other clusters' sums go to host memory and from there into this cluster's L1.
 */
#ifndef SPIN_MERGE_H
#define SPIN_MERGE_H

#include <handler.h>

/* Size of scratchpad in each cluster, and of host memory, that spin_merge needs for `n` words. */
#define SPIN_MERGE_BYTES(n) ((NB_CLUSTERS > 2 ? NB_CLUSTERS : 2) * (n) * 4)

/*
 * Add up the first `n` words of all clusters' scratchpads, write the sums to the first `n` words of the context's host
 * memory, and leave zeros in the scratchpads for the next message. The host must have left zeros there before the first
 * one.
 *
 * Touches SPIN_MERGE_BYTES(n) of this cluster's scratchpad and of host memory, and `n` words of each other scratchpad.
 * No other handler may use them meanwhile. Waits for the host three times. With four clusters about 17 cycles a word,
 * 200 more, and the host's latency. Does nothing if either memory is too small.
 */
static inline void spin_merge(const handler_args_t *args, uint32_t n)
{
    const task_t *task = args->task;
    const uint32_t own = args->cluster_id, bytes = n * 4;
    if (task->scratchpad_size[own] < SPIN_MERGE_BYTES(n) || task->host_mem_size < SPIN_MERGE_BYTES(n)) {
        return;
    }
    const uint64_t host = spin_host_address(task, 0);
    uint32_t *own_sums = (uint32_t *)task->scratchpad[own], *sums = own_sums + n;
    spin_cmd_t moved[NB_CLUSTERS];

    /* Cluster `own + i`, modulo their number, has slot i, here and in host memory. */
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        const void *theirs = task->scratchpad[(own + i) % NB_CLUSTERS];
        spin_dma_to_host(host + i * bytes, (uintptr_t)theirs, bytes, false, &moved[i]);
    }
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        spin_cmd_wait(moved[i]);
        spin_dma_from_host(host + i * bytes, (uintptr_t)(own_sums + i * n), bytes, false, &moved[i]);
    }
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        spin_cmd_wait(moved[i]);
    }

    for (uint32_t word = 0; word < n; word++) {
        uint32_t sum = own_sums[word];
        for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
            sum += own_sums[i * n + word];
        }
        own_sums[word] = 0;
        sums[word] = sum;
    }
    /* Writes the sums to the host, and zeros through the host to the slots of the other clusters' sums. */
    spin_cmd_t delivered;
    spin_dma_to_host(host, (uintptr_t)sums, bytes, false, &delivered);
    if (NB_CLUSTERS == 1) {
        return;
    }
    spin_dma_to_host(host + bytes, (uintptr_t)own_sums, bytes, false, &moved[0]);
    spin_cmd_wait(moved[0]);
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        const void *theirs = task->scratchpad[(own + i) % NB_CLUSTERS];
        spin_dma_from_host(host + bytes, (uintptr_t)theirs, bytes, false, &moved[i]);
    }
}

#endif
