/* SPDX-License-Identifier: Apache-2.0 */
/* One core copies BYTES from a memory into its own L1, word by word or, with DMA, by the cluster's engine. */
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
    const uint8_t *src = own;
#elif FROM == REMOTE
    const uint8_t *src = task->scratchpad[(cluster + 1) % NB_CLUSTERS];
#elif FROM == HANDLER_MEMORY
    const uint8_t *src = task->handler_mem;
#else
    const uint8_t *src = task->l2_pkt_mem;
#endif
    uint8_t *dst = own + 0x8000;
#ifdef DMA
    spin_dma_t copied;
    if (spin_dma((void *)(uintptr_t)src, dst, BYTES, SPIN_DMA_EXT2LOC, 0, &copied) == SPIN_OK) {
        spin_dma_wait(copied);
    }
#else
    const volatile uint32_t *from = (const volatile uint32_t *)(const void *)src;
    volatile uint32_t *to = (volatile uint32_t *)(void *)dst;
#pragma clang loop unroll_count(32)
    for (uint32_t i = 0; i < BYTES / 4; i++) {
        to[i] = from[i];
    }
#endif
}
