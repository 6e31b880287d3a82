/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster DMA engine, register by register.
 *
 * It copies between this cluster's L1 (at its global address, 0x1000_0000 + cluster * 0x40_0000) and L2, in either
 * direction; anything else is an error. Source: PsPIN RTL a49fec8, dmac_wrap.sv.
 */
#ifndef SPIN_LIBAXIDMA_H
#define SPIN_LIBAXIDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t src_addr_low;  /* 0x00 */
    uint32_t src_addr_high; /* 0x04 */
    uint32_t dst_addr_low;  /* 0x08 */
    uint32_t dst_addr_high; /* 0x0C */
    uint32_t num_bytes;     /* 0x10 */
    /* 0x18: a read launches the transfer and returns its number; waits while the engine is full */
    volatile uint32_t tf_id __attribute__((__aligned__(8)));
    volatile uint32_t done_id __attribute__((__aligned__(8))); /* 0x20: highest number that has finished */
    volatile uint32_t config __attribute__((__aligned__(8)));  /* 0x28 */
} axidma__dma_conf_t;

typedef volatile axidma__dma_conf_t *axidma__port_t;

/* Upper halves of the addresses that follow; they keep their values, and are 0 after reset. */
static inline void axidma__set_seg_addr(axidma__port_t dma, void *src_high, void *dst_high)
{
    dma->src_addr_high = (uint32_t)(uintptr_t)src_high;
    dma->dst_addr_high = (uint32_t)(uintptr_t)dst_high;
}

static inline void axidma__clear_seg_addr(axidma__port_t dma) { axidma__set_seg_addr(dma, 0, 0); }

/* Start a copy and return its number. 3 stores and 1 load that waits while the engine is full. */
static inline uint32_t axidma__launch_oned(axidma__port_t dma, const void *src, void *dst, size_t size)
{
    __asm__ volatile("" ::: "memory");
    dma->src_addr_low = (uint32_t)(uintptr_t)src;
    dma->dst_addr_low = (uint32_t)(uintptr_t)dst;
    dma->num_bytes = size;
    return dma->tf_id;
}

/* The same with addresses of 64 bits, each in two halves. */
static inline uint32_t axidma__launch_oned_64(axidma__port_t dma, void *src_low, void *src_high, void *dst_low, void *dst_high,
                                              uint32_t size)
{
    axidma__set_seg_addr(dma, src_high, dst_high);
    return axidma__launch_oned(dma, src_low, dst_low, size);
}

static inline uint32_t axidma__read_completed_id(axidma__port_t dma) { return dma->done_id; }

static inline bool axidma__tf_completed(axidma__port_t dma, uint32_t transfer)
{
    bool done = transfer <= axidma__read_completed_id(dma);
    __asm__ volatile("" ::: "memory");
    return done;
}

/* Reads the number of the last finished transfer until it reaches `transfer`. */
static inline void axidma__wait_for_tf_completion(axidma__port_t dma, uint32_t transfer)
{
    while (!axidma__tf_completed(dma, transfer)) {
        __asm__ volatile("nop");
    }
}

static inline uint32_t axidma__memcpy_nonblk(axidma__port_t dma, const void *src, void *dst, size_t size)
{
    return axidma__launch_oned(dma, src, dst, size);
}

static inline void axidma__memcpy(axidma__port_t dma, const void *src, void *dst, size_t size)
{
    axidma__wait_for_tf_completion(dma, axidma__launch_oned(dma, src, dst, size));
}

#endif
