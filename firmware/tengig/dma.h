/* Slots of the DMA rings: allocation, filling, posting. */
#ifndef TENGIG_DMA_H
#define TENGIG_DMA_H

#include "lock.h"
#include "state.h"

/* `n` slots in a row, the first in `slot`; 0 if fewer are free. The caller fills its slots soon, and then calls
 * `ready`. The base version holds the ring's lock between the two calls; the optimised one lets all processors fill at once. */
int take_reads(uint32_t *slot, uint32_t n);
int take_writes(uint32_t *slot, uint32_t n);

/* The slots are filled: the assist gets them when those before them are filled too. */
void reads_ready(uint32_t slot, uint32_t n);
void writes_ready(uint32_t slot, uint32_t n);

/* Slots in a row for the data of frames `first` to before `last`, two each, the first in `slot`. They stand in the ring in the
 * order of frames, not of requests. Returns the frame after the last one that has its slots. Optimised version only. */
uint32_t take_frame_reads(uint32_t *slot, uint32_t first, uint32_t last);

/* Writes the descriptor of a slot and what it is for. Returns it. */
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

/* Has the assist store the sum of the bytes of a slot. */
static inline void store_sum(struct dma_descriptor *descriptor, void *at) {
    descriptor->state = DMA_SUM;
    descriptor->sum_at = (uint32_t)at;
}

#endif
