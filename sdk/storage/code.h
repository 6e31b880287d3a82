/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure coding: a data node multiplies each byte of its block by one coefficient for each parity block, in GF(256),
 * and parity nodes add (XOR) the products of all data blocks.
 *
 * Multiplication is a look-up in a table of 64 KiB in each cluster's L1. Sums are in L2, because the products of one
 * unit come in different messages, which run on different clusters. A core that has products takes the unit's sum out
 * of its place, adds it to its packet, and stores the new sum there, so no core ever waits for another one.
 */
#ifndef STORAGE_CODE_H
#define STORAGE_CODE_H

#include "send.h"
#include <spin_time.h>

/* The table in this cluster's L1. The first core that needs it copies it from L2: 1,040 cycles. */
static inline const uint8_t (*storage_products(const handler_args_t *args))[256]
{
    storage_scratchpad_t *own = storage_own(args);
    if (own->products_state != 3) {
        if (amo_or(&own->products_state, 1) == 0) {
            spin_dma_t fetched;
            spin_dma(storage_node(args->task)->products, own->products, sizeof own->products, SPIN_DMA_EXT2LOC, 0, &fetched);
            spin_dma_wait(fetched);
            amo_store(&own->products_state, 3);
        }
        while (own->products_state != 3) {
            rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
        }
    }
    return own->products;
}

/*
 * Products of `n` bytes with `m` coefficients, each of which has a row of the table. Product j goes to the place of `out` in room
 * j of the core. `m` is a constant where this is inlined. A byte takes 1 load, and for each product an addition, a load and a store.
 * An iteration has four bytes, so that no instruction waits for the load before it. One pointer in the middle reaches all rooms.
 */
static inline __attribute__((__always_inline__)) void storage_multiply_by(const uint8_t *const *rows, uint8_t *out,
                                                                         const uint8_t *data, uint32_t n, const uint32_t m)
{
    const int32_t middle = (int32_t)(m - 1) * STORAGE_ROOM / 2;
    const uint8_t *row[STORAGE_MAX_PARITY];
    for (uint32_t j = 0; j < m; j++) {
        row[j] = rows[j];
    }
    const uint8_t *end = data + (n & ~3u);
    uint8_t *to = out + middle;
    while (data < end) {
        uint32_t a = data[0], b = data[1], c = data[2], d = data[3];
        data += 4;
        for (uint32_t j = 0; j < m; j++) {
            const int32_t at = (int32_t)(j * STORAGE_ROOM) - middle;
            uint8_t p = row[j][a], q = row[j][b], r = row[j][c], s = row[j][d];
            to[at] = p;
            to[at + 1] = q;
            to[at + 2] = r;
            to[at + 3] = s;
        }
        to += 4;
    }
    for (uint32_t i = 0; i < n % 4; i++) {
        for (uint32_t j = 0; j < m; j++) {
            to[(int32_t)(j * STORAGE_ROOM + i) - middle] = row[j][data[i]];
        }
    }
}

/*
 * The same for any `m`; the compiler makes a loop for each value. It is not inlined, so that the code around it takes no registers
 * from the loops.
 */
static void __attribute__((noinline)) storage_multiply(const uint8_t *const *rows, uint8_t *out, const uint8_t *data, uint32_t n,
                                                       uint32_t m)
{
    switch (m) {
    case 1:
        storage_multiply_by(rows, out, data, n, 1);
        break;
    case 2:
        storage_multiply_by(rows, out, data, n, 2);
        break;
    case 3:
        storage_multiply_by(rows, out, data, n, 3);
        break;
    default:
        storage_multiply_by(rows, out, data, n, 4);
        break;
    }
}

/* to[i] ^= from[i] for `n` bytes; both begin at multiples of 4. About 5.5 cycles a word. */
static inline void storage_add(uint8_t *to_bytes, const uint8_t *from_bytes, uint32_t n)
{
    uint32_t *to = (uint32_t *)to_bytes;
    const uint32_t *from = (const uint32_t *)from_bytes, *end = from + n / 16 * 4;
    while (from < end) {
        uint32_t a = from[0], b = from[1], c = from[2], d = from[3];
        uint32_t w = to[0], x = to[1], y = to[2], z = to[3];
        to[0] = a ^ w;
        to[1] = b ^ x;
        to[2] = c ^ y;
        to[3] = d ^ z;
        from += 4;
        to += 4;
    }
    for (uint32_t i = n / 16 * 16; i < n; i++) {
        to_bytes[i] ^= from_bytes[i];
    }
}

/* Send the products of a packet's data to the parity nodes. The packet does not change. */
static inline void storage_encode(const handler_args_t *args, const storage_message_t *message, const uint8_t *packet,
                                  const uint8_t *data, uint32_t n)
{
    const uint8_t(*products)[256] = storage_products(args);
    uint8_t(*rooms)[STORAGE_ROOM] = storage_own(args)->rooms[args->hpu_id];
    const uint32_t m = message->m, at = (uint32_t)(data - packet);
    const uint8_t *rows[STORAGE_MAX_PARITY];
    spin_cmd_t sent[STORAGE_MAX_PARITY];
    for (uint32_t j = 0; j < m; j++) {
        rows[j] = products[message->coefficients[j]];
        /* Copy the headers word by word: the packet and the rooms begin at multiples of 4. */
        for (uint32_t i = 0; i < at / 4; i++) {
            ((uint32_t *)rooms[j])[i] = ((const uint32_t *)packet)[i];
        }
        storage_direct(message, rooms[j], j);
    }
    storage_multiply(rows, rooms[0] + at, data, n, m);
    for (uint32_t j = 0; j < m; j++) {
        spin_send_packet(rooms[j], at + n, &sent[j]);
    }
    for (uint32_t j = 0; j < m; j++) {
        spin_cmd_wait(sent[j]);
    }
}

/* Take an accumulator: returns its number, or 0 if none is free. Three atomics on L2. */
static inline uint32_t storage_take_buffer(storage_node_t *node)
{
    if (amo_add(&node->free, -1) <= 0) {
        amo_add(&node->free, 1);
        return 0;
    }
    volatile uint32_t *place = &node->ring[amo_add((volatile int32_t *)&node->taken, 1) % STORAGE_BUFFERS];
    uint32_t buffer;
    while ((buffer = amo_swap(place, 0)) == 0) { /* another core is about to fill this place */
    }
    return buffer;
}

static inline void storage_return_buffer(storage_node_t *node, uint32_t buffer)
{
    volatile uint32_t *place = &node->ring[amo_add((volatile int32_t *)&node->returned, 1) % STORAGE_BUFFERS];
    amo_store(place, buffer);
    amo_add(&node->free, 1);
}

static inline void storage_clear_sums(storage_node_t *node, storage_sums_t *sums)
{
    for (uint32_t unit = 0; unit < STORAGE_MAX_UNITS; unit++) {
        uint32_t sum = amo_swap(&sums->units[unit], 0);
        if (sum != 0) {
            storage_return_buffer(node, sum & 0xffff);
        }
    }
    sums->done = 0;
}

#define STORAGE_NO_STRIPE STORAGE_STRIPES        /* no place is free yet */
#define STORAGE_REPEATED (STORAGE_STRIPES + 1)   /* the products of this data block have come before */

/*
 * Number of this message's stripe, which the stripe's first message opens, or one of the numbers above. A network that repeats
 * packets also repeats messages of one packet. So that such a message finds its stripe, a finished stripe keeps its place until
 * another one needs it. Takes a lock, copies 1 KiB from L2 by DMA, and does one or two atomics there. A new stripe needs a second DMA.
 */
static inline uint32_t storage_open_stripe(const handler_args_t *args, const storage_packet_t *header, uint32_t rank)
{
    storage_node_t *node = storage_node(args->task);
    storage_stripe_t *known = (storage_stripe_t *)storage_own(args)->rooms[args->hpu_id][0];
    const uint32_t now = spin_now32(), word = rank / 32, bit = 1u << rank % 32;
    uint32_t place = STORAGE_NO_STRIPE, most = STORAGE_STRIPE_CYCLES / 2 - 1;
    bool is_open = false;
    spin_dma_t copied;
    spin_lock_lock((spin_lock_t *)&node->stripes_lock);
    spin_dma(node->stripes, known, sizeof node->stripes, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
    for (uint32_t i = 0; i < STORAGE_STRIPES; i++) {
        const storage_stripe_t *one = &known[i];
        if (one->client == header->client && one->request == header->request && one->attempt == header->attempt) {
            place = i;
            is_open = true;
            break;
        }
        /* A new stripe takes an unused place. If there is none, it replaces the oldest finished stripe, else the oldest one that
           began at least STORAGE_STRIPE_CYCLES ago. */
        const uint32_t value = one->client == 0 ? UINT32_MAX : (now - one->began) / 2 | one->is_finished << 31;
        if (value > most) {
            place = i;
            most = value;
        }
    }
    if (is_open) {
        if (amo_or(&node->stripes[place].ranks[word], bit) & bit) {
            place = STORAGE_REPEATED;
        }
    } else if (place != STORAGE_NO_STRIPE) {
        storage_sums_t *sums = &node->sums[place];
        if (known[place].client != 0 && !known[place].is_finished) {
            storage_clear_sums(node, sums);
            storage_count(args->task, STORAGE_STRIPES_LOST);
        }
        known[place] =
            (storage_stripe_t){.client = header->client, .request = header->request, .attempt = header->attempt, .began = now};
        known[place].ranks[word] = bit;
        SPIN_COMPILER_BARRIER();
        spin_dma(&known[place], &node->stripes[place], sizeof known[place], SPIN_DMA_LOC2EXT, 0, &copied);
        spin_dma_wait(copied);
    }
    spin_lock_unlock((spin_lock_t *)&node->stripes_lock);
    return place;
}

/*
 * Add a packet's products to its unit's sum. Returns 0 if products of other blocks are missing, 1 if `data` is now the
 * parity, and -1 if no accumulator is free. `data` is in L1 and changes.
 *
 * Memory: a DMA of a unit between L1 and L2 for each call, two if there was a sum; one atomic on L2 each time that the
 * unit's place is read or written.
 */
static inline int storage_accumulate(const handler_args_t *args, const storage_message_t *message, uint32_t unit,
                                     uint8_t *data, uint32_t n)
{
    storage_node_t *node = storage_node(args->task);
    volatile uint32_t *place = &node->sums[message->stripe].units[unit];
    uint8_t *other_data = storage_own(args)->rooms[args->hpu_id][0];
    uint32_t count = 1, buffer = 0; /* products in `data`; an accumulator of this core */
    spin_dma_t copied;
    while (count < message->k) {
        uint32_t sum = amo_swap(place, 0);
        if (sum == 0) {
            if (buffer == 0 && (buffer = storage_take_buffer(node)) == 0) {
                return -1;
            }
            spin_dma(data, node->buffers[buffer - 1], n, SPIN_DMA_LOC2EXT, 0, &copied);
            spin_dma_wait(copied);
            sum = amo_swap(place, count << 16 | buffer);
            if (sum == 0) {
                return 0;
            }
            /* Another core stored a sum meanwhile. The swap left our sum there; continue with the other one. */
            buffer = sum & 0xffff;
            count = sum >> 16;
            spin_dma(node->buffers[buffer - 1], data, n, SPIN_DMA_EXT2LOC, 0, &copied);
            spin_dma_wait(copied);
            continue;
        }
        spin_dma(node->buffers[(sum & 0xffff) - 1], other_data, n, SPIN_DMA_EXT2LOC, 0, &copied);
        spin_dma_wait(copied);
        storage_add(data, other_data, n);
        count += sum >> 16;
        if (buffer == 0) {
            buffer = sum & 0xffff;
        } else {
            storage_return_buffer(node, sum & 0xffff);
        }
    }
    if (buffer != 0) {
        storage_return_buffer(node, buffer);
    }
    return 1;
}

#endif
