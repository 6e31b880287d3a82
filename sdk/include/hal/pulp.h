/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the PULP SDK's hardware layer that handlers for PsPIN use: which core they run on, and where its devices
/  are. */
#ifndef SPIN_HAL_PULP_H
#define SPIN_HAL_PULP_H

#include <stdint.h>
#include <util.h>

#define ARCHI_CLUSTER_SIZE 0x400000 /* distance from one cluster's L1 to the next one's */
#define ARCHI_CLUSTER_PERIPHERALS_OFFSET 0x200000
#define ARCHI_DEMUX_PERIPHERALS_ADDR 0x1B204000 /* this core's own links: event unit, then cluster DMA */
#define ARCHI_EU_DEMUX_ADDR ARCHI_DEMUX_PERIPHERALS_ADDR
#define ARCHI_MCHAN_DEMUX_OFFSET 0x400

#define PLP_DMA_LOC2EXT 0
#define PLP_DMA_EXT2LOC 1

/* Number of the core: cluster in bits 10..5, core within it in bits 4..0. User mode may read it. 1 cycle. */
static inline uint32_t spin_hart_id(void)
{
    uint32_t hart;
    read_csr(0x014, hart)
    return hart;
}

static inline uint32_t hal_core_id(void) { return spin_hart_id() & 0x1F; }
static inline uint32_t hal_cluster_id(void) { return spin_hart_id() >> 5 & 0x3F; }

#endif
