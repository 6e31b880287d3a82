/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities. A client uses one capability for many requests, so each cluster remembers those that it has checked.
 *
 * The tag is HalfSipHash-2-4 with 64 bits: SipHash (Aumasson and Bernstein, 2012) on words of 32 bits. A round is 14
 * operations on words, so the tag of a capability takes about 330 cycles with PULP's rotation, and 590 without.
 */
#ifndef STORAGE_CAPABILITY_H
#define STORAGE_CAPABILITY_H

#include "wire.h"
#include <pspin.h>
#include <stdbool.h>
#ifdef SPIN_XPULP
#include <spin_xpulp.h>
#endif

/* Rotate left. One instruction with PULP's extensions, three without. */
static inline uint32_t storage_rotate(uint32_t value, uint32_t bits)
{
#ifdef SPIN_XPULP
    return spin_p_ror(value, 32 - bits);
#else
    return value << bits | value >> (32 - bits);
#endif
}

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
        uint32_t word = i < n ? words[i] : (n * 4) << 24; /* the last word has the length in its highest byte */
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

#define STORAGE_CAPABILITY_WORDS (STORAGE_SIGNED_WORDS + 2)

/* A capability whose tag was checked. */
typedef struct {
    volatile uint32_t version; /* odd while a core writes; changes with each write */
    volatile uint32_t words[STORAGE_CAPABILITY_WORDS];
} storage_known_t;

/* True if the entry is this capability. False during a write. About 50 cycles in the cluster's own L1. */
static inline bool storage_is_known(const storage_known_t *known, const uint32_t *words)
{
    uint32_t version = known->version, differences = version & 1;
    for (uint32_t i = 0; i < STORAGE_CAPABILITY_WORDS; i++) {
        differences |= known->words[i] ^ words[i];
    }
    return differences == 0 && version != 0 && known->version == version;
}

/* Remember a capability. Does nothing while another core writes the entry. */
static inline void storage_remember(storage_known_t *known, const uint32_t *words)
{
    uint32_t version = amo_or(&known->version, 1);
    if (version & 1) {
        return;
    }
    for (uint32_t i = 0; i < STORAGE_CAPABILITY_WORDS; i++) {
        known->words[i] = words[i];
    }
    amo_store(&known->version, version + 2);
}

/* True if the tag is right: the entry has this capability, or the key gives the same tag. */
static inline bool storage_is_genuine(storage_known_t *known, const volatile uint32_t *node_key,
                                      const storage_capability_t *capability)
{
    const uint32_t *words = &capability->client;
    if (storage_is_known(known, words)) {
        return true;
    }
    const uint32_t key[2] = {node_key[0], node_key[1]};
    uint32_t tag[2];
    storage_tag(key, words, STORAGE_SIGNED_WORDS, tag);
    if (tag[0] != capability->tag[0] || tag[1] != capability->tag[1]) {
        return false;
    }
    storage_remember(known, words);
    return true;
}

#endif
