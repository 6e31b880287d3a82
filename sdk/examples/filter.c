/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet filter that rewrites: a small load balancer for UDP services.
 *
 * A rule says what happens to UDP packets for one address and port: they are sent on to another address and port, or
 * dropped. Packets that no rule names go to the host unchanged.
 *
 * The rules are in a hash table in L2 handler memory, where a look-up costs about 20 cycles for each word it reads, so
 * an entry keeps its key in two words and is read no further unless they match.
 */
#include <handler.h>
#include <spin_net.h>

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define DROP 0 /* used in place of a new address */

typedef struct {
    uint32_t address;
    uint16_t port;
    uint32_t new_address;
    uint16_t new_port;
} rule_t;

/* DNS packets go to another server and port; memcached packets are dropped. */
static const rule_t rules[] = {
    {IPV4(10, 0, 0, 2), 53, IPV4(10, 0, 0, 3), 5353},
    {IPV4(10, 0, 0, 2), 11211, DROP, 0},
};

/* All in network byte order, as the packets have it. An entry with port 0 is free. */
typedef struct {
    spin_be32_t address;
    uint32_t port;
    spin_be32_t new_address;
    uint32_t new_port;
} entry_t;

#define LOG2_ENTRIES 10
#define ENTRIES (1u << LOG2_ENTRIES)

static entry_t table[ENTRIES] __attribute__((section(".l2_handler_data")));

/* Multiplicative hashing (Knuth, The Art of Computer Programming, 6.4): the upper bits of a product mix best. */
static uint32_t hash(spin_be32_t address, uint32_t port)
{
    return (address ^ port << 16 ^ port) * 2654435769u >> (32 - LOG2_ENTRIES);
}

/* The entry of this key, or the free one where it would be. Rules are far fewer than entries, so the search ends. */
static entry_t *find(spin_be32_t address, uint32_t port)
{
    uint32_t at = hash(address, port);
    while (table[at].port != 0 && (table[at].port != port || table[at].address != address)) {
        at = (at + 1) % ENTRIES;
    }
    return &table[at];
}

/* Runs once, before the first packet. */
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem)
{
    for (uint32_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const rule_t *rule = &rules[i];
        spin_be32_t address = spin_htonl(rule->address);
        spin_be16_t port = spin_htons(rule->port);
        *find(address, port) = (entry_t){address, port, spin_htonl(rule->new_address), spin_htons(rule->new_port)};
    }
}

/* Give the packet a new destination. Both checksums cover the address, UDP's also the port. */
static void redirect(spin_ipv4_t *ip, spin_udp_t *udp, spin_be32_t address, spin_be16_t port)
{
    ip->checksum = spin_checksum_update32(ip->checksum, ip->dst, address);
    spin_udp_checksum_update32(udp, ip->dst, address);
    spin_udp_checksum_update16(udp, udp->dst_port, port);
    ip->dst = address;
    udp->dst_port = port;
}

/* The place in host memory that mirrors the packet's place in the NIC; see copy_to_host.c. */
static void pass_to_host(const task_t *task)
{
    const uint32_t l2_packet_memory = 0x1C400000u;
    uint32_t offset = (uint32_t)((uintptr_t)task->l2_pkt_mem - l2_packet_memory);
    if (task->pkt_mem_size > task->host_mem_size || offset > task->host_mem_size - task->pkt_mem_size) {
        return;
    }
    uint64_t host = spin_host_address(task, offset);
    spin_cmd_t copied;
    spin_dma_to_host(host, (uintptr_t)task->pkt_mem, task->pkt_mem_size, false, &copied);
}

__handler__ void filter_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    spin_headers_t headers = spin_parse(pkt);
    spin_ipv4_t *ip = headers.ipv4;
    spin_udp_t *udp = headers.udp;

    if (ip == NULL || udp == NULL || udp->dst_port == 0) {
        pass_to_host(task);
        return;
    }
    const entry_t *entry = find(ip->dst, udp->dst_port);
    if (entry->port == 0) {
        pass_to_host(task);
        return;
    }
    spin_be32_t new_address = entry->new_address;
    if (new_address == DROP) {
        return;
    }
    redirect(ip, udp, new_address, (spin_be16_t)entry->new_port);
    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}
