/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send every packet back to where it came from.
 *
 * Each header that the packet has is turned round: the addresses of Ethernet, of IPv4 or IPv6, and the ports of UDP or TCP.
 * A packet without some of them, ARP for example, has the others turned round and goes back too. All checksums stay
 * valid: they are sums, and exchanging two addends changes no sum.
 */
#include <handler.h>
#include <spin_net.h>

__handler__ void ping_pong_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);

    /* Look first, then write: the compiler then reads each field once. */
    spin_eth_t *eth = spin_eth(pkt);
    spin_ipv4_t *ipv4 = spin_ipv4(pkt);
    spin_ipv6_t *ipv6 = spin_ipv6(pkt);
    spin_udp_t *udp = spin_udp(pkt);
    spin_tcp_t *tcp = spin_tcp(pkt);

    if (eth == NULL) {
        return; /* shorter than an Ethernet header: nobody to send it to */
    }
    spin_eth_swap(eth);
    if (ipv4 != NULL) {
        spin_ipv4_swap(ipv4);
    }
    if (ipv6 != NULL) {
        spin_ipv6_swap(ipv6);
    }
    if (udp != NULL) {
        spin_udp_swap(udp);
    }
    if (tcp != NULL) {
        spin_tcp_swap(tcp);
    }

    /* The NIC reads the packet from L1 while this core goes on; the packet is not released before it is out. */
    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}
