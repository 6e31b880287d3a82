/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomics and waiting.
 *
 * An atomic is one instruction. On this cluster's own L1 its result comes like a load's; on L2 or another cluster's L1
 * it takes about 25 cycles. load_reserved and store_conditional work on L2 handler memory only.
 */
#ifndef SPIN_AMO_H
#define SPIN_AMO_H

#include <stdint.h>

#define SPIN_DEFINE_AMO(name, instruction, type)                                                              \
    static inline type name(volatile type *addr, type value)                                                  \
    {                                                                                                         \
        type before;                                                                                          \
        __asm__ volatile(instruction " %0, %2, (%1)" : "=r"(before) : "r"(addr), "r"(value) : "memory");      \
        return before;                                                                                        \
    }

/* Each returns the previous value in memory. */
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

static inline uint32_t load_reserved(volatile const uint32_t *addr)
{
    uint32_t value;
    __asm__ volatile("lr.w %0, (%1)" : "=r"(value) : "r"(addr) : "memory");
    return value;
}

/* Returns 0 if the store happened. */
static inline uint32_t store_conditional(volatile uint32_t *addr, uint32_t value)
{
    uint32_t failed;
    __asm__ volatile("sc.w %0, %2, (%1)" : "=&r"(failed) : "r"(addr), "r"(value) : "memory");
    return failed;
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

#endif
