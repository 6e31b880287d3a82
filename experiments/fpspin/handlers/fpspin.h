/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FPsPIN's conventions: counters that the host reads, and host calls.
 *
 * The context's handler memory begins with a word for each HPU, to which the host writes its answer, and the counters.
 * The context's host memory begins with a page for each HPU: its flag, and from byte 64 on room for data.
 *
 * A host call writes the HPU's flag to its page and polls its word until the host has written the same sequence number
 * there. Sequence numbers are kept in the scratchpad of the HPU's own cluster, a byte for each HPU.
 *
 * Source: spcl/FPsPIN f5feca1, pspin/sw/runtime/include/spin_host.h and pspin.h.
 */
#ifndef FPSPIN_H
#define FPSPIN_H

#include <handler.h>
#include <spin_net.h>
#include <spin_time.h>

#define FPSPIN_HPUS 16
#define FPSPIN_COUNTERS 16
#define FPSPIN_PAGE 4096
#define FPSPIN_DATA 64 /* offset of data in a page */

typedef struct {
    uint32_t sum;
    uint32_t count;
} fpspin_counter_t;

typedef struct {
    volatile uint64_t answer[FPSPIN_HPUS];
    fpspin_counter_t counter[FPSPIN_COUNTERS];
} fpspin_memory_t;

static inline fpspin_memory_t *fpspin_memory(const handler_args_t *args)
{
    return (fpspin_memory_t *)args->task->handler_mem;
}

/* Two atomic additions in L2 handler memory. */
static inline void fpspin_count(const handler_args_t *args, uint32_t counter, uint32_t cycles)
{
    fpspin_counter_t *at = &fpspin_memory(args)->counter[counter];
    amo_add((volatile int32_t *)&at->count, 1);
    amo_add((volatile int32_t *)&at->sum, (int32_t)cycles);
}

static inline uint64_t fpspin_host(const handler_args_t *args)
{
    return (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
}

/* Returns true if the host has given the context memory with a page for each HPU. */
static inline bool fpspin_has_host(const handler_args_t *args)
{
    return fpspin_host(args) != 0 && args->task->host_mem_size >= FPSPIN_HPUS * FPSPIN_PAGE;
}

static inline uint64_t fpspin_page(const handler_args_t *args)
{
    return fpspin_host(args) + args->hpu_gid * FPSPIN_PAGE;
}

/* Call the host with a length, wait for its answer, and return the length in the answer. */
static inline uint32_t fpspin_call(const handler_args_t *args, uint32_t length)
{
    volatile uint8_t *sequence = (volatile uint8_t *)args->task->scratchpad[args->cluster_id] + args->hpu_id;
    uint8_t number = (uint8_t)(*sequence + 1);
    *sequence = number;

    uint32_t low = number | length << 8;
    uint32_t high = length >> 24 | args->hpu_gid << 8;
    spin_cmd_t flag;
    spin_write_to_host(fpspin_page(args), (uint64_t)high << 32 | low, &flag);
    spin_cmd_wait(flag);

    volatile uint32_t *answer = (volatile uint32_t *)&fpspin_memory(args)->answer[args->hpu_gid];
    do {
        low = answer[0];
    } while ((uint8_t)low != number);
    return low >> 8 | answer[1] << 24;
}

/* Copy the packet to this HPU's page, call the host, and copy the packet back. Returns its new size. */
static inline uint32_t fpspin_offload(const handler_args_t *args, void *packet, uint32_t size)
{
    spin_cmd_t copy;
    spin_dma_to_host(fpspin_page(args) + FPSPIN_DATA, (uintptr_t)packet, size, true, &copy);
    spin_cmd_wait(copy);
    size = fpspin_call(args, size);
    spin_dma_from_host(fpspin_page(args) + FPSPIN_DATA, (uintptr_t)packet, size, true, &copy);
    spin_cmd_wait(copy);
    return size;
}

#endif
