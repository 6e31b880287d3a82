/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each helper that touches a device; test_sdk.py reads their accesses from the assembly. */
#include <handler.h>

void task_fields(task_t *task, uint32_t *out) { out[0] = task->host_mem_high; out[1] = task->flow_id; }

spin_cmd_t send_packet(void *data, uint32_t length)
{
    spin_cmd_t handle;
    spin_send_packet(data, length, &handle);
    return handle;
}

spin_cmd_t rdma_put(uint32_t dest, void *data, uint32_t length)
{
    spin_cmd_t handle;
    spin_rdma_put(dest, data, length, &handle);
    return handle;
}

spin_cmd_t dma_to_host(uint64_t host, uint32_t nic, uint32_t length)
{
    spin_cmd_t handle;
    spin_dma_to_host(host, nic, length, false, &handle);
    return handle;
}

spin_cmd_t dma_from_host(uint64_t host, uint32_t nic, uint32_t length)
{
    spin_cmd_t handle;
    spin_dma_from_host(host, nic, length, true, &handle);
    return handle;
}

spin_cmd_t host_write(uint64_t host, uint64_t data)
{
    spin_cmd_t handle;
    spin_host_write(host, data, &handle);
    return handle;
}

void cmd_wait(spin_cmd_t handle) { spin_cmd_wait(handle); }

bool cmd_test(spin_cmd_t handle)
{
    bool done;
    spin_cmd_test(handle, &done);
    return done;
}

spin_dma_t cluster_dma(void *src, void *dst)
{
    spin_dma_t transfer;
    spin_dma(src, dst, 64, SPIN_DMA_EXT2LOC, 0, &transfer);
    return transfer;
}

void lock_and_unlock(spin_lock_t *lock)
{
    if (spin_lock_try_lock(lock)) {
        spin_lock_unlock(lock);
    }
}

void ticket_lock(spin_ticket_lock_t *lock) { spin_ticket_lock_lock(lock); }

void ticket_unlock(spin_ticket_lock_t *lock) { spin_ticket_lock_unlock(lock); }

/* The packet must be changed before the NIC gets the command to read it, although only the order requires it. */
void change_and_send(uint32_t *data)
{
    spin_cmd_t handle;
    data[0] = 7;
    spin_send_packet(data, 64, &handle);
    data[0] = 8;
    spin_cmd_wait(handle);
}
