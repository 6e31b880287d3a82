/* SPDX-License-Identifier: Apache-2.0 */
/* A packet as bytes with a known end, and Ethernet, its first header (IEEE 802.3, 3.1.1). */
#ifndef SPIN_PKT_H
#define SPIN_PKT_H

#include <spin_bytes.h>
#include <stddef.h>
#include <stdint.h>

/* All helpers stay within these bytes. */
typedef struct {
    uint8_t *data;
    uint32_t size; /* bytes */
} spin_pkt_t;

/* For a handler: spin_pkt(task->pkt_mem, task->pkt_mem_size). No memory access. */
static inline spin_pkt_t spin_pkt(void *data, uint32_t size) { return (spin_pkt_t){data, size}; }

/* Address of `size` bytes at `offset` in the packet; NULL if they are not all inside. Safe for any offset and size. */
static inline void *spin_pkt_at(spin_pkt_t pkt, uint32_t offset, uint32_t size)
{
    return size <= pkt.size && offset <= pkt.size - size ? pkt.data + offset : NULL;
}

/*
 * The header structs below are packed: behind Ethernet, 4-byte fields sit on 2-byte boundaries. The SDK's flags turn each
 * field into one load, which takes 2 cycles there instead of 1. All fields are in network byte order.
 */
typedef struct __attribute__((__packed__)) {
    uint8_t dst[6];
    uint8_t src[6];
    spin_be16_t type;
} spin_eth_t;

#define SPIN_ETH_IPV4 0x0800
#define SPIN_ETH_ARP 0x0806
#define SPIN_ETH_VLAN 0x8100     /* VLAN tag of a customer (IEEE 802.1Q) */
#define SPIN_ETH_IPV6 0x86DD
#define SPIN_ETH_QINQ 0x88A8     /* tag of a provider around it (formerly IEEE 802.1ad) */
#define SPIN_ETH_QINQ_OLD 0x9100 /* likewise, before it was standardized */

/* Number of tags that helpers skip: a provider's and a customer's, as stacked by IEEE 802.1Q. */
#define SPIN_VLAN_TAGS 2

/* NULL if the packet is shorter than the header. */
static inline spin_eth_t *spin_eth(spin_pkt_t pkt) { return (spin_eth_t *)spin_pkt_at(pkt, 0, sizeof(spin_eth_t)); }

static inline _Bool spin_eth_is_tag(spin_be16_t type)
{
    return type == spin_htons(SPIN_ETH_VLAN) || type == spin_htons(SPIN_ETH_QINQ) ||
           type == spin_htons(SPIN_ETH_QINQ_OLD);
}

/*
 * Drops 4 bytes at the start of the packet for each VLAN tag, so that bytes 12 and 13 of the result are the type of the
 * content. Returns a packet without tags unchanged. About 10 cycles.
 */
static inline spin_pkt_t spin_eth_untagged(spin_pkt_t pkt)
{
    const spin_eth_t *eth = spin_eth(pkt);
    for (uint32_t tags = 0; tags < SPIN_VLAN_TAGS && eth != NULL && spin_eth_is_tag(eth->type); tags++) {
        pkt = spin_pkt(pkt.data + 4, pkt.size - 4);
        eth = spin_eth(pkt);
    }
    return pkt;
}

/* Returns true if this is the type of the packet's content, behind VLAN tags if it has any; false if the packet is too short. */
static inline _Bool spin_eth_carries(spin_pkt_t pkt, uint16_t type)
{
    const spin_eth_t *eth = spin_eth(spin_eth_untagged(pkt));
    return eth != NULL && eth->type == spin_htons(type);
}

/* Return it to its sender: 8 loads and stores. */
static inline void spin_eth_swap(spin_eth_t *eth)
{
    spin_swap16(eth->dst, eth->src);
    spin_swap32(eth->dst + 2, eth->src + 2);
}

#endif
