/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet headers of PsPIN's own examples: IPv4 and UDP from byte 0 of the packet, fields as they lie in memory.
 *
 * Nothing is swapped to network byte order, and `version` names the low half of the first byte, so the layout fits
 * packets that a PsPIN driver fills in. For packets of a real network use spin_net.h.
 */
#ifndef SPIN_PACKETS_H
#define SPIN_PACKETS_H

#include <stdint.h>

typedef struct __attribute__((__packed__)) ip_hdr {
    uint8_t version : 4; /* bits 3..0 of byte 0 */
    uint8_t ihl : 4;     /* bits 7..4; header length in 4-byte words */
    uint8_t tos;
    uint16_t length; /* bytes, this header included */
    uint16_t identification;
    uint16_t offset;
    uint8_t ttl;
    uint8_t protocol;
    uint16_t checksum;
    uint32_t source_id;
    uint32_t dest_id;
} ip_hdr_t;

typedef struct __attribute__((__packed__)) udp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t length;
    uint16_t checksum;
} udp_hdr_t;

typedef struct __attribute__((__packed__)) pkt_hdr {
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
} pkt_hdr_t;

#endif
