/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tag of a capability: HalfSipHash-2-4 with 64 bits (Aumasson and Bernstein, 2012, in its variant of 32-bit words). A
 * round is 14 operations on words. About 340 cycles for the six words of a capability.
 */
#ifndef STORAGE_CAPABILITY_H
#define STORAGE_CAPABILITY_H

#include "wire.h"
#include <stdbool.h>

static inline uint32_t storage_rotate(uint32_t value, uint32_t bits) { return value << bits | value >> (32 - bits); }

static inline void storage_sip_round(uint32_t v[4])
{
    v[0] += v[1];
    v[1] = storage_rotate(v[1], 5) ^ v[0];
    v[0] = storage_rotate(v[0], 16);
    v[2] += v[3];
    v[3] = storage_rotate(v[3], 8) ^ v[2];
    v[0] += v[3];
    v[3] = storage_rotate(v[3], 7) ^ v[0];
    v[2] += v[1];
    v[1] = storage_rotate(v[1], 13) ^ v[2];
    v[2] = storage_rotate(v[2], 16);
}

/* The tag of `n` words. */
static inline void storage_tag(const uint32_t key[2], const uint32_t *words, uint32_t n, uint32_t tag[2])
{
    uint32_t v[4] = {key[0], key[1] ^ 0xee, 0x6c796765 ^ key[0], 0x74656462 ^ key[1]};
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t word = i < n ? words[i] : (n * 4) << 24; /* at last the length, in the highest byte */
        v[3] ^= word;
        storage_sip_round(v);
        storage_sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xee;
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t round = 0; round < 4; round++) {
            storage_sip_round(v);
        }
        tag[half] = v[1] ^ v[3];
        v[1] ^= 0xdd;
    }
}

#endif
