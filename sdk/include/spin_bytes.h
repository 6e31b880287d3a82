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

/* Exchange `n` bytes; the two may begin anywhere but must not overlap. n is best a constant: the loop then unrolls. */
static inline void spin_swap_bytes(void *a, void *b, uint32_t n)
{
    uint8_t *x = a, *y = b;
    uint32_t i = 0;
    /* By halves: headers behind Ethernet's 14 bytes begin on even addresses only. */
    for (; i + 2 <= n; i += 2) {
        uint16_t from_x, from_y;
        __builtin_memcpy(&from_x, x + i, 2);
        __builtin_memcpy(&from_y, y + i, 2);
        __builtin_memcpy(x + i, &from_y, 2);
        __builtin_memcpy(y + i, &from_x, 2);
    }
    if (i < n) {
        uint8_t from_x = x[i];
        x[i] = y[i];
        y[i] = from_x;
    }
}

#endif
