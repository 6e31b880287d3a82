/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of services with messages between nodes: Ethernet, IPv4 without options, UDP, two unused bytes, then the message at byte 44
 * (spin_data.h gives the reason). All functions work on a frame in L1.
 */
#ifndef SERVICES_FRAMES_H
#define SERVICES_FRAMES_H

#include <handler.h>
#include <spin_data.h>

#define FRAME_MESSAGE_AT 44 /* = SPIN_DATA_OFFSET */

static inline spin_ipv4_t *frame_ip(uint8_t *frame) { return (spin_ipv4_t *)(frame + SPIN_IP_OFFSET); }

static inline void frame_put_mac(uint8_t *at, spin_be32_t ip)
{
    at[0] = 0x02; /* the MAC address of a node follows from its IPv4 address */
    at[1] = 0x00;
    __builtin_memcpy(at + 2, &ip, 4);
}

/* Sets sender, receiver and port, and updates the IPv4 checksum. About 45 cycles. */
static inline void frame_address(uint8_t *frame, spin_be32_t from, spin_be32_t to, uint16_t port)
{
    spin_ipv4_t *ip = frame_ip(frame);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    frame_put_mac(frame, to);
    frame_put_mac(frame + 6, from);
    ip->checksum = spin_checksum_update32(spin_checksum_update32(ip->checksum, ip->src, from), ip->dst, to);
    ip->src = from;
    ip->dst = to;
    udp->dst_port = spin_htons(port);
    udp->checksum = 0; /* IPv4 allows UDP without one */
}

/* Sets the frame's length. About 10 cycles. */
static inline void frame_resize(uint8_t *frame, uint32_t bytes)
{
    spin_ipv4_t *ip = frame_ip(frame);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    const spin_be16_t length = spin_htons((uint16_t)(bytes - SPIN_IP_OFFSET));
    ip->checksum = spin_checksum_update16(ip->checksum, ip->total_length, length);
    ip->total_length = length;
    udp->length = spin_htons((uint16_t)(bytes - SPIN_IP_OFFSET - sizeof(spin_ipv4_t)));
}

/* Sends the frame and waits until it has left L1. */
static inline void frame_send(const uint8_t *frame, uint32_t bytes)
{
    spin_cmd_t sent;
    spin_send_packet((void *)frame, bytes, &sent);
    spin_cmd_wait(sent);
}

/* Address of a byte of the context's host memory. */
static inline uint64_t frame_host(const task_t *task, uint32_t at)
{
    return spin_host_address(task, at);
}

#endif
