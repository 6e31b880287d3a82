/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4 (RFC 791) and IPv6 (RFC 8200) behind an Ethernet header and its VLAN tags. */
#ifndef SPIN_IP_H
#define SPIN_IP_H

#include <spin_pkt.h>

#define SPIN_PROTO_ICMP 1
#define SPIN_PROTO_TCP 6
#define SPIN_PROTO_UDP 17
#define SPIN_PROTO_ICMPV6 58
#define SPIN_PROTO_UNKNOWN 256 /* no header says this */

typedef struct __attribute__((__packed__)) {
    uint8_t version_ihl; /* version in the high half, header length in 4-byte words in the low half */
    uint8_t tos;
    spin_be16_t total_length; /* bytes, from this header to the end of its payload */
    spin_be16_t id;
    spin_be16_t fragment; /* flags in bits 15..13, offset in 8-byte units below */
    uint8_t ttl;
    uint8_t protocol;
    spin_be16_t checksum;
    spin_be32_t src;
    spin_be32_t dst;
} spin_ipv4_t;

typedef struct __attribute__((__packed__)) {
    spin_be32_t version_class_flow;
    spin_be16_t payload_length; /* bytes behind this header */
    uint8_t next_header;
    uint8_t hop_limit;
    uint8_t src[16];
    uint8_t dst[16];
} spin_ipv6_t;

/* Header length in bytes, options included. */
static inline uint32_t spin_ipv4_header_size(const spin_ipv4_t *ip) { return (ip->version_ihl & 0xfu) * 4; }

/* Each returns NULL unless the packet, which must be as spin_eth_untagged gives it, holds that header and its payload. */

static inline spin_ipv4_t *spin_ipv4_in(spin_pkt_t untagged)
{
    const spin_eth_t *eth = spin_eth(untagged);
    spin_ipv4_t *ip = (spin_ipv4_t *)spin_pkt_at(untagged, sizeof(spin_eth_t), sizeof(spin_ipv4_t));
    if (ip == NULL || eth->type != spin_htons(SPIN_ETH_IPV4) || ip->version_ihl < 0x45 || ip->version_ihl > 0x4f) {
        return NULL; /* another version, or a header of less than 5 words */
    }
    uint32_t total = spin_ntohs(ip->total_length);
    return total >= spin_ipv4_header_size(ip) && total <= untagged.size - sizeof(spin_eth_t) ? ip : NULL;
}

static inline spin_ipv6_t *spin_ipv6_in(spin_pkt_t untagged)
{
    const spin_eth_t *eth = spin_eth(untagged);
    spin_ipv6_t *ip = (spin_ipv6_t *)spin_pkt_at(untagged, sizeof(spin_eth_t), sizeof(spin_ipv6_t));
    if (ip == NULL || eth->type != spin_htons(SPIN_ETH_IPV6) || (ip->version_class_flow & 0xf0) != 0x60) {
        return NULL;
    }
    return spin_ntohs(ip->payload_length) <= untagged.size - sizeof(spin_eth_t) - sizeof(spin_ipv6_t) ? ip : NULL;
}

/* The packet's IP header; NULL unless header, options and payload lie within the packet. About 12 cycles. */
static inline spin_ipv4_t *spin_ipv4(spin_pkt_t pkt) { return spin_ipv4_in(spin_eth_untagged(pkt)); }
static inline spin_ipv6_t *spin_ipv6(spin_pkt_t pkt) { return spin_ipv6_in(spin_eth_untagged(pkt)); }

/* Does this packet begin its datagram, so that the next header follows? */
static inline _Bool spin_ipv4_first_fragment(const spin_ipv4_t *ip) { return (ip->fragment & spin_htons(0x1fff)) == 0; }

/* Neither changes a checksum: sums do not depend on the order. */
static inline void spin_ipv4_swap(spin_ipv4_t *ip) { spin_swap32(&ip->src, &ip->dst); }

static inline void spin_ipv6_swap(spin_ipv6_t *ip)
{
    spin_swap32(ip->src, ip->dst);
    spin_swap32(ip->src + 4, ip->dst + 4);
    spin_swap32(ip->src + 8, ip->dst + 8);
    spin_swap32(ip->src + 12, ip->dst + 12);
}

/* The payload of a checked header, without padding of the Ethernet frame. */
static inline spin_pkt_t spin_ipv4_payload(spin_ipv4_t *ip)
{
    uint32_t header = spin_ipv4_header_size(ip);
    return spin_pkt((uint8_t *)ip + header, spin_ntohs(ip->total_length) - header);
}

static inline spin_pkt_t spin_ipv6_payload(spin_ipv6_t *ip) { return spin_pkt(ip + 1, spin_ntohs(ip->payload_length)); }

#endif
