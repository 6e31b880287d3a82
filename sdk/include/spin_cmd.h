/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: packets to the network, data to and from host memory, copies within the NIC. Included by handler.h.
 *
 * The functions make the same accesses in the same order as PsPIN's own, so that a handler has the same cost.
 */
#ifndef SPIN_CMD_H
#define SPIN_CMD_H

#include <spin_issue.h>

/*
 * Start a copy of `size` bytes between this cluster's L1 and L2. 3 stores, 1 load that waits while the engine is full.
 * `dir` and `opt` are ignored. SPIN_FAIL, with `*xfer` untouched, if size is 0.
 */
static inline int spin_dma(void *src, void *dst, size_t size, int dir, int opt, spin_dma_t *xfer)
{
    (void)dir;
    (void)opt;
    if (size == 0) {
        return SPIN_FAIL;
    }
    *xfer = spin__memcpy_nonblk(src, dst, size);
    return SPIN_OK;
}

/* Wait for a copy: about 6 cycles a turn. */
static inline int spin_dma_wait(spin_dma_t xfer)
{
    spin__wait_for_tf_completion(xfer);
    return SPIN_OK;
}

/* 1 load. */
static inline int spin_dma_test(spin_dma_t xfer, uint32_t *done)
{
    *done = spin__tf_completed(xfer);
    return SPIN_OK;
}

/* Send `length` bytes as the payload of an RDMA put to node `dest`. */
static inline int spin_rdma_put(uint32_t dest, void *data, uint32_t length, spin_cmd_t *handle)
{
    *handle = spin_cmd_issue_nic(dest, 1, data, length);
    return SPIN_OK;
}

/*
 * Send `length` bytes, headers included, from this NIC's L1 or L2. A packet of 0 bytes or of more than outbound.max_packet_bytes
 * (2,048 on pspin) is not sent: the handler gets no error, the command ends, and the summary counts it as refused.
 */
static inline int spin_send_packet(void *data, uint32_t length, spin_cmd_t *handle)
{
    *handle = spin_cmd_issue_nic(0, 0, data, length);
    return SPIN_OK;
}

/* Copy from the NIC's L1 or L2 to host memory. */
static inline int spin_dma_to_host(uint64_t host_addr, uintptr_t nic_addr, uint32_t length, bool generate_event,
                                   spin_cmd_t *xfer)
{
    *xfer = spin_cmd_issue_host(host_addr, nic_addr, length, 1, HWSCHED_INFO_HOST_DMA | generate_event);
    return SPIN_OK;
}

/* Copy from host memory to the NIC's L1 or L2. */
static inline int spin_dma_from_host(uint64_t host_addr, uintptr_t nic_addr, uint32_t length, bool generate_event,
                                     spin_cmd_t *xfer)
{
    *xfer = spin_cmd_issue_host(host_addr, nic_addr, length, 0, HWSCHED_INFO_HOST_DMA | generate_event);
    return SPIN_OK;
}

/* Write 8 bytes to host memory; they travel in the command itself. `xfer` must not be NULL: the store through it traps. */
static inline int spin_write_to_host(uint64_t host_addr, uint64_t data, spin_cmd_t *xfer)
{
    const uint32_t immediate_of_8_bytes = (8 << 1) | 1;
    *xfer = spin_cmd_issue_host(host_addr, immediate_of_8_bytes, (uint32_t)data, (uint32_t)(data >> 32),
                                HWSCHED_INFO_HOST_DIRECT);
    return SPIN_OK;
}

/* Another name of spin_write_to_host. */
static inline int spin_host_write(uint64_t host_addr, uint64_t data, spin_cmd_t *xfer)
{
    return spin_write_to_host(host_addr, data, xfer);
}

#endif
