/* Slots of the DMA rings: allocation, filling, posting. */
#ifndef TENGIG_DMA_H
#define TENGIG_DMA_H

#include "lock.h"
#include "state.h"

/* Allocates `n` consecutive slots and stores the first in `slot`; returns 0 if there are not enough. The caller fills the slots
 * soon and then calls `ready`. The base version holds the ring's lock between the two calls; the optimized one lets all
 * processors fill at once. */
int take_reads(uint32_t *slot, uint32_t n);
int take_writes(uint32_t *slot, uint32_t n);

/* The slots are filled. The assist gets them once all earlier slots are filled. */
void reads_ready(uint32_t slot, uint32_t n);
void writes_ready(uint32_t slot, uint32_t n);

/* Allocates consecutive slots for the data of frames `first` up to but not including `last`, two per frame, and stores the
 * first in `slot`. Slots are in frame order, whichever frame is requested first. Returns the frame after the last one with
 * slots. Optimized version only. */
uint32_t take_frame_reads(uint32_t *slot, uint32_t first, uint32_t last);

/* Writes the descriptor of a slot with its purpose, and returns it. */
static inline struct dma_descriptor *fill(struct dma_descriptor *slots, uint32_t slot, uint32_t high, uint32_t low, uint32_t nic,
                                          uint32_t length, uint32_t kind, uint32_t argument) {
    struct dma_descriptor *descriptor = &slots[slot % DMA_ENTRIES];
    descriptor->host_high = high;
    descriptor->host_low = low;
    descriptor->nic = nic;
    descriptor->length = length;
#ifdef THESIS
    descriptor->state = 0;
#endif
    descriptor->kind = kind;
    descriptor->argument = argument;
    return descriptor;
}

static inline struct dma_descriptor *fill_read(uint32_t slot, uint32_t high, uint32_t low, uint32_t nic, uint32_t length,
                                               uint32_t kind, uint32_t argument) {
    return fill(read_slots, slot, high, low, nic, length, kind, argument);
}

static inline struct dma_descriptor *fill_write(uint32_t slot, uint32_t high, uint32_t low, uint32_t nic, uint32_t length,
                                                uint32_t kind, uint32_t argument) {
    return fill(write_slots, slot, high, low, nic, length, kind, argument);
}

/* Makes the assist store the sum of a slot's bytes. */
static inline void store_sum(struct dma_descriptor *descriptor, void *at) {
    descriptor->state = DMA_SUM;
    descriptor->sum_at = (uint32_t)at;
}

#endif
