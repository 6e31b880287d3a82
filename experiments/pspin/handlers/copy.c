/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One core copies BYTES between a memory and its own L1: word by word from the memory, with STORES to it, or with DMA
 * from it by the cluster's engine.
 */
#include <handler.h>

#define LOCAL 0
#define REMOTE 1
#define HANDLER_MEMORY 2
#define PACKET_MEMORY 3

__handler__ void copy_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t cluster = args->cluster_id;
    uint8_t *own = task->scratchpad[cluster];
#if FROM == LOCAL
    uint8_t *there = own;
#elif FROM == REMOTE
    uint8_t *there = task->scratchpad[(cluster + 1) % NB_CLUSTERS];
#elif FROM == HANDLER_MEMORY
    uint8_t *there = task->handler_mem;
#else
    uint8_t *there = task->l2_pkt_mem;
#endif
    uint8_t *here = own + 0x8000;
#ifdef DMA
    spin_dma_t copied;
    if (spin_dma(there, here, BYTES, SPIN_DMA_EXT2LOC, 0, &copied) == SPIN_OK) {
        spin_dma_wait(copied);
    }
#else
#ifdef STORES
    volatile uint32_t *from = (volatile uint32_t *)(void *)here, *to = (volatile uint32_t *)(void *)there;
#else
    volatile uint32_t *from = (volatile uint32_t *)(void *)there, *to = (volatile uint32_t *)(void *)here;
#endif
#pragma clang loop unroll_count(32)
    for (uint32_t i = 0; i < BYTES / 4; i++) {
        to[i] = from[i];
    }
#endif
}
