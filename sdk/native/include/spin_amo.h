/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics and waiting on the host's processor, instead of the card's own. */
#ifndef SPIN_AMO_H
#define SPIN_AMO_H

#include <stdint.h>

static inline uint32_t amo_swap(volatile uint32_t *addr, uint32_t value)
{
    return __atomic_exchange_n(addr, value, __ATOMIC_SEQ_CST);
}
static inline int32_t amo_add(volatile int32_t *addr, int32_t value)
{
    return (int32_t)__atomic_fetch_add((volatile uint32_t *)addr, (uint32_t)value, __ATOMIC_SEQ_CST);
}
static inline uint32_t amo_and(volatile uint32_t *addr, uint32_t value)
{
    return __atomic_fetch_and(addr, value, __ATOMIC_SEQ_CST);
}
static inline uint32_t amo_or(volatile uint32_t *addr, uint32_t value)
{
    return __atomic_fetch_or(addr, value, __ATOMIC_SEQ_CST);
}
static inline uint32_t amo_xor(volatile uint32_t *addr, uint32_t value)
{
    return __atomic_fetch_xor(addr, value, __ATOMIC_SEQ_CST);
}
static inline void amo_store(volatile uint32_t *addr, uint32_t value)
{
    __atomic_store_n(addr, value, __ATOMIC_SEQ_CST);
}

/* Compilers know no atomic minimum or maximum. */
#define SPIN_DEFINE_CHOICE(name, type, is_better)                                                                     \
    static inline type name(volatile type *addr, type value)                                                          \
    {                                                                                                                 \
        type before = __atomic_load_n(addr, __ATOMIC_RELAXED);                                                        \
        while (!__atomic_compare_exchange_n(addr, &before, value is_better before ? value : before, 1,                \
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                                    \
        }                                                                                                             \
        return before;                                                                                                \
    }

SPIN_DEFINE_CHOICE(amo_max, int32_t, >)
SPIN_DEFINE_CHOICE(amo_maxu, uint32_t, >)
SPIN_DEFINE_CHOICE(amo_min, int32_t, <)
SPIN_DEFINE_CHOICE(amo_minu, uint32_t, <)
#undef SPIN_DEFINE_CHOICE

/* This thread's reservation. */
static __thread struct {
    volatile const uint32_t *addr;
    uint32_t value;
} spin_reserved;

static inline uint32_t load_reserved(volatile const uint32_t *addr)
{
    spin_reserved.addr = addr;
    spin_reserved.value = __atomic_load_n(addr, __ATOMIC_SEQ_CST);
    return spin_reserved.value;
}

/* Unlike on the card, this also succeeds if another thread stored the same value in between. */
static inline uint32_t store_conditional(volatile uint32_t *addr, uint32_t value)
{
    uint32_t expected = spin_reserved.value;
    _Bool stored = spin_reserved.addr == addr &&
                   __atomic_compare_exchange_n(addr, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    spin_reserved.addr = 0;
    return !stored;
}

/* A turn of the card's loop is 4 cycles. */
static inline void rt_time_wait_cycles(unsigned n)
{
    for (n >>= 2; n > 1; n--) {
        __asm__ volatile("" ::: "memory");
    }
}

#endif
