/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy every packet into host memory.
 *
 * The NIC stores arriving packets one after the other in its L2 packet memory, a ring of 4 MiB. Host memory mirrors
 * that ring: a packet goes to its offset in L2. So no two packets in flight share an address, and cores need no common
 * counter for the next free place. After 4 MiB of packets the oldest are overwritten.
 *
 * Both copies of the packet are the same. The one in L1 shares its memory with the cores; with -DFROM_L2 the DMA engine
 * reads the one in L2, which is made for rows of 64 bytes.
 */
#include <handler.h>

#define L2_PACKET_MEMORY 0x1C400000u

__handler__ void copy_to_host_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t size = task->pkt_mem_size;
    uint32_t offset = (uint32_t)((uintptr_t)task->l2_pkt_mem - L2_PACKET_MEMORY);
    uint32_t room = task->host_mem_size;

    if (size > room || offset > room - size) {
        return; /* the context's host memory is smaller than the ring, and the packet does not fit */
    }
    uint64_t host = spin_host_address(task, offset);

#ifdef FROM_L2
    const void *packet = task->l2_pkt_mem;
#else
    const void *packet = task->pkt_mem;
#endif
    /* The DMA engine runs on while this core takes its next packet. */
    spin_cmd_t copied;
    spin_dma_to_host(host, (uintptr_t)packet, size, false, &copied);
}
