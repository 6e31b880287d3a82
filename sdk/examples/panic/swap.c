/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges source and destination, of Ethernet and of IPv4, and sends the packet back (PANIC, 7.4, "Swap OvS").
 *
 * No checksum changes: all are sums over both addresses. In packets that are not IPv4, only the Ethernet addresses
   change. Headers
 * lie at odd multiples of 2 bytes, so on this core the SDK's helpers move bytes.
 */
#include <panic.h>
#include <spin_net.h>

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        spin_pkt_t bytes = spin_pkt(packet.data, packet.size);
        spin_eth_t *eth = spin_eth(bytes);
        if (eth == NULL) {
            panic_drop();
            continue;
        }
        spin_eth_swap(eth);
        spin_ipv4_t *ip = spin_pkt_at(bytes, sizeof *eth, sizeof *ip);
        if (ip != NULL && spin_eth_carries(bytes, SPIN_ETH_IPV4)) {
            spin_ipv4_swap(ip);
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
