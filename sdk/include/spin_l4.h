/* SPDX-License-Identifier: Apache-2.0 */
/* UDP (RFC 768), TCP (RFC 9293) and ICMP (RFC 792, 4443) on IPv4 or IPv6. */
#ifndef SPIN_L4_H
#define SPIN_L4_H

#include <spin_ip.h>

typedef struct __attribute__((__packed__)) {
    spin_be16_t src_port;
    spin_be16_t dst_port;
    spin_be16_t length;   /* bytes, this header included */
    spin_be16_t checksum; /* 0: none (IPv4 only) */
} spin_udp_t;

typedef struct __attribute__((__packed__)) {
    spin_be16_t src_port;
    spin_be16_t dst_port;
    spin_be32_t sequence;
    spin_be32_t acknowledgement;
    uint8_t data_offset; /* header length in 4-byte words in the high half */
    uint8_t flags;
    spin_be16_t window;
    spin_be16_t checksum;
    spin_be16_t urgent;
} spin_tcp_t;

#define SPIN_TCP_FIN 0x01
#define SPIN_TCP_SYN 0x02
#define SPIN_TCP_RST 0x04
#define SPIN_TCP_PSH 0x08
#define SPIN_TCP_ACK 0x10

typedef struct __attribute__((__packed__)) {
    uint8_t type;
    uint8_t code;
    spin_be16_t checksum;
    uint32_t rest;
} spin_icmp_t;

#define SPIN_ICMP_ECHO_REPLY 0
#define SPIN_ICMP_ECHO_REQUEST 8
#define SPIN_ICMPV6_ECHO_REQUEST 128
#define SPIN_ICMPV6_ECHO_REPLY 129

/* Each returns NULL unless the datagram, the payload of IP, holds that header in full. */

static inline spin_udp_t *spin_udp_in(spin_pkt_t datagram)
{
    spin_udp_t *udp = (spin_udp_t *)spin_pkt_at(datagram, 0, sizeof(spin_udp_t));
    if (udp == NULL) {
        return NULL;
    }
    uint32_t length = spin_ntohs(udp->length);
    return length >= sizeof(spin_udp_t) && length <= datagram.size ? udp : NULL;
}

static inline spin_tcp_t *spin_tcp_in(spin_pkt_t segment)
{
    spin_tcp_t *tcp = (spin_tcp_t *)spin_pkt_at(segment, 0, sizeof(spin_tcp_t));
    if (tcp == NULL) {
        return NULL;
    }
    uint32_t header = (uint32_t)(tcp->data_offset >> 4) * 4;
    return header >= sizeof(spin_tcp_t) && header <= segment.size ? tcp : NULL;
}

static inline spin_icmp_t *spin_icmp_in(spin_pkt_t message)
{
    return (spin_icmp_t *)spin_pkt_at(message, 0, sizeof(spin_icmp_t));
}

/* The headers of a packet; NULL for each that is missing or incomplete. */
typedef struct {
    spin_eth_t *eth;
    spin_ipv4_t *ipv4;
    spin_ipv6_t *ipv6;
    spin_udp_t *udp;
    spin_tcp_t *tcp;
    spin_icmp_t *icmp;     /* ICMP on IPv4, ICMPv6 on IPv6: the types differ */
    spin_pkt_t ip_payload; /* payload of IP; data is NULL without IP */
} spin_headers_t;

/*
 * Find all headers, each checked against the ends of those around it. About 50 cycles for UDP on IPv4 in L1.
 * Later fragments of a datagram and packets with IPv6 extension headers have nothing beyond IP; packets with more than
 * SPIN_VLAN_TAGS VLAN tags, nothing beyond Ethernet.
 */
static inline spin_headers_t spin_parse(spin_pkt_t pkt)
{
    /* Plain variables, put together at the end, stay in registers. */
    spin_pkt_t untagged = spin_eth_untagged(pkt);
    spin_ipv4_t *ipv4 = spin_ipv4_in(untagged);
    spin_ipv6_t *ipv6 = ipv4 == NULL ? spin_ipv6_in(untagged) : NULL;
    spin_pkt_t carried = ipv4 != NULL   ? spin_ipv4_payload(ipv4)
                         : ipv6 != NULL ? spin_ipv6_payload(ipv6)
                                        : spin_pkt(NULL, 0);
    uint32_t protocol = SPIN_PROTO_UNKNOWN;
    if (ipv4 != NULL && spin_ipv4_first_fragment(ipv4)) {
        protocol = ipv4->protocol;
    } else if (ipv6 != NULL) {
        protocol = ipv6->next_header;
    }
    const uint32_t icmp_here = ipv4 != NULL ? SPIN_PROTO_ICMP : SPIN_PROTO_ICMPV6;
    return (spin_headers_t){
        .eth = spin_eth(pkt),
        .ipv4 = ipv4,
        .ipv6 = ipv6,
        .udp = protocol == SPIN_PROTO_UDP ? spin_udp_in(carried) : NULL,
        .tcp = protocol == SPIN_PROTO_TCP ? spin_tcp_in(carried) : NULL,
        .icmp = protocol == icmp_here ? spin_icmp_in(carried) : NULL,
        .ip_payload = carried,
    };
}

/* For handlers that need one header only. */
static inline spin_udp_t *spin_udp(spin_pkt_t pkt) { return spin_parse(pkt).udp; }
static inline spin_tcp_t *spin_tcp(spin_pkt_t pkt) { return spin_parse(pkt).tcp; }
static inline spin_icmp_t *spin_icmp(spin_pkt_t pkt) { return spin_parse(pkt).icmp; }

/* The payload of a checked header. */
static inline spin_pkt_t spin_udp_payload(spin_udp_t *udp)
{
    return spin_pkt(udp + 1, spin_ntohs(udp->length) - sizeof(spin_udp_t));
}

static inline spin_pkt_t spin_tcp_payload(const spin_headers_t *headers)
{
    uint32_t header = (uint32_t)(headers->tcp->data_offset >> 4) * 4;
    return spin_pkt((uint8_t *)headers->tcp + header, headers->ip_payload.size - header);
}

/* These do not change the checksum. */
static inline void spin_udp_swap(spin_udp_t *udp) { spin_swap16(&udp->src_port, &udp->dst_port); }
static inline void spin_tcp_swap(spin_tcp_t *tcp) { spin_swap16(&tcp->src_port, &tcp->dst_port); }

#endif
