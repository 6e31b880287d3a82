/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive any type, with read-write checkpoints.
 *
 * Each interval of a message has a checkpoint that advances with the packets of the interval. One core at a time, the
 * owner, processes these packets one after the other. If the interval of a packet has an owner, the packet's handler
 * copies the packet to a buffer, appends it to the interval's queue, and ends; the owner processes it. So an owner acts
 * as a virtual HPU, which PsPIN's scheduler does not have. Packets in order skip nothing. If a packet lies before the
 * checkpoint's position, the checkpoint starts again from its read-only copy. A packet that is larger than a buffer waits
 * until the interval has no owner.
 *
 * Memory: owned checkpoints and their queues are in L2 handler memory, where all clusters reach them; buffers are in
 * L1. Locks: load_reserved and store_conditional, 21 cycles each. Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_segment.h"

/* In handler memory, one for each interval of each slot. */
typedef struct {
    volatile uint32_t lock;
    volatile uint32_t is_owned;
    volatile uint32_t first, last; /* queue of buffers; 0 if it is empty */
    spin_ddt_segment_t segment;
} owned_t;

/* A waiting packet, in the L1 of the cluster that stored it. The owner may be in another cluster: 22 cycles a load. */
typedef struct {
    volatile uint32_t next;
    uint32_t at;
    uint32_t left;
    uint32_t bit; /* in free_buffers */
    uint8_t bytes[];
} buffer_t;

static inline void lock(owned_t *owned)
{
    while (load_reserved(&owned->lock) != 0 || store_conditional(&owned->lock, 1) != 0) {
        rt_time_wait_cycles(32);
    }
}

static inline void unlock(owned_t *owned)
{
    SPIN_COMPILER_BARRIER();
    owned->lock = 0;
}

/* A free buffer of this cluster; NULL if there is none. */
static buffer_t *take_buffer(const handler_args_t *args, const spin_ddt_t *type)
{
    spin_ddt_l1_t *l1 = (spin_ddt_l1_t *)args->task->scratchpad[args->cluster_id];
    for (uint32_t free = l1->free_buffers; free != 0; free = l1->free_buffers) {
        uint32_t bit = free & -free;
        if (amo_and(&l1->free_buffers, ~bit) & bit) {
            uint32_t index = 0;
            for (uint32_t rest = bit; rest > 1; rest >>= 1) {
                index++;
            }
            buffer_t *buffer = (buffer_t *)((uint8_t *)l1 + type->buffers + index * type->buffer_bytes);
            buffer->bit = bit;
            return buffer;
        }
    }
    return NULL;
}

static void free_buffer(const task_t *task, const buffer_t *buffer)
{
    uint32_t cluster = ((uintptr_t)buffer >> 22) & 15; /* L1 memories are 4 MiB apart */
    spin_ddt_l1_t *l1 = (spin_ddt_l1_t *)task->scratchpad[cluster];
    amo_or(&l1->free_buffers, buffer->bit);
}

/* True if this core is now the owner and has to process the part; false if another owner will process it. */
static bool enter(const handler_args_t *args, const spin_ddt_t *type, owned_t *owned, const spin_ddt_part_t *part)
{
    for (;;) {
        lock(owned);
        if (!owned->is_owned) {
            owned->is_owned = 1;
            unlock(owned);
            return true;
        }
        unlock(owned);
        buffer_t *buffer = part->left <= type->buffer_bytes - sizeof *buffer ? take_buffer(args, type) : NULL;
        if (buffer == NULL) {
            rt_time_wait_cycles(64); /* the packet waits in packet memory, and this core with it */
            continue;
        }
        spin_dma_t copied;
        spin_dma((void *)part->nic, buffer->bytes, part->left, SPIN_DMA_EXT2LOC, 0, &copied);
        buffer->next = 0;
        buffer->at = part->at;
        buffer->left = part->left;
        spin_dma_wait(copied);
        lock(owned);
        bool left = !owned->is_owned;
        if (left) { /* the owner left meanwhile */
            owned->is_owned = 1;
        } else if (owned->first == 0) {
            owned->first = owned->last = (uint32_t)(uintptr_t)buffer;
        } else {
            ((buffer_t *)(uintptr_t)owned->last)->next = (uint32_t)(uintptr_t)buffer;
            owned->last = (uint32_t)(uintptr_t)buffer;
        }
        unlock(owned);
        if (left) {
            free_buffer(args->task, buffer);
        }
        return left;
    }
}

/* Returns the next packet in the queue. If there is none, ends the ownership and returns NULL. */
static buffer_t *leave(owned_t *owned, spin_ddt_segment_t *segment, uint32_t bytes)
{
    lock(owned);
    buffer_t *buffer = (buffer_t *)(uintptr_t)owned->first;
    if (buffer != NULL) {
        owned->first = buffer->next;
    } else {
        spin_dma_t copied;
        spin_dma(segment, &owned->segment, bytes, SPIN_DMA_LOC2EXT, 0, &copied);
        spin_dma_wait(copied);
        owned->is_owned = 0;
    }
    unlock(owned);
    return buffer;
}

static void process(const spin_ddt_t *type, spin_ddt_segment_t *segment, uint32_t interval, spin_ddt_part_t *part)
{
    if (!segment->is_valid || segment->at > part->at) {
        spin_ddt_restore(segment, spin_ddt_checkpoint(type, interval));
    }
    spin_ddt_skip(type, segment, part->at - segment->at);
    spin_ddt_process(type, segment, part);
}

__handler__ void rw_cp_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void rw_cp_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    const uint32_t interval = part.at / type->interval;
    uint32_t index = part.slot * type->n_checkpoints + interval;
    owned_t *owned = (owned_t *)((uint8_t *)args->task->handler_mem + type->owned + index * type->owned_bytes);
    if (!enter(args, type, owned, &part)) {
        return;
    }
    spin_ddt_segment_t *segment = spin_ddt_own_segment(args, type, 0);
    spin_dma_t copied;
    spin_dma(&owned->segment, segment, type->segment_bytes, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
    process(type, segment, interval, &part);
    for (buffer_t *buffer; (buffer = leave(owned, segment, type->segment_bytes)) != NULL;) {
        part.at = buffer->at;
        part.left = buffer->left;
        part.nic = (uintptr_t)buffer->bytes;
        process(type, segment, interval, &part);
        spin_ddt_wait(); /* no command reads the buffer any more */
        free_buffer(args->task, buffer);
    }
}

__handler__ void rw_cp_th(handler_args_t *args) { spin_ddt_end(args); }
