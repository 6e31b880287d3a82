/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer pings on the NIC: the host never sees them.
 *
 * An echo request becomes a reply by swapping its addresses and changing one byte, the type (RFC 792, RFC 4443). The
 * ICMP checksum follows that byte; on IPv6 it also covers the addresses, whose exchange does not change it. All other
 * packets are released unanswered, so match on ICMP: `--match icmp`.
 */
#include <handler.h>
#include <spin_net.h>

/* Change the type and let the checksum follow. Type and code are one half of the sum, the type at the lower address. */
static void set_type(spin_icmp_t *icmp, uint8_t type)
{
    spin_be16_t before = (spin_be16_t)(icmp->code << 8 | icmp->type);
    spin_be16_t after = (spin_be16_t)(icmp->code << 8 | type);
    icmp->checksum = spin_checksum_update16(icmp->checksum, before, after);
    icmp->type = type;
}

__handler__ void icmp_echo_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    spin_headers_t headers = spin_parse(pkt);
    spin_icmp_t *icmp = headers.icmp;

    if (icmp == NULL || icmp->code != 0) {
        return;
    }
    if (headers.ipv4 != NULL && icmp->type == SPIN_ICMP_ECHO_REQUEST) {
        spin_ipv4_swap(headers.ipv4);
        set_type(icmp, SPIN_ICMP_ECHO_REPLY);
    } else if (headers.ipv6 != NULL && icmp->type == SPIN_ICMPV6_ECHO_REQUEST) {
        spin_ipv6_swap(headers.ipv6);
        set_type(icmp, SPIN_ICMPV6_ECHO_REPLY);
    } else {
        return;
    }
    spin_eth_swap(headers.eth);

    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}
