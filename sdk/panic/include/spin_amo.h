/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics, in a PANIC unit: there is one core, RV32I without interrupts, so loads and stores are enough. */
#ifndef SPIN_AMO_H
#define SPIN_AMO_H

#include <stdint.h>

#define SPIN_DEFINE_AMO(name, type, result)                       \
    static inline type name(volatile type *addr, type value)      \
    {                                                             \
        type before = *addr;                                      \
        *addr = (type)(result);                                   \
        return before;                                            \
    }

SPIN_DEFINE_AMO(amo_swap, uint32_t, value)
SPIN_DEFINE_AMO(amo_add, int32_t, (uint32_t)before + (uint32_t)value)
SPIN_DEFINE_AMO(amo_and, uint32_t, before & value)
SPIN_DEFINE_AMO(amo_or, uint32_t, before | value)
SPIN_DEFINE_AMO(amo_xor, uint32_t, before ^ value)
SPIN_DEFINE_AMO(amo_max, int32_t, value > before ? value : before)
SPIN_DEFINE_AMO(amo_maxu, uint32_t, value > before ? value : before)
SPIN_DEFINE_AMO(amo_min, int32_t, value < before ? value : before)
SPIN_DEFINE_AMO(amo_minu, uint32_t, value < before ? value : before)
#undef SPIN_DEFINE_AMO

static inline void amo_store(volatile uint32_t *addr, uint32_t value) { *addr = value; }

static inline uint32_t load_reserved(volatile const uint32_t *addr) { return *addr; }

/* No other core can have stored in between. */
static inline uint32_t store_conditional(volatile uint32_t *addr, uint32_t value)
{
    *addr = value;
    return 0;
}

/* Do nothing for about n cycles: a turn is 3. */
static inline void rt_time_wait_cycles(unsigned n)
{
    for (; n > 3; n -= 3) {
        __asm__ volatile("" ::: "memory");
    }
}

#endif
