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

/* Each returns NULL unless the packet carries that header in full. */

static inline spin_udp_t *spin_udp(spin_pkt_t pkt)
{
    spin_pkt_t datagram = spin_ip_payload(pkt, SPIN_PROTO_UDP, SPIN_PROTO_UDP);
    spin_udp_t *udp = (spin_udp_t *)spin_pkt_at(datagram, 0, sizeof(spin_udp_t));
    if (udp == NULL) {
        return NULL;
    }
    uint32_t length = spin_ntohs(udp->length);
    return length >= sizeof(spin_udp_t) && length <= datagram.size ? udp : NULL;
}

static inline spin_tcp_t *spin_tcp(spin_pkt_t pkt)
{
    spin_pkt_t segment = spin_ip_payload(pkt, SPIN_PROTO_TCP, SPIN_PROTO_TCP);
    spin_tcp_t *tcp = (spin_tcp_t *)spin_pkt_at(segment, 0, sizeof(spin_tcp_t));
    if (tcp == NULL) {
        return NULL;
    }
    uint32_t header = (tcp->data_offset >> 4) * 4;
    return header >= sizeof(spin_tcp_t) && header <= segment.size ? tcp : NULL;
}

/* ICMP on IPv4, ICMPv6 on IPv6: the types differ. */
static inline spin_icmp_t *spin_icmp(spin_pkt_t pkt)
{
    return (spin_icmp_t *)spin_pkt_at(spin_ip_payload(pkt, SPIN_PROTO_ICMP, SPIN_PROTO_ICMPV6), 0, sizeof(spin_icmp_t));
}

/* What a checked header carries. */
static inline spin_pkt_t spin_udp_payload(spin_udp_t *udp)
{
    return spin_pkt(udp + 1, spin_ntohs(udp->length) - sizeof(spin_udp_t));
}

static inline spin_pkt_t spin_tcp_payload(spin_pkt_t pkt, spin_tcp_t *tcp)
{
    spin_pkt_t segment = spin_ip_payload(pkt, SPIN_PROTO_TCP, SPIN_PROTO_TCP);
    uint32_t header = (tcp->data_offset >> 4) * 4;
    return spin_pkt((uint8_t *)tcp + header, segment.size - header);
}

/* The checksum stays what it is. */
static inline void spin_udp_swap(spin_udp_t *udp) { spin_swap_bytes(&udp->src_port, &udp->dst_port, 2); }
static inline void spin_tcp_swap(spin_tcp_t *tcp) { spin_swap_bytes(&tcp->src_port, &tcp->dst_port, 2); }

#endif
