/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: packets to the network, data to and from host memory, copies within the NIC. Included by handler.h.
 *
 * The functions make exactly the accesses, in exactly the order, that PsPIN's own make, so that a handler costs
 * the same here and there.
 */
#ifndef SPIN_CMD_H
#define SPIN_CMD_H

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

/* Wait until the command has finished. 1 store, granted when it has. */
static inline int spin_cmd_wait(spin_cmd_t handle)
{
    MMIO_WRITE(HWSCHED_CMD_WAIT, handle);
    SPIN_COMPILER_BARRIER();
    return SPIN_OK;
}

/* Ask whether the command has finished. 1 store, 1 load. */
static inline int spin_cmd_test(spin_cmd_t handle, bool *completed)
{
    MMIO_WRITE(HWSCHED_CMD_TEST, handle);
    *completed = MMIO_READ(HWSCHED_CMD_TEST) != 0;
    SPIN_COMPILER_BARRIER();
    return SPIN_OK;
}

/*
 * Hand a command over: 6 stores, then 1 load that waits for one of four handles. Nothing comes between them, and what
 * the program stored before is in memory before the NIC reads it.
 */
static inline spin_cmd_t spin_cmd_issue_nic(uint32_t dest, uint32_t fid, const void *data, uint32_t length)
{
    spin_cmd_t handle;
    __asm__ volatile("sw %z[dest], 0x90(%[driver])\n\t"
                     "sw %z[fid], 0x94(%[driver])\n\t"
                     "sw %z[data], 0x98(%[driver])\n\t"
                     "sw x0, 0x9C(%[driver])\n\t"
                     "sw %z[length], 0xA0(%[driver])\n\t"
                     "sw %z[info], 0x8C(%[driver])\n\t"
                     "lw %[handle], 0x80(%[driver])"
                     : [handle] "=r"(handle)
                     : [driver] "r"(HWSCHED_BASE_ADDR), [dest] "rJ"(dest), [fid] "rJ"(fid), [data] "rJ"(data),
                       [length] "rJ"(length), [info] "rJ"(HWSCHED_INFO_NIC)
                     : "memory");
    return handle;
}

/* The same for a host command, whose two address words come in the other order. */
static inline spin_cmd_t spin_cmd_issue_host(uint64_t host, uintptr_t word2, uint32_t word3, uint32_t word4, uint32_t info)
{
    spin_cmd_t handle;
    __asm__ volatile("sw %z[high], 0x94(%[driver])\n\t"
                     "sw %z[low], 0x90(%[driver])\n\t"
                     "sw %z[word2], 0x98(%[driver])\n\t"
                     "sw %z[word3], 0x9C(%[driver])\n\t"
                     "sw %z[word4], 0xA0(%[driver])\n\t"
                     "sw %z[info], 0x8C(%[driver])\n\t"
                     "lw %[handle], 0x80(%[driver])"
                     : [handle] "=r"(handle)
                     : [driver] "r"(HWSCHED_BASE_ADDR), [low] "rJ"((uint32_t)host), [high] "rJ"((uint32_t)(host >> 32)),
                       [word2] "rJ"(word2), [word3] "rJ"(word3), [word4] "rJ"(word4), [info] "rJ"(info)
                     : "memory");
    return handle;
}

/* Send `length` bytes as the payload of an RDMA put to node `dest`. */
static inline int spin_rdma_put(uint32_t dest, void *data, uint32_t length, spin_cmd_t *handle)
{
    *handle = spin_cmd_issue_nic(dest, 1, data, length);
    return SPIN_OK;
}

/* Send `length` bytes, headers included, from this NIC's L1 or L2. */
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
