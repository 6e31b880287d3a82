/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomics, spinning locks and waiting.
 *
 * An atomic is one instruction. On this cluster's own L1 its result comes like a load's; on L2 or another cluster's L1
 * it takes about 25 cycles. load_reserved and store_conditional work on L2 handler memory only.
 */
#ifndef SPIN_PSPIN_H
#define SPIN_PSPIN_H

#include <assert.h>
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

#define SPIN_DEFINE_AMO(name, instruction, type)                                                              \
    static inline type name(volatile type *addr, type value)                                                  \
    {                                                                                                         \
        type before;                                                                                          \
        __asm__ volatile(instruction " %0, %2, (%1)" : "=r"(before) : "r"(addr), "r"(value) : "memory");      \
        return before;                                                                                        \
    }

/* Each returns what was in memory before. */
SPIN_DEFINE_AMO(amo_swap, "amoswap.w", uint32_t)
SPIN_DEFINE_AMO(amo_add, "amoadd.w", int32_t)
SPIN_DEFINE_AMO(amo_and, "amoand.w", uint32_t)
SPIN_DEFINE_AMO(amo_or, "amoor.w", uint32_t)
SPIN_DEFINE_AMO(amo_xor, "amoxor.w", uint32_t)
SPIN_DEFINE_AMO(amo_max, "amomax.w", int32_t)
SPIN_DEFINE_AMO(amo_maxu, "amomaxu.w", uint32_t)
SPIN_DEFINE_AMO(amo_min, "amomin.w", int32_t)
SPIN_DEFINE_AMO(amo_minu, "amominu.w", uint32_t)
#undef SPIN_DEFINE_AMO

/* A store that other atomics cannot split. */
static inline void amo_store(volatile uint32_t *addr, uint32_t value)
{
    __asm__ volatile("amoswap.w x0, %1, (%0)" ::"r"(addr), "r"(value) : "memory");
}

static inline uint32_t load_reserved(volatile uint32_t *addr)
{
    uint32_t value;
    __asm__ volatile("lr.w %0, (%1)" : "=r"(value) : "r"(addr) : "memory");
    return value;
}

/* 0 if the store happened. */
static inline uint32_t store_conditional(volatile uint32_t *addr, uint32_t value)
{
    uint32_t failed;
    __asm__ volatile("sc.w %0, %2, (%1)" : "=&r"(failed) : "r"(addr), "r"(value) : "memory");
    return failed;
}

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

/* Do nothing for about n cycles; returns at once if n is 4 or less. 4 cycles a turn once the loop is cached. */
static inline void rt_time_wait_cycles(unsigned n)
{
    if (n <= 4) {
        return;
    }
    n >>= 2;
    __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(n));
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
