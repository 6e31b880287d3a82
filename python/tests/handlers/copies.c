/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the first bytes of the packet from L2 to L1 by the cluster's DMA, again and again, without waiting for earlier
 * copies. Bytes 28 and 32 of the packet have the number of copies and their size.
 */
#include <handler.h>

__handler__ void copies_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *numbers = (const uint32_t *)((const uint8_t *)task->pkt_mem + 28);
    const uint32_t bytes = numbers[1];
    spin_dma_t copied;
    for (uint32_t n = numbers[0]; n > 0; n--) {
        spin_dma(task->l2_pkt_mem, task->pkt_mem, bytes, SPIN_DMA_EXT2LOC, 0, &copied);
    }
    spin_dma_wait(copied);
}
