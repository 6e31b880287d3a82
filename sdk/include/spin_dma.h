/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by the cluster DMA engine: through this core's own port, or through the public port of any cluster. */
#ifndef SPIN_SPIN_DMA_H
#define SPIN_SPIN_DMA_H

#include <libaxidma.h>

typedef uint32_t spin_dma_t;

/* PsPIN's names for the addresses of the ports. PUPLIC is PsPIN's spelling. */
#define CLUSTER_BASE 0x10000000
#define DMA_OFFSET 0x1800
#define PRIVATE_DMA_BASE 0x1B204400
#define PUPLIC_DMA_BASE (CLUSTER_BASE + 0x200000 + DMA_OFFSET)

/* Each core's own port, on its fast path: 1 cycle an access. */
#define SPIN_DMA_PRIVATE_PORT ((axidma__port_t)PRIVATE_DMA_BASE)

/* A cluster's public port, over the peripheral interconnect: about 20 cycles an access. */
#define SPIN_DMA_PUBLIC_PORT(cluster) ((axidma__port_t)(PUPLIC_DMA_BASE + (cluster) * 0x400000u))

static inline spin_dma_t spin__memcpy_nonblk(const void *src, void *dst, size_t n)
{
    return axidma__memcpy_nonblk(SPIN_DMA_PRIVATE_PORT, src, dst, n);
}

static inline void spin__wait_for_tf_completion(spin_dma_t transfer)
{
    axidma__wait_for_tf_completion(SPIN_DMA_PRIVATE_PORT, transfer);
}

static inline bool spin__tf_completed(spin_dma_t transfer)
{
    return axidma__tf_completed(SPIN_DMA_PRIVATE_PORT, transfer);
}

static inline void spin__memcpy(const void *src, void *dst, size_t n) { axidma__memcpy(SPIN_DMA_PRIVATE_PORT, src, dst, n); }

static inline spin_dma_t spin__public_memcpy_nonblk(const void *src, void *dst, size_t n, uint32_t cluster)
{
    return axidma__memcpy_nonblk(SPIN_DMA_PUBLIC_PORT(cluster), src, dst, n);
}

static inline void spin__public_wait_for_tf_completion(spin_dma_t transfer, uint32_t cluster)
{
    axidma__wait_for_tf_completion(SPIN_DMA_PUBLIC_PORT(cluster), transfer);
}

static inline bool spin__public_tf_completed(spin_dma_t transfer, uint32_t cluster)
{
    return axidma__tf_completed(SPIN_DMA_PUBLIC_PORT(cluster), transfer);
}

static inline void spin__public_memcpy(const void *src, void *dst, size_t n, uint32_t cluster)
{
    axidma__memcpy(SPIN_DMA_PUBLIC_PORT(cluster), src, dst, n);
}

#endif
