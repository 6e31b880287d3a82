/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution contexts, and host access to the NIC's memories.
 *
 * Source compatible with PsPIN a49fec8. Functions return SPIN_SUCCESS, or SPIN_ERR after an error message on stderr. A
 * function that returns SPIN_ERR has changed nothing.
 */
#ifndef SPINET_SPIN_H
#define SPINET_SPIN_H

#include <stdint.h>
#include <stdlib.h>

#include "spin_hw_conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SPIN_SUCCESS 0
#define SPIN_ERR 1

typedef uint32_t mem_addr_t;
typedef uint32_t mem_size_t;
typedef uint64_t host_addr_t;
typedef uint32_t spin_nic_addr_t;

/* Handlers and memories of a message. A handler address of 0 means no handler. */
typedef struct __attribute__((__packed__)) spin_ec {
    mem_addr_t handler_mem_addr; /* in L2 handler memory */
    mem_size_t handler_mem_size;
    host_addr_t host_mem_addr;
    mem_size_t host_mem_size;
    mem_addr_t hh_addr; /* header handler */
    mem_size_t hh_size;
    mem_addr_t ph_addr; /* payload handler */
    mem_size_t ph_size;
    mem_addr_t th_addr; /* completion handler */
    mem_size_t th_size;
    mem_addr_t scratchpad_addr[NUM_CLUSTERS]; /* relative to the start of a cluster's scratchpads */
    mem_size_t scratchpad_size[NUM_CLUSTERS];
} spin_ec_t;

/*
 * Write `size` bytes to L2 handler memory or program memory. The data is copied now and written while the simulation
 * runs. On completion, the callback of pspinsim_cb_set_pcie_mst_write_completion gets `user_ptr`.
 */
int spin_nicmem_write(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/*
 * Read `size` bytes from L2 handler memory or program memory into `data`, which must live until the callback of
 * pspinsim_cb_set_pcie_mst_read_completion gets `user_ptr`. The read sees all writes requested before it.
 */
int spin_nicmem_read(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/*
 * Find the address of a function in the ELF file `binfile`. The size is always 4096. If the name does not exist, the function
 * succeeds and leaves both results unchanged.
 */
int spin_find_handler_by_name(const char *binfile, const char *handler_name, spin_nic_addr_t *handler_addr,
                              size_t *handler_size);

#ifdef __cplusplus
}
#endif

#endif
