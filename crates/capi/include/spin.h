/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution contexts, and the host's way into the NIC's memories.
 *
 * Source compatible with PsPIN a49fec8. Functions return SPIN_SUCCESS, or SPIN_ERR after a line on stderr that says what
 * was wrong; what returns SPIN_ERR has changed nothing.
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

/* What the handlers of a message run with. A handler address of 0 means that there is no such handler. */
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
    mem_addr_t scratchpad_addr[NUM_CLUSTERS]; /* counted from where a cluster's scratchpads begin */
    mem_size_t scratchpad_size[NUM_CLUSTERS];
} spin_ec_t;

/*
 * Write `size` bytes to L2 handler memory or program memory. The data are copied now and written while the simulation
 * runs; then the callback of pspinsim_cb_set_pcie_mst_write_completion gets `user_ptr`.
 */
int spin_nicmem_write(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/*
 * Read `size` bytes from L2 handler memory or program memory into `data`, which must live until the callback of
 * pspinsim_cb_set_pcie_mst_read_completion gets `user_ptr`. It sees all writes that were asked for before it.
 */
int spin_nicmem_read(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/*
 * Address of a function in the ELF file `binfile`; the size is 4096 for every one. A name that is not there is no error
 * and leaves both as they were.
 */
int spin_find_handler_by_name(const char *binfile, const char *handler_name, spin_nic_addr_t *handler_addr,
                              size_t *handler_size);

#ifdef __cplusplus
}
#endif

#endif
