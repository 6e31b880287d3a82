/* SPDX-License-Identifier: Apache-2.0 */
/* Mostly arithmetic: one instruction in ten accesses memory. See docs/performance.md. */
#include <handler.h>
__handler__ void arithmetic_ph(handler_args_t *args) {
    task_t *task = args->task;
    volatile uint32_t *pkt = (volatile uint32_t *) task->pkt_mem;
    uint32_t *out = (uint32_t *) task->scratchpad[args->cluster_id] + args->hpu_id * 64;
    uint32_t sum = 0;
    for (int round = 0; round < 64; round++) {
        for (int i = 0; i < 64; i++) {
            uint32_t x = pkt[i % 16]; /* the words of a packet of 64 bytes */
            sum += x; sum ^= sum << 3;
            if (sum & 1) sum += 7;
        }
        out[round] = sum;
    }
}
