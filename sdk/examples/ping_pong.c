/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send every packet back to where it came from.
 *
 * Swaps source and destination in each header: the addresses of Ethernet, of IPv4 or IPv6, and the ports of UDP or TCP.
 * A packet without some of these headers, for example ARP, is returned too. All checksums stay valid, because swapping
 * two addends does not change a sum.
 */
#include <handler.h>
#include <spin_net.h>

__handler__ void ping_pong_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);

    spin_headers_t headers = spin_parse(pkt);

    if (headers.eth == NULL) {
        return; /* shorter than an Ethernet header: no destination */
    }
    spin_eth_swap(headers.eth);
    if (headers.ipv4 != NULL) {
        spin_ipv4_swap(headers.ipv4);
    }
    if (headers.ipv6 != NULL) {
        spin_ipv6_swap(headers.ipv6);
    }
    if (headers.udp != NULL) {
        spin_udp_swap(headers.udp);
    }
    if (headers.tcp != NULL) {
        spin_tcp_swap(headers.tcp);
    }

    /* The NIC reads the packet from L1 while this core continues; the packet is not released before it was sent. */
    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}
