/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending of MPI datatypes: handlers gather the pieces of a message from host memory and make its packets.
 *
 * The host does not pack. For each packet it gives the card an order, a small UDP packet. The orders of a message form
 * a message themselves: the header handler makes the first packet, payload handlers make those between in any order, and
 * the completion handler makes the last one. So the receiver gets the first packet first and the last one last.
 *
 * Include this file before spin_ddt_blocks.h and spin_ddt_segment.h; their functions then read host memory.
 *
 * Scratchpad: as for receivers, and a packet and a window for each core. Host memory: one slot for each buffer that is sent from.
 */
#ifndef SPIN_DDT_SEND_H
#define SPIN_DDT_SEND_H

#define SPIN_DDT_SEND

#include "spin_ddt.h"

/* Places of packets and orders in their message: the byte before the header's, at 42 in the frame. */
#define SPIN_DDT_FIRST 1u
#define SPIN_DDT_LAST 2u
#define SPIN_DDT_PLACE_AT 42u

/* The data of an order. The packet gets the order's source port and place. */
typedef struct {
    spin_ddt_header_t from; /* position of the packet's part; the slot is that of the sender */
    spin_be32_t to;         /* IPv4 address of the receiver, whose MAC address is 02:00 and these bytes */
    uint32_t to_slot;       /* slot of the receiver */
} spin_ddt_order_t;

#define SPIN_DDT_PORT 9999 /* destination port of packets */

static inline uint32_t spin_ddt_place(const task_t *task)
{
    return ((const uint8_t *)task->pkt_mem)[SPIN_DDT_PLACE_AT];
}

/* The packet that this core makes, in L1. */
static inline uint8_t *spin_ddt_frame(const handler_args_t *args, const spin_ddt_t *type)
{
    return (uint8_t *)args->task->scratchpad[args->cluster_id] + type->frames + args->hpu_id * type->frame_bytes;
}

/* Find the part of the message that an order names. False if it names none. About 70 cycles. */
static inline bool spin_ddt_ordered(const handler_args_t *args, const spin_ddt_t *type, spin_ddt_part_t *part)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    if (type == NULL || data.size < sizeof(spin_ddt_order_t)) {
        return false;
    }
    const spin_ddt_order_t *order = (const spin_ddt_order_t *)data.data;
    part->at = order->from.at;
    part->slot = order->from.slot;
    if (part->slot >= type->slots || part->at >= type->size) {
        return false;
    }
    part->left = MIN(type->payload, type->size - part->at);
    part->nic = (uintptr_t)spin_ddt_frame(args, type) + SPIN_DATA_OFFSET + sizeof(spin_ddt_header_t);
    part->host = spin_host_address(task, 0) + (uint64_t)part->slot * type->slot_bytes;
    part->host_bytes = task->host_mem_size - part->slot * type->slot_bytes;
    part->window =
        (uint8_t *)task->scratchpad[args->cluster_id] + type->windows + args->hpu_id * type->window_bytes;
    part->window_room = type->window_bytes;
    part->window_at = part->window_bytes = 0;
    spin_ddt_count(args, type, part);
    return true;
}

static inline void spin_ddt_put_mac(uint8_t *at, spin_be32_t ip)
{
    at[0] = 0x02;
    at[1] = 0x00;
    __builtin_memcpy(at + 2, &ip, 4);
}

/*
 * Write the headers of the packet, while its data come from host memory, wait for these, send the packet, and wait until
 * it has left L1. `part` is as `spin_ddt_ordered` gave it. About 110 cycles, and the waits.
 */
static inline void spin_ddt_send(const handler_args_t *args, const spin_ddt_t *type, const spin_ddt_part_t *part)
{
    const task_t *task = args->task;
    const spin_ddt_order_t *order = (const spin_ddt_order_t *)spin_data(task).data;
    uint8_t *frame = spin_ddt_frame(args, type);
    spin_eth_t *eth = (spin_eth_t *)frame;
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + SPIN_IP_OFFSET);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    const spin_be32_t own = spin_data_ip(task)->dst;
    const uint32_t bytes = MIN(type->payload, type->size - part->at);
    const uint32_t size = SPIN_DATA_OFFSET + sizeof(spin_ddt_header_t) + bytes;
    spin_ddt_put_mac(eth->dst, order->to);
    spin_ddt_put_mac(eth->src, own);
    eth->type = spin_htons(SPIN_ETH_IPV4);
    *ip = (spin_ipv4_t){
        .version_ihl = 0x45,
        .total_length = spin_htons((uint16_t)(size - SPIN_IP_OFFSET)),
        .ttl = 64,
        .protocol = SPIN_PROTO_UDP,
        .src = own,
        .dst = order->to,
    };
    ip->checksum = spin_fold(spin_sum(0, ip, sizeof *ip));
    *udp = (spin_udp_t){
        .src_port = spin_data_udp(task)->src_port,
        .dst_port = spin_htons(SPIN_DDT_PORT),
        .length = spin_htons((uint16_t)(size - SPIN_IP_OFFSET - sizeof *ip)),
    };
    frame[SPIN_DDT_PLACE_AT] = (uint8_t)spin_ddt_place(task);
    frame[SPIN_DDT_PLACE_AT + 1] = 0;
    *(spin_ddt_header_t *)(frame + SPIN_DATA_OFFSET) = (spin_ddt_header_t){part->at, order->to_slot};
    spin_ddt_wait();
    spin_cmd_t sent;
    spin_send_packet(frame, size, &sent);
    spin_cmd_wait(sent);
}

#endif
