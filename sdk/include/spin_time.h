/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time, for token buckets and timeouts.
 *
 * An extension of spinet: neither the published RTL nor the paper has a counter that a handler can read. The preset pspin has it
 * (cluster.cycle_register), pspin-rtl does not: there these functions end the handler with an illegal instruction.
 */
#ifndef SPIN_TIME_H
#define SPIN_TIME_H

#include <stdint.h>

/* Cycles of the card's clock since reset, modulo 2^32: 4.29 s at 1 GHz. One instruction, of one cycle. */
static inline uint32_t spin_now32(void)
{
    uint32_t now;
    __asm__ volatile("csrr %0, 0xc00" : "=r"(now));
    return now;
}

/* Cycles of the card's clock since reset. All cores see the same time. */
static inline uint64_t spin_now(void)
{
    uint32_t high, low, again;
    do {
        __asm__ volatile("csrr %0, 0xc80\n\tcsrr %1, 0xc00\n\tcsrr %2, 0xc80" : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

#endif
