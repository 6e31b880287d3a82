/* SPDX-License-Identifier: Apache-2.0 */
/* Packets to other nodes. All functions work on a packet in L1, with Ethernet, IPv4 of 20 bytes, and UDP. */
#ifndef STORAGE_SEND_H
#define STORAGE_SEND_H

#include "node.h"
#include <spin_net.h>

#define STORAGE_HEADERS 42 /* Ethernet, IPv4, UDP */

static inline spin_ipv4_t *storage_ip(uint8_t *packet) { return (spin_ipv4_t *)(packet + sizeof(spin_eth_t)); }

/* Write a node's MAC address, which follows from its IPv4 address. */
static inline void storage_put_mac(uint8_t *at, spin_be32_t ip)
{
    at[0] = 0x02;
    at[1] = 0x00;
    __builtin_memcpy(at + 2, &ip, 4);
}

/* Address the packet to another node. Its sender is `from`, the node that received it. About 50 cycles. */
static inline void storage_address(uint8_t *packet, spin_be32_t from, spin_be32_t to)
{
    spin_ipv4_t *ip = storage_ip(packet);
    storage_put_mac(packet, to);
    storage_put_mac(packet + 6, from);
    ip->checksum = spin_checksum_update32(spin_checksum_update32(ip->checksum, ip->src, from), ip->dst, to);
    ip->src = from;
    ip->dst = to;
}

/* Change the packet's length. About 10 cycles. */
static inline void storage_resize(uint8_t *packet, uint32_t bytes)
{
    spin_ipv4_t *ip = storage_ip(packet);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    spin_be16_t length = spin_htons((uint16_t)(bytes - sizeof(spin_eth_t)));
    ip->checksum = spin_checksum_update16(ip->checksum, ip->total_length, length);
    ip->total_length = length;
    udp->length = spin_htons((uint16_t)(bytes - sizeof(spin_eth_t) - sizeof(spin_ipv4_t)));
    udp->checksum = 0; /* IPv4 allows UDP without one */
}

/* Turn a packet of a message into one for its client. The caller sends it. */
static inline void storage_turn(uint8_t *packet, spin_be32_t own, uint8_t kind, uint32_t bytes)
{
    storage_packet_t *header = (storage_packet_t *)(packet + STORAGE_PACKET_AT);
    spin_udp_t *udp = (spin_udp_t *)(packet + STORAGE_HEADERS - sizeof(spin_udp_t));
    storage_address(packet, own, header->client);
    udp->src_port = spin_htons(STORAGE_PORT);
    udp->dst_port = spin_htons(STORAGE_CLIENT_PORT);
    storage_resize(packet, bytes);
    header->kind = kind;
}

/* Answer the client with a status. The packet becomes the reply; waits until it has left L1. About 110 cycles. */
static inline void storage_reply(uint8_t *packet, spin_be32_t own, uint32_t status, uint32_t bytes)
{
    storage_packet_t *header = (storage_packet_t *)(packet + STORAGE_PACKET_AT);
    spin_cmd_t sent;
    storage_turn(packet, own, STORAGE_REPLY, STORAGE_REPLY_BYTES);
    header->place = (uint8_t)status;
    header->bytes = 0;
    header->offset = bytes;
    spin_send_packet(packet, STORAGE_REPLY_BYTES, &sent);
    spin_cmd_wait(sent);
}

/* Turn a packet of this message into one for its next node `i`. About 60 cycles. */
static inline void storage_direct(const storage_message_t *message, uint8_t *packet, uint32_t i)
{
    storage_packet_t *header = (storage_packet_t *)(packet + STORAGE_PACKET_AT);
    storage_address(packet, message->own, message->next[i]);
    if (message->next_policy != message->policy) {
        header->stream = message->rank;
    }
    if (header->place & STORAGE_FIRST) {
        storage_request_t *request = (storage_request_t *)(packet + STORAGE_REQUEST_AT);
        request->policy = message->next_policy;
        if (message->next_policy == message->policy) {
            request->rank = message->next_rank[i];
        }
    }
}

/* Forward the packet to the message's next nodes, one after the other, because the headers change. */
static inline void storage_forward(const storage_message_t *message, uint8_t *packet, uint32_t bytes)
{
    for (uint32_t i = 0; i < message->n_next; i++) {
        spin_cmd_t sent;
        storage_direct(message, packet, i);
        spin_send_packet(packet, bytes, &sent);
        spin_cmd_wait(sent);
    }
}

#endif
