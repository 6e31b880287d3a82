/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many accesses: one instruction in four, to pseudo-random words. See docs/performance.md.
 *
 * Each core works in its own part of the cluster's scratchpad, so that cores compete for banks, not for locks.
 * ROUNDS decides how long a packet takes: a round is about 13 instructions.
 */
#include <handler.h>

#ifndef ROUNDS
#define ROUNDS 200
#endif

#define WORDS 256u

__handler__ void accesses_ph(handler_args_t *args)
{
    volatile uint32_t *mine = (uint32_t *)args->task->scratchpad[args->cluster_id] + args->hpu_id * WORDS;
    uint32_t x = args->task->flow_id + 1;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        x = x * 1664525u + 1013904223u; /* Numerical Recipes, 7.1: pseudo-random words and branches */
        uint32_t a = mine[x >> 24];
        uint32_t b = mine[i % WORDS];
        if (a > b) {
            mine[x >> 24] = x;
        }
        mine[i % WORDS] = x + b;
    }
}
