/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filtering and rewriting: packets of known senders go to the host with another port, all others go no further.
 *
 * The rules are a hash table of 65,536 entries in L2 handler memory, which the host fills before
 * (spinet.workloads.rules). The key is the sender's IPv4 address; its place follows from a hash over 8 bytes, both
 * addresses of the packet (assumed: the paper hashes 8 bytes and does not say which). If the address is not there, the
 * search continues in the next entries until one is free (or 64 were read).
 *
 * Memory: 8 byte loads from the packet in L1; one load of about 21 cycles from L2 for each entry seen, and one for the
 * port.
 * Handler memory: 512 KiB. Host memory: mirrors the ring of packet memory, as copy_to_host.c does.
 * Cost: 170 cycles for a packet that passes, 108 for one that does not, if the first entry decides; half of that is the
 * hash.
 *
 * Run it with --match 'udp && ipv4.header_words == 5' --handler-memory RULES, for example
 * --traffic 'udp:size=1024,count=512,flows=512,senders=512'.
 */
#include <handler.h>
#include <spin_data.h>

#define ENTRIES 65536u
#define MOST_SEEN 64

/* Both as they stand in packets. No host has address 0: an entry with it is free. */
typedef struct {
    spin_be32_t address;
    uint32_t port;
} rule_t;

/* One at a time (Bob Jenkins, Dr. Dobb's Journal, September 1997): 6 instructions a byte. */
static uint32_t hash(const uint8_t *bytes, uint32_t n)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        hash += bytes[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash;
}

/* The rule for the sender; NULL if there is none. */
static const rule_t *find(const rule_t *rules, const spin_ipv4_t *ip)
{
    uint32_t at = hash((const uint8_t *)&ip->src, 8);
    for (uint32_t seen = 0; seen < MOST_SEEN; seen++) {
        const rule_t *rule = &rules[(at + seen) % ENTRIES];
        spin_be32_t address = rule->address;
        if (address == ip->src) {
            return rule;
        }
        if (address == 0) {
            break;
        }
    }
    return NULL;
}

__handler__ void filtering_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    if (task->pkt_mem_size < SPIN_DATA_OFFSET || task->handler_mem_size < ENTRIES * sizeof(rule_t)) {
        return;
    }
    const rule_t *rule = find((const rule_t *)task->handler_mem, spin_data_ip(task));
    if (rule == NULL) {
        return;
    }
    spin_udp_t *udp = spin_data_udp(task);
    spin_be16_t port = (spin_be16_t)rule->port;
    spin_udp_checksum_update16(udp, udp->dst_port, port);
    udp->dst_port = port;
    spin_data_to_host(task);
}
