/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct access to the data of a UDP packet, for handlers whose context already matched the packet.
 *
 * `spin_parse` (spin_net.h) checks every header against the end of the enclosing one, for about 85 cycles. If the context
 * matches `ipv4.header_words == 5 && udp`, the data is at a fixed offset, and access takes about 15 cycles. For any other
 * packet the result is not its data, but never beyond the packet.
 *
 * 32-bit numbers should be at a multiple of 4; otherwise each costs an additional access. Ethernet's 14 bytes break this,
 * so these messages begin with 2 unused bytes (docs/reference/traffic.md, payloads).
 *
 * Compile with -DSPIN_PSPIN_PACKETS for the packets of PsPIN's own drivers (packets.h), which begin with IP, in the
 * byte order of the cores, and need no such bytes.
 */
#ifndef SPIN_DATA_H
#define SPIN_DATA_H

#include <handler.h>
#include <packets.h>
#include <spin_net.h>

#ifdef SPIN_PSPIN_PACKETS
#define SPIN_IP_OFFSET 0u
#define SPIN_DATA_OFFSET 28u
#else
#define SPIN_IP_OFFSET 14u
#define SPIN_DATA_OFFSET 44u
#endif

/* IP and UDP, for packets of at least SPIN_DATA_OFFSET bytes. PsPIN's packets have numbers in the cores' order. */
static inline spin_ipv4_t *spin_data_ip(const task_t *task)
{
    return (spin_ipv4_t *)((uint8_t *)task->pkt_mem + SPIN_IP_OFFSET);
}

static inline spin_udp_t *spin_data_udp(const task_t *task) { return (spin_udp_t *)(spin_data_ip(task) + 1); }

/* The data, without the padding of a short Ethernet frame; size 0 if the packet is too short. */
static inline spin_pkt_t spin_data(const task_t *task)
{
    uint8_t *packet = (uint8_t *)task->pkt_mem;
    uint32_t size = task->pkt_mem_size;
    if (size < SPIN_DATA_OFFSET) {
        return spin_pkt(packet, 0);
    }
    uint32_t length = spin_data_ip(task)->total_length;
#ifndef SPIN_PSPIN_PACKETS
    length = spin_ntohs((spin_be16_t)length);
#endif
    uint32_t end = MIN(SPIN_IP_OFFSET + length, size);
    return spin_pkt(packet + SPIN_DATA_OFFSET, end > SPIN_DATA_OFFSET ? end - SPIN_DATA_OFFSET : 0);
}

/* Swap addresses and ports to return the packet; changes no checksum. About 30 cycles. */
static inline void spin_data_turn_round(const task_t *task)
{
#ifndef SPIN_PSPIN_PACKETS
    spin_eth_swap((spin_eth_t *)task->pkt_mem);
#endif
    spin_ipv4_swap(spin_data_ip(task));
    spin_udp_swap(spin_data_udp(task));
}

/*
 * Copy the packet as it is in L1 to host memory, at its offset in the ring of L2 packet memory (see copy_to_host.c),
 * if the context's host memory extends so far. This is a command, which completes asynchronously.
 */
static inline void spin_data_to_host(const task_t *task)
{
    const uintptr_t l2_packet_memory = 0x1C400000u;
    uint32_t size = task->pkt_mem_size, offset = (uint32_t)((uintptr_t)task->l2_pkt_mem - l2_packet_memory);
    if (size > task->host_mem_size || offset > task->host_mem_size - size) {
        return;
    }
    uint64_t host = spin_host_address(task, offset);
    spin_cmd_t copied;
    spin_dma_to_host(host, (uintptr_t)task->pkt_mem, size, false, &copied);
}

#endif
