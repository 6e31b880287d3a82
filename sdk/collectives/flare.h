/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare: allreduce by a tree of switches that compute (De Sensi et al., SC'21). Wire format and configuration.
 *
 * Hosts send the blocks of their vectors up to the root; a switch combines the packets that its children sent for a
 * block and passes one packet up; the root sends results down to all hosts. A frame is Ethernet, IPv4, UDP, two unused
 * bytes (spin_data.h gives the reason), then
 *
 *     byte 44  block, u32     number of the block in the vector
 *     byte 48  root, u32      IPv4 address of the tree's root, in network byte order
 *     byte 52  elements, u16  number of elements
 *     byte 54  split, u8      dense blocks: 1; sparse blocks: see sparse.h
 *     byte 55  port, u8       the sender's number among the children of the receiver
 *     byte 56  the elements
 *
 * Numbers are little-endian, except addresses. The network must not lose frames, nor repeat frames of sparse blocks. A
 * sender has at most `window` blocks in flight: it sends block b + window when it has the result of block b. So a switch
 * combines block b in the place with the number b modulo window. It ignores repeated frames of dense blocks, unless they
 * come after block b + window is complete.
 */
#ifndef FLARE_H
#define FLARE_H

#include "spin_reduce.h"
#include <handler.h>
#include <spin_data.h>

/* Type and operator of a program, as in spin_reduce.h. */
#ifndef TYPE
#define TYPE SPIN_INT32
#endif
#ifndef OP
#define OP SPIN_SUM
#endif

#define FLARE_UP 9400   /* UDP port of packets towards the root */
#define FLARE_DOWN 9401 /* results */
#define FLARE_GO 9402   /* starts one block of a host */

#define FLARE_HEAD_AT 44
#define FLARE_DATA_AT 56
#ifndef FLARE_MAX_CHILDREN
#define FLARE_MAX_CHILDREN 64 /* children of a switch that the configuration has room for; at most 256 */
#endif
#define FLARE_FIXED_BYTES 256
#define FLARE_PEER_BYTES 12
#define FLARE_CONFIGURATION_BYTES (FLARE_FIXED_BYTES + FLARE_PEER_BYTES * FLARE_MAX_CHILDREN) /* of a switch */
#define FLARE_BLOCK_BYTES 1024 /* bytes of a dense block; the last one may have less */

typedef struct {
    uint32_t block;
    spin_be32_t root;
    uint16_t elements;
    uint8_t split;
    uint8_t port;
} flare_head_t;

/* An address. 12 bytes. */
typedef struct {
    uint8_t mac[8]; /* 6 are used */
    spin_be32_t ip;
} flare_peer_t;

/* Configuration at the start of a switch's handler memory. */
typedef struct {
    uint32_t children;
    uint32_t window; /* blocks in flight */
    uint32_t is_root;
    uint32_t port;       /* number among the children of the parent */
    flare_peer_t self;   /* the card in this switch */
    flare_peer_t parent; /* the card of the switch above */
    flare_peer_t child[FLARE_MAX_CHILDREN];
} flare_switch_t;

_Static_assert(sizeof(flare_switch_t) <= FLARE_CONFIGURATION_BYTES - 16, "the configuration has room for all children");
_Static_assert(sizeof(flare_peer_t) == FLARE_PEER_BYTES && FLARE_CONFIGURATION_BYTES % 64 == 0, "as in the Python side");

/* Configuration at the start of a host's handler memory, and its counters. */
typedef struct {
    uint32_t blocks;
    uint32_t bytes;  /* size of the vector, which is at the start of host memory */
    uint32_t result; /* offset of the result in host memory; the 8 bytes behind it become 1 at the end */
    uint32_t window;
    uint32_t first; /* staggered sending: the first block that this host sends */
    uint32_t port;
    uint32_t element_bytes;
    flare_peer_t self, root;
    volatile int32_t started, finished; /* blocks */
} flare_host_t;

static inline flare_head_t *flare_head(const task_t *task)
{
    return (flare_head_t *)((uint8_t *)task->pkt_mem + FLARE_HEAD_AT);
}

/* Bytes of elements in a frame, by its length; 0 if it is too short for a header. */
static inline uint32_t flare_data_bytes(const task_t *task)
{
    spin_pkt_t data = spin_data(task);
    return data.size > sizeof(flare_head_t) ? data.size - sizeof(flare_head_t) : 0;
}

static inline uint32_t flare_port(const task_t *task)
{
    return task->pkt_mem_size >= FLARE_DATA_AT ? spin_ntohs(spin_data_udp(task)->dst_port) : 0;
}

/*
 * True for a packet that comes from the child with the number in its header. Below a switch without a card, hosts reach
 * the card above it, where their numbers are those of other children.
 */
static inline bool flare_is_from_child(const task_t *task, const flare_switch_t *tree)
{
    const uint32_t port = flare_head(task)->port;
    const spin_ipv4_t *ip = (const spin_ipv4_t *)((const uint8_t *)task->pkt_mem + 14);
    return port < tree->children && ip->src == tree->child[port].ip;
}

/* This cluster's copy of a configuration, in L1. The first use copies it from L2: about 60 cycles, otherwise 3. */
static inline void *flare_configuration(const handler_args_t *args, uint32_t bytes)
{
    const task_t *task = args->task;
    volatile uint32_t *ready = (volatile uint32_t *)task->scratchpad[args->cluster_id];
    if (*ready == 0) { /* several cores may copy at the same time: they write the same bytes */
        spin_dma_t copied;
        spin_dma(task->handler_mem, (void *)(ready + 4), bytes, SPIN_DMA_EXT2LOC, 0, &copied);
        spin_dma_wait(copied);
        *ready = 1;
    }
    return (void *)(ready + 4);
}

/* Sets sender and receiver, and updates the IPv4 checksum. About 25 cycles. */
static inline void flare_address(uint8_t *frame, const flare_peer_t *from, const flare_peer_t *to)
{
    spin_eth_t *eth = (spin_eth_t *)frame;
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + 14);
    __builtin_memcpy(eth->dst, to->mac, 6);
    __builtin_memcpy(eth->src, from->mac, 6);
    ip->checksum = spin_checksum_update32(ip->checksum, ip->dst, to->ip);
    ip->checksum = spin_checksum_update32(ip->checksum, ip->src, from->ip);
    ip->dst = to->ip;
    ip->src = from->ip;
}

/* Writes all headers in front of `bytes` bytes of elements; returns the length of the frame. */
static inline uint32_t flare_headers(uint8_t *frame, const flare_peer_t *from, const flare_peer_t *to, uint16_t port,
                                     uint32_t bytes)
{
    const uint32_t udp_bytes = 8 + 2 + sizeof(flare_head_t) + bytes;
    spin_eth_t *eth = (spin_eth_t *)frame;
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + 14);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    __builtin_memcpy(eth->dst, to->mac, 6);
    __builtin_memcpy(eth->src, from->mac, 6);
    eth->type = spin_htons(SPIN_ETH_IPV4);
    *ip = (spin_ipv4_t){
        .version_ihl = 0x45,
        .total_length = spin_htons((uint16_t)(20 + udp_bytes)),
        .ttl = 64,
        .protocol = SPIN_PROTO_UDP,
        .src = from->ip,
        .dst = to->ip,
    };
    ip->checksum = spin_fold(spin_sum(0, ip, 20));
    *udp = (spin_udp_t){spin_htons(port), spin_htons(port), spin_htons((uint16_t)udp_bytes), 0};
    *(uint16_t *)(frame + 42) = 0;
    return 34 + udp_bytes;
}

/* Sends a frame and waits until the card has read it. */
static inline void flare_send(const void *frame, uint32_t bytes)
{
    spin_cmd_t sent;
    spin_send_packet((void *)frame, bytes, &sent);
    spin_cmd_wait(sent);
}

#endif
