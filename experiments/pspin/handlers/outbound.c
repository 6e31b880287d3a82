/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Move every packet out: back to where it came from (UDP ping-pong), or into host memory (TO_HOST). It is read from its
 * copy in L1, or from L2 packet memory (FROM_L2), where it still is as it came.
 */
#include <handler.h>

/* Offsets of an Ethernet frame with IPv4 without options and UDP: what the traffic of these experiments is. */
#define IP_SRC 26
#define IP_DST 30
#define UDP_SRC 34
#define UDP_DST 36

static inline uint32_t *word(uint8_t *packet, uint32_t at) { return (uint32_t *)(void *)(packet + at); }
static inline uint16_t *half(uint8_t *packet, uint32_t at) { return (uint16_t *)(void *)(packet + at); }

__handler__ void outbound_ph(handler_args_t *args)
{
    task_t *task = args->task;
#ifdef FROM_L2
    void *from = task->l2_pkt_mem;
#else
    void *from = task->pkt_mem;
#endif
    spin_cmd_t done;
#ifdef TO_HOST
    /* Host memory mirrors the ring of L2 packet memory, 4 MiB from 0x1C400000. */
    uint64_t host = ((uint64_t)task->host_mem_high << 32 | task->host_mem_low) + ((uint32_t)task->l2_pkt_mem & 0x3fffff);
    spin_dma_to_host(host, (uint32_t)(uintptr_t)from, task->pkt_mem_size, false, &done);
#else
    uint8_t *packet = task->pkt_mem;
    uint32_t src = *word(packet, IP_SRC), dst = *word(packet, IP_DST);
    *word(packet, IP_SRC) = dst;
    *word(packet, IP_DST) = src;
    uint16_t src_port = *half(packet, UDP_SRC), dst_port = *half(packet, UDP_DST);
    *half(packet, UDP_SRC) = dst_port;
    *half(packet, UDP_DST) = src_port;
    spin_send_packet(from, task->pkt_mem_size, &done);
#endif
}
