/* Slots of the DMA rings: allocation, filling, posting. */

#include "dma.h"

#include "events.h"

struct dma_ring reads, writes;
struct dma_descriptor read_slots[DMA_ENTRIES], write_slots[DMA_ENTRIES];
uint32_t immediates[DMA_ENTRIES];

/* Slots before this one are posted or done. */
static inline uint32_t posted_slots(struct dma_ring *ring) {
#ifdef HARDWARE_QUEUE
    return ring == &reads ? REG(DMA_READ_PRODUCER) : REG(DMA_WRITE_PRODUCER);
#else
    return ring->posted;
#endif
}

/* Number of free slots; under the ring's lock. Slots are freed in any order. If too few seem free, searches for the first slot
 * that is not free. */
static uint32_t free_slots(struct dma_ring *ring, uint32_t wanted, uint32_t slots) {
    uint32_t freed = ring->freed, allocated = ring->allocated;
    if (slots - (allocated - freed) < wanted) {
        uint32_t posted = posted_slots(ring);
        while (freed != posted && ring->flags[freed % DMA_ENTRIES] == SLOT_FREE) freed++;
        ring->freed = freed;
    }
    return slots - (allocated - freed);
}

#ifdef BASE

/* Keeps the lock until the slots are ready. */
static int take(struct dma_ring *ring, uint32_t *slot, uint32_t n, uint32_t slots, unsigned which) {
    lock(which);
    if (free_slots(ring, n, slots) < n) {
        unlock(which);
        return 0;
    }
    *slot = ring->allocated;
    return 1;
}

/* The ring manager enqueues in the order of the calls. */
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

#ifdef HARDWARE_QUEUE

/* The registers post slots to the assist in order. */
static inline void ready(struct dma_ring *ring, uint32_t slot, uint32_t n, unsigned report) {
    keep_order();
    for (uint32_t end = slot + n; slot != end; slot++) {
        ring->flags[slot % DMA_ENTRIES] = SLOT_POSTED;
        REG(report) = slot;
    }
}

void reads_ready(uint32_t slot, uint32_t n) { ready(&reads, slot, n, READ_READY); }
void writes_ready(uint32_t slot, uint32_t n) { ready(&writes, slot, n, WRITE_READY); }

#else

static void ready(struct dma_ring *ring, uint32_t slot, uint32_t n) {
    keep_order();
    for (uint32_t end = slot + n; slot != end; slot++) ring->flags[slot % DMA_ENTRIES] = SLOT_READY;
}

void reads_ready(uint32_t slot, uint32_t n) { ready(&reads, slot, n); }
void writes_ready(uint32_t slot, uint32_t n) { ready(&writes, slot, n); }

/* Posts consecutive ready slots to the assist; one processor at a time. */
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

#endif

/* A later frame may be requested before an earlier one. The frames in between then get their slots too; a later request for
 * them finds the slots in `frame_slot`. A frame whose descriptors are not here gets no slots, nor do those after it: otherwise
 * the ring could fill up with slots that wait for descriptors that have no slot left. */
uint32_t take_frame_reads(uint32_t *slot, uint32_t first, uint32_t last) {
    lock(LOCK_READ_SLOTS);
    uint32_t next = sending.next, end = first;
    if ((int32_t)(first - next) >= 0) {
        uint32_t free = reads.allocated, room = free_slots(&reads, 2 * (last - next), READ_SLOTS) / 2;
        for (; next != first && room != 0 && frame_described[next % MAC_TRANSMIT_ENTRIES]; room--, free += 2)
            frame_slot[next++ % MAC_TRANSMIT_ENTRIES] = free;
        if (next == first) {
            end = last - first > room ? first + room : last;
            *slot = free;
            free += 2 * (end - first);
            next = end;
        }
        reads.allocated = free;
        sending.next = next;
    } else {
        *slot = frame_slot[first % MAC_TRANSMIT_ENTRIES];
        while (end != last && end != next && frame_slot[end % MAC_TRANSMIT_ENTRIES] == *slot + 2 * (end - first)) end++;
    }
    unlock(LOCK_READ_SLOTS);
    return end;
}

#endif

int take_reads(uint32_t *slot, uint32_t n) { return take(&reads, slot, n, READ_SLOTS, LOCK_READ_SLOTS); }
int take_writes(uint32_t *slot, uint32_t n) { return take(&writes, slot, n, WRITE_SLOTS, LOCK_WRITE_SLOTS); }
