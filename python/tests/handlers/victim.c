/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant with data in all memories: it counts in its scratchpads, in its handler memory and in its static
 * data, copies each packet to its place in host memory, and sends it back. The result does not depend on time.
 *
 * UDP payload: number of the packet, then bytes. Handler memory begins with a secret, which is never sent.
 */
#include <handler.h>
#include <spin_net.h>

#define SECRET_BYTES 64
#define SLOT_BYTES 256

static int32_t seen; /* .bss, which all its handlers share */

__handler__ void victim_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    const uint8_t *payload = (const uint8_t *)pkt.data + 42;
    uint32_t number = payload[0] | payload[1] << 8;

    amo_add((volatile int32_t *)task->scratchpad[args->cluster_id], 1);
    amo_add((volatile int32_t *)((uint8_t *)task->handler_mem + SECRET_BYTES), (int32_t)number);
    amo_add(&seen, 1);

    uint64_t host = ((uint64_t)task->host_mem_high << 32 | task->host_mem_low) + number * SLOT_BYTES;
    spin_cmd_t copied, sent;
    spin_dma_to_host(host, (uint32_t)pkt.data, pkt.size, 0, &copied);
    spin_send_packet(pkt.data, pkt.size, &sent);
}

/* To the test's own port: the totals. */
__handler__ void report_ph(handler_args_t *args)
{
    task_t *task = args->task;
    int32_t scratchpads = 0;
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        scratchpads += *(volatile int32_t *)task->scratchpad[cluster];
    }
    volatile int32_t *out = (volatile int32_t *)((uint8_t *)task->pkt_mem + 42);
    out[0] = scratchpads;
    out[1] = *(volatile int32_t *)((uint8_t *)task->handler_mem + SECRET_BYTES);
    out[2] = *(volatile int32_t *)&seen;
    spin_cmd_t sent;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}
