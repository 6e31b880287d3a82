/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network address translation: UDP and TCP packets over IPv4 get another source address and port (PANIC, 7.4, "NAT").
 *
 * The RMT pipeline hashes the 5-tuple and puts the hash into the descriptor, so this program only looks at one entry of a
 * table in its local memory. A flow's first packet takes the entry, which then holds the port of the flow. A packet
 * continues unchanged if another flow has its entry, or if it is not UDP or TCP over IPv4 without options. The pipeline
 * should give fragments another chain, because they have no ports.
 *
 * Both checksums are updated (RFC 1624). Their difference is the same for every packet of a flow, so the entry of the flow has it.
 * A UDP checksum of 0 means that there is none, and stays 0 (RFC 768). The paper mentions addresses and ports, but no
   checksums.
 * -DCHECKSUMS=0 does not update them, for a MAC that computes them; the program is then 20 instructions shorter.
 */
#include <panic.h>

#ifndef CHECKSUMS
#define CHECKSUMS 1
#endif

#define N_ENTRIES 128u /* a power of two */
#define TCP 6
#define UDP 17
#define TYPE_IPV4 0x0008 /* 0x0800 as it lies in a packet */
#define NO_OPTIONS 0x45
#define HEADERS_BYTES 54 /* up to TCP's checksum and behind; Ethernet has at least 60 */

/* Fields of packets, in their byte order and in halves, because headers are at odd multiples of 2. */
typedef struct {
    uint16_t port, address[2];         /* port and addresses of the flow that has this entry */
    uint8_t protocol;                  /* protocol of this flow; 0 while the entry is free */
    uint8_t checksum_at;               /* offset of its checksum in packets */
    uint16_t new_port, new_address[2]; /* their replacements */
    uint16_t ip_change, l4_change;     /* sums of what is added to the checksums' complements */
} __attribute__((aligned(32))) entry_t; /* within one line of the cache */

static entry_t table[N_ENTRIES] __attribute__((aligned(64)));

typedef struct {
    uint16_t destination[3], source[3], type;
    uint8_t version_and_words, tos;
    uint16_t length, id, fragment;
    uint8_t ttl, protocol;
    uint16_t checksum, ip_source[2], ip_destination[2];
    uint16_t source_port, destination_port;
    uint16_t udp_length, udp_checksum;
    uint16_t tcp_rest[4], tcp_checksum;
} headers_t;

/* Reduces a one's complement sum below 0x1FFFF to 16 bits. */
static inline uint32_t fold(uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); }

static inline uint16_t change(uint16_t checksum, uint32_t by) { return (uint16_t)~fold((uint16_t)~checksum + by); }

/* The difference of two values in one's complement. */
static inline uint32_t difference(uint16_t from, uint16_t to) { return fold((uint16_t)~from + (uint32_t)to); }

/* The entry now belongs to this flow: 192.0.2.1, and a port that no other entry has. */
static void __attribute__((noinline)) assign(entry_t *entry, const headers_t *headers)
{
    uint32_t port = 40000 + (uint32_t)(entry - table);
    if (headers->protocol != TCP && headers->protocol != UDP) {
        return;
    }
    *entry = (entry_t){
        .port = headers->source_port,
        .address = {headers->ip_source[0], headers->ip_source[1]},
        .protocol = headers->protocol,
        .checksum_at = headers->protocol == TCP ? __builtin_offsetof(headers_t, tcp_checksum)
                                                : __builtin_offsetof(headers_t, udp_checksum),
        .new_port = (uint16_t)(port << 8 | port >> 8),
        .new_address = {0x00C0, 0x0102},
    };
    entry->ip_change = (uint16_t)fold(difference(entry->address[0], entry->new_address[0]) +
                                      difference(entry->address[1], entry->new_address[1]));
    entry->l4_change = (uint16_t)fold(entry->ip_change + difference(entry->port, entry->new_port));
}

/*
 * Compilers do not know the timing of this core: an instruction that uses a loaded value at once waits for it, and a mispredicted branch
 * costs 3 cycles. So this code loads several values before it uses one, and combines comparisons into one number with one branch.
 */
#define LOADED4(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#define ONE_NUMBER(a) __asm__ volatile("" : "+r"(a))

static inline _Bool is_for(const entry_t *entry, const headers_t *headers)
{
    uint32_t port = headers->source_port, high = headers->ip_source[0], low = headers->ip_source[1];
    uint32_t protocol = headers->protocol;
    uint32_t its_port = entry->port, its_high = entry->address[0], its_low = entry->address[1];
    uint32_t its_protocol = entry->protocol;
    LOADED4(port, high, low, protocol);
    LOADED4(its_port, its_high, its_low, its_protocol);
    uint32_t differences = (port ^ its_port) | (high ^ its_high) | (low ^ its_low) | (protocol ^ its_protocol);
    ONE_NUMBER(differences);
    return differences == 0;
}

#if CHECKSUMS
/* Gives the packet its new source, and both checksums. A sum of 0 is sent as its other form, as UDP has to. */
static inline void translate(headers_t *headers, const entry_t *entry)
{
    uint16_t *l4_checksum = (uint16_t *)((uint8_t *)headers + entry->checksum_at);
    uint32_t ip = headers->checksum, ip_change = entry->ip_change, l4_change = entry->l4_change, l4 = *l4_checksum;
    uint32_t port = entry->new_port, high = entry->new_address[0], low = entry->new_address[1];
    LOADED4(ip, ip_change, l4_change, l4);
    LOADED4(port, high, low, ip);
    headers->source_port = (uint16_t)port;
    headers->ip_source[0] = (uint16_t)high;
    headers->ip_source[1] = (uint16_t)low;
    headers->checksum = change((uint16_t)ip, ip_change);
    uint32_t sum = change((uint16_t)l4, l4_change);
    sum |= 0u - (sum == 0);
    if (__builtin_expect(l4 == 0, 0) && entry->protocol == UDP) {
        sum = 0;
    }
    *l4_checksum = (uint16_t)sum;
}
#else
static inline void translate(headers_t *headers, const entry_t *entry)
{
    uint32_t port = entry->new_port, high = entry->new_address[0], low = entry->new_address[1];
    headers->source_port = (uint16_t)port;
    headers->ip_source[0] = (uint16_t)high;
    headers->ip_source[1] = (uint16_t)low;
}
#endif

/* Not inline, so that the path of other packets has no taken branch. */
static void __attribute__((noinline, cold)) pass(panic_packet_t packet)
{
    panic_flush();
    panic_send(packet.data, packet.size);
}

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        headers_t *headers = packet.data;
        entry_t *entry = &table[panic_hash() % N_ENTRIES];
        uint32_t type = headers->type, words = headers->version_and_words, protocol = entry->protocol, size = packet.size;
        LOADED4(type, words, protocol, size);
        uint32_t differences = (type ^ TYPE_IPV4) | (words ^ NO_OPTIONS) | (size < HEADERS_BYTES);
        ONE_NUMBER(differences);
        if (__builtin_expect(differences != 0, 0)) {
            pass(packet);
            continue;
        }
        if (__builtin_expect(protocol == 0, 0)) {
            assign(entry, headers);
        }
        if (__builtin_expect(!is_for(entry, headers), 0)) {
            pass(packet);
            continue;
        }
        translate(headers, entry);
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
