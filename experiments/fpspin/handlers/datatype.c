/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives messages over SLMP and scatters each into a datatype of nested vectors in host memory.
 *
 * The datatype is a block of bytes, repeated on up to 8 levels, innermost first; the host writes it to handler
 * memory behind the counters. The place of a packet's first byte follows from its offset in the message, so messages
 * have no state and packets may come in any order. Within a packet the levels count up like an odometer. Packets without
 * all headers, and those whose data would not be within the message's part of the buffer, are not acknowledged; such data
 * are not written.
 *
 * The lowest 4 bits of the first byte of a message's number are its slot in the host's buffer. The completion handler
 * calls the host with this slot. Counter 0: cycles of payload handlers.
 */
#include "slmp.h"

#define MOST_LEVELS 8

typedef struct {
    uint32_t count;
    uint32_t stride;
} level_t;

typedef struct {
    uint32_t block; /* contiguous bytes */
    uint32_t n_levels;
    uint32_t slot_bytes; /* part of the buffer for each message */
    uint32_t spare;
    level_t level[MOST_LEVELS]; /* the last level repeats without limit; its count is unused */
} datatype_t;

static inline const datatype_t *datatype(const handler_args_t *args)
{
    return (const datatype_t *)(fpspin_memory(args) + 1);
}

static inline uint32_t slot_of(const slmp_headers_t *headers)
{
    return headers->slmp.message & (FPSPIN_HPUS - 1); /* little-endian: the first byte is the lowest one */
}

__handler__ void datatype_ph(handler_args_t *args)
{
    uint32_t start = spin_now32();
    slmp_headers_t *headers = (slmp_headers_t *)args->task->pkt_mem;
    const datatype_t *type = datatype(args);
    uint32_t n_levels = type->n_levels, block = type->block;
    uint32_t slot_bytes = type->slot_bytes;
    uint64_t slot_at = (uint64_t)slot_of(headers) * slot_bytes;
    uint64_t base = fpspin_host(args) + FPSPIN_HPUS * FPSPIN_PAGE + slot_at;

    uint32_t offset = spin_ntohl(headers->slmp.offset), left = slmp_size(args->task);
    if (!slmp_has_headers(args->task) || !slmp_fits(args->task, slot_at, slot_bytes)) {
        return;
    }
    level_t level[MOST_LEVELS]; /* a copy in L1, because a load from handler memory takes more than 20 cycles */
    uint32_t at[MOST_LEVELS];
    uint32_t number = offset / block;
    uint64_t first = 0; /* the last level has no end, so this can exceed 32 bits */
    for (uint32_t i = 0; i < n_levels; i++) {
        level[i] = type->level[i];
        bool is_last = i + 1 == n_levels;
        at[i] = is_last ? number : number % level[i].count;
        number = is_last ? 0 : number / level[i].count;
        first += (uint64_t)at[i] * level[i].stride;
    }

    if (first >= slot_bytes) {
        return;
    }
    uint32_t place = (uint32_t)first;
    uintptr_t from = (uintptr_t)(headers + 1);
    uint32_t within = offset % block;
    while (left > 0) {
        uint32_t size = block - within < left ? block - within : left;
        if (place >= slot_bytes || within + size > slot_bytes - place) {
            return;
        }
        spin_cmd_t copy;
        spin_dma_to_host(base + place + within, from, size, false, &copy);
        from += size;
        left -= size;
        within = 0;
        for (uint32_t i = 0; i < n_levels; i++) {
            place += level[i].stride;
            if (++at[i] < level[i].count || i + 1 == n_levels) {
                break;
            }
            place -= at[i] * level[i].stride;
            at[i] = 0;
        }
    }
    if ((headers->slmp.flags & spin_htons(SLMP_SYN)) != 0) {
        slmp_acknowledge(headers);
    }
    fpspin_count(args, 0, spin_now32() - start);
}

__handler__ void datatype_th(handler_args_t *args)
{
    if (slmp_has_headers(args->task)) {
        fpspin_call(args, FPSPIN_PAGE + slot_of((slmp_headers_t *)args->task->pkt_mem));
    }
}
