/* Slots of the DMA rings: allocation, filling, posting. */

#include "dma.h"

#include "events.h"

struct dma_ring reads, writes;
struct dma_descriptor read_slots[DMA_ENTRIES], write_slots[DMA_ENTRIES];
struct transfer read_transfers[DMA_ENTRIES], write_transfers[DMA_ENTRIES];

/* How many slots are free; under the ring's lock. Slots become free in any order: where there seem to be too few, this looks
 * for the first that is not. */
static uint32_t free_slots(struct dma_ring *ring, uint32_t wanted, uint32_t slots) {
    uint32_t freed = ring->freed, allocated = ring->allocated;
    if (slots - (allocated - freed) < wanted) {
        uint32_t posted = ring->posted;
        while (freed != posted && ring->flags[freed % DMA_ENTRIES] == SLOT_FREE) freed++;
        ring->freed = freed;
    }
    return slots - (allocated - freed);
}

#ifdef BASE

/* What was locked stays locked until the slots are ready. */
static int take(struct dma_ring *ring, uint32_t *slot, uint32_t n, uint32_t slots, unsigned which) {
    lock(which);
    if (free_slots(ring, n, slots) < n) {
        unlock(which);
        return 0;
    }
    *slot = ring->allocated;
    return 1;
}

int take_next_read(uint32_t *slot, volatile uint32_t *next, uint32_t first, uint32_t last) {
    if (first != *next || !take_reads(slot, 1)) return 0;
    *next = last;
    return 1;
}

/* The ring manager enqueues in the order in which it is asked. */
static void ready(struct dma_ring *ring, uint32_t slot, uint32_t n, unsigned producer, unsigned which) {
    for (uint32_t end = slot + n; slot != end; slot++) ring->flags[slot % DMA_ENTRIES] = SLOT_POSTED;
    ring->allocated = slot;
    ring->posted = slot;
    keep_order();
    REG(producer) = slot;
    unlock(which);
}

void reads_ready(uint32_t slot, uint32_t n) { ready(&reads, slot, n, DMA_READ_PRODUCER, LOCK_READ_SLOTS); }
void writes_ready(uint32_t slot, uint32_t n) { ready(&writes, slot, n, DMA_WRITE_PRODUCER, LOCK_WRITE_SLOTS); }

#else

static int take(struct dma_ring *ring, uint32_t *slot, uint32_t n, uint32_t slots, unsigned which) {
    lock(which);
    int is_there = free_slots(ring, n, slots) >= n;
    if (is_there) {
        *slot = ring->allocated;
        ring->allocated = *slot + n;
    }
    unlock(which);
    return is_there;
}

static void ready(struct dma_ring *ring, uint32_t slot, uint32_t n) {
    keep_order();
    for (uint32_t end = slot + n; slot != end; slot++) ring->flags[slot % DMA_ENTRIES] = SLOT_READY;
}

int take_next_read(uint32_t *slot, volatile uint32_t *next, uint32_t first, uint32_t last) {
    lock(LOCK_READ_SLOTS);
    int is_there = first == *next && free_slots(&reads, 1, READ_SLOTS) >= 1;
    if (is_there) {
        *slot = reads.allocated++;
        *next = last;
    }
    unlock(LOCK_READ_SLOTS);
    return is_there;
}

void reads_ready(uint32_t slot, uint32_t n) { ready(&reads, slot, n); }
void writes_ready(uint32_t slot, uint32_t n) { ready(&writes, slot, n); }

/* Hands consecutive ready slots to the assist; one processor at a time. */
static void post(struct dma_ring *ring, unsigned producer, unsigned which) {
    if (!try_lock(which)) return;
    uint32_t slot = ring->posted;
    while (ring->flags[slot % DMA_ENTRIES] == SLOT_READY) {
        ring->flags[slot % DMA_ENTRIES] = SLOT_POSTED;
        slot++;
    }
    if (slot != ring->posted) {
        ring->posted = slot;
        keep_order();
        REG(producer) = slot;
    }
    unlock(which);
}

void commit_reads(void) { post(&reads, DMA_READ_PRODUCER, LOCK_READ_COMMIT); }
void commit_writes(void) { post(&writes, DMA_WRITE_PRODUCER, LOCK_WRITE_COMMIT); }

/* The descriptors of all frames before `last` are here, for they are fetched in order; else the ring could fill up with slots
 * of frames whose descriptors had no slot left. A later frame may be asked for before an earlier one: those between get their slots too, and who asks for them later finds
 * them in `frame_slot`. */
uint32_t take_frame_reads(uint32_t first, uint32_t last) {
    lock(LOCK_READ_SLOTS);
    uint32_t next = sending.next;
    if ((int32_t)(last - next) > 0) {
        uint32_t slot = reads.allocated;
        uint32_t room = free_slots(&reads, 2 * (last - next), READ_SLOTS) / 2;
        uint32_t buffers = REG(MAC_TRANSMIT_CONSUMER) + TRANSMIT_SLOTS - next;
        if (room > buffers) room = buffers;
        while (next != last && room-- != 0) {
            frame_slot[next++ % MAC_TRANSMIT_ENTRIES] = slot % DMA_ENTRIES;
            slot += 2;
        }
        reads.allocated = slot;
        sending.next = next;
        if ((int32_t)(last - next) > 0) last = next;
    }
    unlock(LOCK_READ_SLOTS);
    return (int32_t)(last - first) > 0 ? last : first;
}

#endif

int take_reads(uint32_t *slot, uint32_t n) { return take(&reads, slot, n, READ_SLOTS, LOCK_READ_SLOTS); }
int take_writes(uint32_t *slot, uint32_t n) { return take(&writes, slot, n, WRITE_SLOTS, LOCK_WRITE_SLOTS); }
