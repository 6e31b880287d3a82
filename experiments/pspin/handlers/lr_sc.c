/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The update of reduce (with COUNT, of histogram) for each word, in L2 handler memory, which supports lr.w and sc.w. It uses
 * an AMO or, with LR_SC, a loop of lr.w and sc.w that repeats until sc.w succeeds.
 */
#include <handler.h>
#include <spin_data.h>

#define PLACES 1024

static inline void add(volatile int32_t *at, int32_t value)
{
#ifdef LR_SC
    int32_t sum, failed;
    __asm__ volatile("1: lr.w %0, (%2)\n"
                     "add %0, %0, %3\n"
                     "sc.w %1, %0, (%2)\n"
                     "bnez %1, 1b\n"
                     : "=&r"(sum), "=&r"(failed)
                     : "r"(at), "r"(value)
                     : "memory");
#else
    amo_add(at, value);
#endif
}

__handler__ void lr_sc_ph(handler_args_t *args)
{
    spin_pkt_t data = spin_data(args->task);
    const uint32_t *words = (const uint32_t *)data.data;
    volatile int32_t *places = (volatile int32_t *)args->task->handler_mem;
    for (uint32_t i = 0; i < data.size / 4 && i < PLACES; i++) {
#ifdef COUNT
        add(&places[words[i] % PLACES], 1);
#else
        add(&places[i], (int32_t)words[i]);
#endif
    }
}
