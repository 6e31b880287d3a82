/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte order. Networks send the high byte first; the cores keep the low byte first.
 *
 * A swap of a constant costs nothing, so compare with `spin_htons(443)` rather than swapping what was read.
 * A swap of a variable is 4 instructions for 16 bits and about 10 for 32.
 */
#ifndef SPIN_BYTES_H
#define SPIN_BYTES_H

#include <stdint.h>

/* Values as they lie in a packet. */
typedef uint16_t spin_be16_t;
typedef uint32_t spin_be32_t;

static inline uint16_t spin_ntohs(spin_be16_t value) { return (uint16_t)(value << 8 | value >> 8); }

static inline uint32_t spin_ntohl(spin_be32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

static inline spin_be16_t spin_htons(uint16_t value) { return spin_ntohs(value); }
static inline spin_be32_t spin_htonl(uint32_t value) { return spin_ntohl(value); }

/* Exchange 2 or 4 bytes that may begin anywhere: 2 loads and 2 stores, each 1 cycle in L1, 2 if misaligned. */

static inline void spin_swap16(void *a, void *b)
{
    uint16_t from_a, from_b;
    __builtin_memcpy(&from_a, a, 2);
    __builtin_memcpy(&from_b, b, 2);
    __builtin_memcpy(a, &from_b, 2);
    __builtin_memcpy(b, &from_a, 2);
}

static inline void spin_swap32(void *a, void *b)
{
    uint32_t from_a, from_b;
    __builtin_memcpy(&from_a, a, 4);
    __builtin_memcpy(&from_b, b, 4);
    __builtin_memcpy(a, &from_b, 4);
    __builtin_memcpy(b, &from_a, 4);
}

#endif
