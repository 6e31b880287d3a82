/* SPDX-License-Identifier: Apache-2.0 */
/* Names that PsPIN's handlers know beside the atomics of spin_amo.h: compare and swap, spinning locks. */
#ifndef SPIN_PSPIN_H
#define SPIN_PSPIN_H

#include <assert.h>
#include <spin_amo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MEM_ALIGNMENT 4 /* bytes */
#define ALIGN_UP(addr, alignment) (((addr) + (alignment) - 1) & ~((alignment) - 1))
#define DMA_MAX_XFER_SIZE 32768 /* bytes; advice, nothing checks it */
#define DMA_NULL 0

typedef uint32_t dma_t;
typedef volatile uint32_t futex_t;

/* Store `wanted` if `*addr` holds `expected`; returns what it held. L2 handler memory only. */
static inline uint32_t compare_and_swap(volatile uint32_t *addr, uint32_t expected, uint32_t wanted)
{
    for (;;) {
        uint32_t found = load_reserved(addr);
        if (found != expected || store_conditional(addr, wanted) == 0) {
            return found;
        }
    }
}

static inline void futex_init(futex_t *futex) { amo_store(futex, 0); }

/* True if the lock is now ours. One atomic. */
static inline bool futex_try_lock(futex_t *futex) { return amo_or(futex, 1) == 0; }

/* Waits without a pause between attempts: for locks that are held for a few cycles. */
static inline void futex_lock(futex_t *futex)
{
    while (!futex_try_lock(futex)) {
    }
}

/* Waits with a pause of about `cycles` between attempts. */
static inline void futex_lock_s(futex_t *futex, unsigned cycles)
{
    while (!futex_try_lock(futex)) {
        rt_time_wait_cycles(cycles);
    }
}

static inline void futex_unlock(futex_t *futex) { amo_store(futex, 0); }

#endif
