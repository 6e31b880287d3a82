/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings of the DMA assists. A ring has 64 descriptors in 0x800 bytes, aligned to 0x800; one descriptor always stays free.
 * Descriptors that firmware has not yet checked (from the reference on) still occupy their places.
 */
#ifndef TIGON2_DMA_H
#define TIGON2_DMA_H

#include "soft.h"

/* The next place in the ring. */
static inline u32 ring_after(u32 address)
{
    u32 next = address + sizeof(struct transfer);
    return next & (DMA_RING_BYTES - 1) ? next : next - DMA_RING_BYTES;
}

/* True if `n` transfers can be queued, the next one at `producer`. */
static inline int has_room(u32 producer, u32 reference, u32 n)
{
    return ((producer - reference) & (DMA_RING_BYTES - 1)) < DMA_RING_BYTES - n * sizeof(struct transfer);
}

/* Queues a transfer at `producer`; returns the next place. */
static inline u32 queue(u32 producer, u32 host_high, u32 host_low, u32 local, u32 length, u32 state, u32 tag, u32 argument)
{
    struct transfer *transfer = (struct transfer *)producer;
    transfer->host_high = host_high;
    transfer->host_low = host_low;
    transfer->local = local;
    transfer->length = length;
    transfer->state = state;
    transfer->tag = tag;
    transfer->argument = argument;
    return ring_after(producer);
}

/* Queues a few bytes for a host address given at start-up. Returns 0 if there is no room. */
static inline int write_word(const struct address *to, volatile u32 *from, u32 tag)
{
    u32 producer = REG(DMA_WRITE_PRODUCER);
    if (!has_room(producer, REG(DMA_WRITE_REFERENCE), 1))
        return 0;
    REG(DMA_WRITE_PRODUCER) = queue(producer, to->high, to->low, (u32)from, 4, here->write_control, tag, 0);
    return 1;
}

/* No room to write: disables the event until a DMA write is done; it must rank below that event. */
static inline void wait_for_room(u32 event)
{
    here->in.short_of_write_descriptors++;
    here->blocked |= 1u << event;
}

#endif
