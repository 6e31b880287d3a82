/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges source and destination, of Ethernet and of IPv4, and sends the packet back (PANIC, 7.4, "Swap OvS").
 *
 * No checksum changes: all are sums over both addresses. Packets that are not IPv4 keep all but their Ethernet addresses.
 */
#include <panic.h>

/* In a packet every field is at an even address; this core loads no words from there. */
typedef struct {
    uint16_t destination[3], source[3];
    uint16_t type;
    uint16_t ip[6];
    uint16_t ip_source[2], ip_destination[2];
} headers_t;

#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define TYPE_IPV4 0x0008 /* 0x0800 as it lies in a packet */

static inline void exchange(uint16_t *a, uint16_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint16_t from_a = a[i], from_b = b[i];
        a[i] = from_b;
        b[i] = from_a;
    }
}

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        headers_t *headers = packet.data;
        if (packet.size < ETHERNET_BYTES) {
            panic_drop();
            continue;
        }
        exchange(headers->destination, headers->source, 3);
        if (headers->type == TYPE_IPV4 && packet.size >= ETHERNET_BYTES + IPV4_BYTES) {
            exchange(headers->ip_source, headers->ip_destination, 2);
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
