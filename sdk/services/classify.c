/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet classification: finds the rule for a packet's addresses, ports and protocol, counts the packet, and drops it,
 * gives it to the host, or forwards it to another address.
 *
 * `spinet.services.Classifier` compiles rules to a decision tree (HyperSplit: Qi et al., INFOCOM 2009). A node compares
 * one field with a number. A leaf names a rule, or lists rules, of which the first one that matches counts. Nodes are
 * numbered by depth and are in L2 handler memory; each cluster keeps the first ones, up to HOT_BYTES, in its L1.
 *
 * The fields are those of IPv4, UDP and TCP; packets of other protocols have ports 0. Packets without IPv4, later
 * fragments, and packets with an incomplete UDP or TCP header go to the host, and have a counter of their own. A
 * forwarded packet has another destination address and perhaps port, with correct checksums.
 *
 * Memory: scratchpad of HOT_BYTES + 16 bytes. For each node, two loads from L1 or L2; for each packet, two atomics on
 * L2. Lists and new addresses are in L2, too. Cost on an idle card with warm caches: 280 cycles for a UDP packet that is
 * dropped, 300 for one to the host, 435 for one that is forwarded, and 16 for each node in L1 or 55 in L2. `spinet
 * reproduce spin/classify` measures the rate.
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_net.h>

#ifndef HOT_BYTES
#define HOT_BYTES 65536
#endif

#define FIELDS 5 /* source and destination address, source and destination port, protocol */
#define LEAF 6   /* the node is a leaf, and `value` an entry */
#define LIST 7   /* a leaf, and `value` is the number of the first of several entries */
#define KINDS 8

/* An entry is the number of a rule with its action. */
#define COVERS 0x80000000u /* the rule certainly matches here */
#define ACTION_SHIFT 24

#define DROP 0
#define TO_HOST 1
#define FORWARD 2
#define KEEP_PORT 0x10000

typedef struct {
    uint32_t value; /* the next node is the one at `link` if the field is at most `value`, otherwise the one behind it */
    uint32_t link;  /* offset of a node, in bytes, plus the kind of this node; so they share a word and need no shift */
} node_t;

_Static_assert(sizeof(node_t) == KINDS, "the kind is in the low bits of an offset");

typedef struct {
    uint32_t low[FIELDS], high[FIELDS];
} range_t;

typedef struct {
    uint32_t port; /* in network byte order, or KEEP_PORT */
    spin_be32_t address;
    uint8_t mac[8]; /* 6 are used */
} action_t;

typedef struct {
    volatile int32_t packets, bytes; /* modulo 2^32 */
} counter_t;

/* At the start of the handler memory. Parts begin at offsets from there. */
typedef struct {
    uint32_t nodes, rules;
    uint32_t entries_at, ranges_at, actions_at;
    uint32_t counters_at; /* one for each rule, then one for packets without fields */
    uint32_t unused[2];
    node_t node[];
} classifier_t;

typedef struct {
    volatile uint32_t is_ready;
    uint32_t hot; /* bytes of nodes here */
    uint32_t unused[2];
    node_t node[HOT_BYTES / sizeof(node_t)];
} local_t;

/* The first nodes in this cluster's L1; the first packet fetches them. */
static const local_t *local_of(const handler_args_t *args, const classifier_t *classifier)
{
    local_t *local = (local_t *)args->task->scratchpad[args->cluster_id];
    if (!local->is_ready) { /* several cores may copy at the same time: they write the same bytes */
        const uint32_t bytes = MIN(classifier->nodes * sizeof(node_t), HOT_BYTES / sizeof(node_t) * sizeof(node_t));
        spin_dma_t copied;
        if (spin_dma((void *)classifier->node, local->node, bytes, SPIN_DMA_EXT2LOC, 0, &copied) == SPIN_OK) {
            spin_dma_wait(copied);
        }
        local->hot = bytes;
        local->is_ready = 1;
    }
    return local;
}

/* The fields of a packet, in the order of cores. False if it lacks them. */
static bool fields_of(const spin_headers_t *headers, uint32_t *field)
{
    const spin_ipv4_t *ip = headers->ipv4;
    if (ip == NULL || !spin_ipv4_first_fragment(ip)) {
        return false;
    }
    const uint32_t protocol = ip->protocol;
    field[0] = spin_ntohl(ip->src);
    field[1] = spin_ntohl(ip->dst);
    field[2] = field[3] = 0;
    field[4] = protocol;
    if (protocol == SPIN_PROTO_UDP || protocol == SPIN_PROTO_TCP) {
        const spin_be16_t *ports = headers->udp != NULL ? &headers->udp->src_port : NULL;
        ports = headers->tcp != NULL ? &headers->tcp->src_port : ports;
        if (ports == NULL) {
            return false;
        }
        field[2] = spin_ntohs(ports[0]);
        field[3] = spin_ntohs(ports[1]);
    }
    return true;
}

/* The first entry of a leaf's list whose rule matches. The last one certainly does. */
static uint32_t first_of(const classifier_t *classifier, uint32_t at, const uint32_t *field)
{
    const uint32_t *entries = (const uint32_t *)((const uint8_t *)classifier + classifier->entries_at) + at;
    const range_t *ranges = (const range_t *)((const uint8_t *)classifier + classifier->ranges_at);
    while (true) {
        const uint32_t entry = *entries++;
        const range_t *range = &ranges[entry & ((1u << ACTION_SHIFT) - 1)];
        uint32_t i = (entry & COVERS) != 0 ? FIELDS : 0;
        while (i < FIELDS && field[i] >= range->low[i] && field[i] <= range->high[i]) {
            i++;
        }
        if (i == FIELDS) {
            return entry & ~COVERS;
        }
    }
}

static inline const node_t *node_at(const node_t *nodes, uint32_t offset)
{
    return (const node_t *)((const uint8_t *)nodes + offset);
}

/* Walks down from the node at an offset to a leaf, or to a node at `end` or behind it. Offsets grow on the way. */
static inline const node_t *walk(const node_t *nodes, uint32_t *offset, uint32_t end, const uint32_t *field)
{
    uint32_t at = *offset;
    const node_t *node = NULL;
    while (at < end) {
        node = node_at(nodes, at);
        const uint32_t link = node->link, value = node->value, kind = link % KINDS;
        if (kind >= LEAF) {
            break;
        }
        at = link - kind + (field[kind] > value) * (uint32_t)sizeof(node_t);
    }
    *offset = at;
    return node;
}

/* The entry of the rule for a packet. */
static uint32_t find(const classifier_t *classifier, const local_t *local, const uint32_t *field)
{
    uint32_t at = 0;
    const node_t *leaf = walk(local->node, &at, local->hot, field);
    if (at >= local->hot) {
        leaf = walk(classifier->node, &at, UINT32_MAX, field);
    }
    return leaf->link % KINDS == LEAF ? leaf->value : first_of(classifier, leaf->value, field);
}

static void count(classifier_t *classifier, uint32_t rule, uint32_t bytes)
{
    counter_t *counter = (counter_t *)((uint8_t *)classifier + classifier->counters_at) + rule;
    amo_add(&counter->packets, 1);
    amo_add(&counter->bytes, (int32_t)bytes);
}

/* Gives the packet another destination and sends it. */
static void forward(const spin_headers_t *headers, spin_pkt_t pkt, const action_t *action)
{
    spin_ipv4_t *ip = headers->ipv4;
    const spin_be32_t address = action->address;
    ip->checksum = spin_checksum_update32(ip->checksum, ip->dst, address);
    if (headers->udp != NULL) {
        spin_udp_checksum_update32(headers->udp, ip->dst, address);
        if (action->port != KEEP_PORT) {
            spin_udp_checksum_update16(headers->udp, headers->udp->dst_port, (spin_be16_t)action->port);
            headers->udp->dst_port = (spin_be16_t)action->port;
        }
    } else if (headers->tcp != NULL) {
        spin_tcp_t *tcp = headers->tcp;
        tcp->checksum = spin_checksum_update32(tcp->checksum, ip->dst, address);
        if (action->port != KEEP_PORT) {
            tcp->checksum = spin_checksum_update16(tcp->checksum, tcp->dst_port, (spin_be16_t)action->port);
            tcp->dst_port = (spin_be16_t)action->port;
        }
    }
    ip->dst = address;
    __builtin_memcpy(headers->eth->dst, action->mac, 6);
    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}

__handler__ void classify_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    const spin_headers_t headers = spin_parse(pkt);
    classifier_t *classifier = (classifier_t *)task->handler_mem;
    uint32_t field[FIELDS];
    if (task->scratchpad_size[args->cluster_id] < sizeof(local_t) || !fields_of(&headers, field)) {
        count(classifier, classifier->rules, pkt.size);
        spin_data_to_host(task);
        return;
    }
    const uint32_t entry = find(classifier, local_of(args, classifier), field);
    const uint32_t rule = entry & ((1u << ACTION_SHIFT) - 1), kind = entry >> ACTION_SHIFT;
    count(classifier, rule, pkt.size);
    if (kind == FORWARD) {
        forward(&headers, pkt, (const action_t *)((const uint8_t *)classifier + classifier->actions_at) + rule);
    } else if (kind == TO_HOST) {
        spin_data_to_host(task);
    }
}
