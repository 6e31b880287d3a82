/* SPDX-License-Identifier: Apache-2.0 */
/* SLMP, sPIN's lightweight message protocol: messages in UDP packets to port 9330. */
#ifndef SLMP_H
#define SLMP_H

#include "fpspin.h"

#define SLMP_END 0x8000 /* the last packet of a message */
#define SLMP_SYN 0x4000 /* the sender wants an acknowledgement */
#define SLMP_ACK 0x2000

typedef struct __attribute__((__packed__)) {
    spin_be16_t flags;
    spin_be32_t message;
    spin_be32_t offset; /* place of this packet's data in the message */
} slmp_t;

typedef struct __attribute__((__packed__)) {
    spin_eth_t eth;
    spin_ipv4_t ip;
    spin_udp_t udp;
    slmp_t slmp;
} slmp_headers_t;

/* True if the packet has all headers. The card's rules compare words, so a packet that ends within SLMP's header matches them. */
static inline bool slmp_has_headers(const task_t *task) { return task->pkt_mem_size >= sizeof(slmp_headers_t); }

/* Bytes of data in a packet with all headers: those that UDP announces, as far as the packet has them. */
static inline uint32_t slmp_size(const task_t *task)
{
    const slmp_headers_t *headers = (const slmp_headers_t *)task->pkt_mem;
    const uint32_t before = __builtin_offsetof(slmp_headers_t, udp);
    const uint32_t end = MIN(before + spin_ntohs(headers->udp.length), task->pkt_mem_size);
    return end > sizeof *headers ? end - sizeof *headers : 0;
}

/* True if the host's buffer, behind the pages of the HPUs, has room for `size` bytes at this place. */
static inline bool slmp_fits(const task_t *task, uint64_t at, uint32_t size)
{
    const uint32_t pages = FPSPIN_HPUS * FPSPIN_PAGE, room = task->host_mem_size;
    return room >= pages && size <= room - pages && at <= room - pages - size;
}

/*
 * Send the packet's headers back as its acknowledgement, without waiting. The data behind them does not change, so a
 * copy of it may still be in progress.
 */
static inline void slmp_acknowledge(slmp_headers_t *headers)
{
    spin_eth_swap(&headers->eth);
    spin_ipv4_swap(&headers->ip);
    spin_udp_swap(&headers->udp);
    headers->ip.total_length = spin_htons(sizeof *headers - sizeof headers->eth);
    headers->ip.checksum = spin_ipv4_checksum(&headers->ip);
    headers->udp.length = spin_htons(sizeof headers->udp + sizeof headers->slmp);
    headers->udp.checksum = 0;
    headers->slmp.flags = spin_htons(SLMP_ACK);

    spin_cmd_t sent;
    spin_send_packet(headers, sizeof *headers, &sent);
}

#endif
