/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From four partial results, one in each cluster's L1, to one in host memory: for completion handlers.
 *
 * Handlers that add up keep their sums in the L1 of their own cluster, where an atomic addition takes one cycle. In the end
 * one core has to add the four up. A word of another cluster costs it 22 cycles, but a DMA engine moves 64 bytes in
 * one: so the others' sums go out to the host and come back into this cluster's L1.
 */
#ifndef SPIN_MERGE_H
#define SPIN_MERGE_H

#include <handler.h>

/* Bytes of scratchpad in each cluster, and of host memory, that spin_merge needs for `n` words. */
#define SPIN_MERGE_BYTES(n) (NB_CLUSTERS * (n) * 4)

/*
 * Add up the first `n` words of the four scratchpads, write the sums to the first `n` words of the context's host memory, and
 * leave zeros in the scratchpads for the next message. The host must have left zeros there before the first one.
 *
 * Touches SPIN_MERGE_BYTES(n) of this cluster's scratchpad and of host memory. No other handler may use either meanwhile.
 * Waits for the host twice. About 17 cycles a word, 200 more, and twice the host's latency. Does nothing if either memory
 * is too small.
 */
static inline void spin_merge(const handler_args_t *args, uint32_t n)
{
    const task_t *task = args->task;
    const uint32_t own = args->cluster_id, bytes = n * 4;
    if (task->scratchpad_size[own] < SPIN_MERGE_BYTES(n) || task->host_mem_size < SPIN_MERGE_BYTES(n)) {
        return;
    }
    const uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t *sums = (uint32_t *)task->scratchpad[own];
    spin_cmd_t moved[NB_CLUSTERS - 1];

    /* Cluster `own + i`, modulo 4, has place i, here and in host memory. */
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        const void *theirs = task->scratchpad[(own + i) % NB_CLUSTERS];
        spin_dma_to_host(host + i * bytes, (uintptr_t)theirs, bytes, false, &moved[i - 1]);
    }
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        spin_cmd_wait(moved[i - 1]);
        spin_dma_from_host(host + i * bytes, (uintptr_t)(sums + i * n), bytes, false, &moved[i - 1]);
    }
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        spin_cmd_wait(moved[i - 1]);
    }

    uint32_t *a = sums + n, *b = a + n, *c = b + n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = sums[i] + a[i] + b[i] + c[i];
        sums[i] = 0;
        a[i] = sum;
        b[i] = 0;
    }
    /* The sums to the host, zeros to where the others' sums were. */
    spin_dma_to_host(host, (uintptr_t)a, bytes, false, &moved[0]);
    spin_dma_to_host(host + bytes, (uintptr_t)b, bytes, false, &moved[1]);
    spin_cmd_wait(moved[1]);
    for (uint32_t i = 1; i < NB_CLUSTERS; i++) {
        const void *theirs = task->scratchpad[(own + i) % NB_CLUSTERS];
        spin_dma_from_host(host + bytes, (uintptr_t)theirs, bytes, false, &moved[i - 1]);
    }
}

#endif
