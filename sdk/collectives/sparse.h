/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare's sparse blocks: packets contain only nonzero elements (flare.h has the header).
 *
 *     byte 56  elements * u16: places of the elements in their block, then zeros up to a multiple of 4
 *              then the values
 *
 * With IPv4 and UDP headers, a packet has at most 1,024 bytes, besides the two unused ones. In the last packet of a
 * sender for a block, `split` is the number of the sender's packets for this block; in its other packets, `split` is 0.
 * Packets may overtake each other, so a sender is done with a block when the number of its packets that have arrived
 * equals `split` of the last one. A block without elements is one packet without elements.
 *
 * -DTYPE is that of spin_reduce.h. -DRANGE is the number of elements in a block, at most 65,536.
 */
#ifndef SPARSE_H
#define SPARSE_H

#include "flare.h"

#ifndef RANGE
#define RANGE 148
#endif

#define SPARSE_DATA_BYTES 984 /* most bytes of a packet behind the header */
#define SPARSE_SLOT_BYTES 1024 /* place of a packet in host memory, from its header on */
#define SPARSE_FRAME_BYTES 1088

#define SPARSE_VALUE_BYTES (TYPE == SPIN_INT8 ? 1 : TYPE == SPIN_INT32 || TYPE == SPIN_FLOAT32 ? 4 : 2)
#define SPARSE_MAX (SPARSE_DATA_BYTES / (2 + SPARSE_VALUE_BYTES)) /* elements of a packet: 164, 246 or 328 */

/* Bytes of the places of n elements. */
static inline uint32_t sparse_places_bytes(uint32_t n) { return (2 * n + 3) / 4 * 4; }

static inline uint32_t sparse_data_bytes(uint32_t n) { return sparse_places_bytes(n) + n * SPARSE_VALUE_BYTES; }

static inline uint32_t sparse_get(const void *values, uint32_t i)
{
    switch (SPARSE_VALUE_BYTES) {
    case 1: return ((const uint8_t *)values)[i];
    case 2: return ((const spin_u16_alias *)values)[i];
    default: return ((const spin_u32_alias *)values)[i];
    }
}

static inline void sparse_set(void *values, uint32_t i, uint32_t value)
{
    switch (SPARSE_VALUE_BYTES) {
    case 1: ((uint8_t *)values)[i] = (uint8_t)value; break;
    case 2: ((spin_u16_alias *)values)[i] = (uint16_t)value; break;
    default: ((spin_u32_alias *)values)[i] = value;
    }
}

/*
 * Counts a packet of a sender for a block: the lower half of the word counts packets, the upper half becomes `split` of
 * the last packet. Returns true for the packet that makes both equal.
 */
static inline bool sparse_is_done(uint32_t *word, uint32_t split)
{
    *word += 1 + (split << 16);
    return *word >> 16 != 0 && *word >> 16 == (*word & 0xffff);
}

#endif
