/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the host's processor in nanoseconds, instead of the card's own. */
#ifndef SPIN_TIME_H
#define SPIN_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t spin_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint32_t spin_now32(void)
{
    return (uint32_t)spin_now();
}

#endif
