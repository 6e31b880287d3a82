/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network address translation: UDP and TCP packets over IPv4 get another source address and port (PANIC, 7.4, "NAT").
 *
 * The RMT pipeline hashes the 5-tuple and puts the hash into the descriptor, so that all this program does is look at one entry of
 * a table in its local memory. A flow's first packet takes the entry, which then says the port that the flow gets; a packet whose
 * entry another flow has, or that is neither UDP nor TCP over IPv4 without options, goes on unchanged.
 *
 * Both checksums follow (RFC 1624): what they change by is the same for every packet of a flow, so the entry has it ready. A UDP
 * checksum of 0, which says that there is none, stays (RFC 768).
 */
#include <panic.h>

#define N_ENTRIES 256u /* a power of two */

/* As they lie in packets, in halves. */
typedef struct {
    uint16_t address[2], port;         /* of packets that this entry is for; all 0 while it is free */
    uint16_t new_address[2], new_port; /* what takes their place */
    uint16_t ip_change, l4_change;     /* sums of what is added to the checksums' complements */
} entry_t;

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

#define HEADERS_BYTES_UDP 42
#define HEADERS_BYTES_TCP 54
#define TYPE_IPV4 0x0008
#define NO_OPTIONS 0x45
#define OFFSET_BITS 0xFF1F /* of a fragment: it is not the first */
#define TCP 6
#define UDP 17

/* A sum in one's complement, in 16 bits again. Two turns, since the first may carry. */
static inline uint32_t fold(uint32_t sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

static inline uint16_t change(uint16_t checksum, uint32_t by) { return (uint16_t)~fold((uint16_t)~checksum + by); }

/* The entry is for this flow from now on: 192.0.2.1, and a port that no other entry gives. */
static void __attribute__((noinline)) assign(entry_t *entry, const headers_t *headers)
{
    uint32_t new_port = 40000 + (uint32_t)(entry - table);
    *entry = (entry_t){
        .address = {headers->ip_source[0], headers->ip_source[1]},
        .port = headers->source_port,
        .new_address = {0x00C0, 0x0102},
        .new_port = (uint16_t)(new_port << 8 | new_port >> 8),
    };
    uint32_t sum = (uint16_t)~entry->address[0] + (uint32_t)(uint16_t)~entry->address[1];
    entry->ip_change = (uint16_t)fold(sum + entry->new_address[0] + entry->new_address[1]);
    entry->l4_change = (uint16_t)fold(entry->ip_change + (uint32_t)(uint16_t)~entry->port + entry->new_port);
}

static inline _Bool is_for(const entry_t *entry, const headers_t *headers)
{
    return headers->source_port == entry->port && headers->ip_source[0] == entry->address[0] &&
           headers->ip_source[1] == entry->address[1];
}

/* Gives the packet its new source. Both checksums follow; over UDP a sum of 0 is sent as its other form (RFC 768). */
static inline void translate(headers_t *headers, uint16_t *checksum, const entry_t *entry)
{
    headers->ip_source[0] = entry->new_address[0];
    headers->ip_source[1] = entry->new_address[1];
    headers->source_port = entry->new_port;
    headers->checksum = change(headers->checksum, entry->ip_change);
    if (headers->protocol == TCP) {
        *checksum = change(*checksum, entry->l4_change);
    } else if (*checksum != 0) {
        uint16_t sum = change(*checksum, entry->l4_change);
        *checksum = sum != 0 ? sum : 0xFFFF;
    }
}

/* Where the checksum of the transport layer is; 0 if the packet is not one to be translated. */
static inline uint16_t *transport_checksum(headers_t *headers, uint32_t size)
{
    if (size < HEADERS_BYTES_UDP || headers->type != TYPE_IPV4 || headers->version_and_words != NO_OPTIONS ||
        (headers->fragment & OFFSET_BITS) != 0) {
        return 0;
    }
    if (headers->protocol == UDP) {
        return &headers->udp_checksum;
    }
    return headers->protocol == TCP && size >= HEADERS_BYTES_TCP ? &headers->tcp_checksum : 0;
}

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        headers_t *headers = packet.data;
        entry_t *entry = &table[panic_hash() % N_ENTRIES];
        uint16_t *checksum = transport_checksum(headers, packet.size);
        if (checksum != 0) {
            if (entry->new_port == 0) {
                assign(entry, headers);
            }
            if (is_for(entry, headers)) {
                translate(headers, checksum, entry);
            }
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
