/* SPDX-License-Identifier: Apache-2.0 */
/* Names that PsPIN's handlers use in addition to the atomics of spin_amo.h: compare and swap, spin locks. */
#ifndef SPIN_PSPIN_H
#define SPIN_PSPIN_H

#include <assert.h>
#include <hal/pulp.h>
#include <spin_amo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <util.h>

#define MEM_ALIGNMENT 4 /* bytes */
#define ALIGN_UP(addr, alignment) (((uint32_t)(uintptr_t)(addr) + (alignment) - 1) & ~((alignment) - 1))
#define DMA_MAX_XFER_SIZE 32768 /* bytes; a hint that nothing checks */
#define DMA_NULL 0

typedef uint32_t dma_t;
typedef volatile uint32_t futex_t;

static inline void asm_mem_fence(void) { SPIN_COMPILER_BARRIER(); }

/*
 * Store `wanted` if `*addr` holds `expected`; L2 handler memory only. Returns 0 if stored, -1 if it holds another value.
 * Returns more than 0 if another core interfered; nothing is stored.
 */
static inline int compare_and_swap(volatile uint32_t *addr, uint32_t expected, uint32_t wanted)
{
    return load_reserved(addr) == expected ? (int)store_conditional(addr, wanted) : -1;
}

static inline void futex_init(futex_t *futex) { amo_store(futex, 0); }

/* True if this core now holds the lock. One atomic. */
static inline int futex_try_lock(futex_t *futex) { return amo_or(futex, 1) == 0; }

/* Waits without a pause between attempts: for locks that are held for a few cycles. */
static inline int futex_lock(futex_t *futex)
{
    while (!futex_try_lock(futex)) {
    }
    return 1;
}

#define SPIN_LOCK_BACKOFF_CYCLES 32

/* Waits with a pause of about 32 cycles between attempts. */
static inline int futex_lock_s(futex_t *futex)
{
    while (!futex_try_lock(futex)) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    return 1;
}

static inline void futex_unlock(futex_t *futex) { amo_store(futex, 0); }

#endif
