/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP echo with FPsPIN's counters: swaps addresses and ports, and sends the packet back. With -DDO_HOST the packet
 * first goes to the host, which returns it unchanged.
 *
 * Counter 0: cycles of the handler, without reading the time. Counter 1: cycles of the visit to the host. Counter 2 on
 * FPsPIN: cycles of reading the time. Here counter 2 only causes the same two atomic additions within the handler.
 *
 * The context's rules select UDP over IPv4 without options, so the handler checks only that the packet has all headers.
 */
#include "fpspin.h"

typedef struct __attribute__((__packed__)) {
    spin_eth_t eth;
    spin_ipv4_t ip;
    spin_udp_t udp;
} headers_t;

__handler__ void udp_echo_ph(handler_args_t *args)
{
    if (args->task->pkt_mem_size < sizeof(headers_t)) { /* not timed, because FPsPIN's handler does not check */
        return;
    }
    uint32_t start = spin_now32();
    fpspin_count(args, 2, 1);

    task_t *task = args->task;
    headers_t *headers = (headers_t *)task->pkt_mem;
    uint16_t size = (uint16_t)task->pkt_mem_size;
    spin_eth_swap(&headers->eth);
    spin_ipv4_swap(&headers->ip);
    spin_udp_swap(&headers->udp);
#ifdef DO_HOST
    if (fpspin_has_host(args)) {
        uint32_t leaves = spin_now32();
        size = (uint16_t)fpspin_offload(args, headers, size);
        fpspin_count(args, 1, spin_now32() - leaves);
    }
#endif
    spin_cmd_t sent;
    spin_send_packet(headers, size, &sent);
    spin_cmd_wait(sent);

    uint32_t end = spin_now32();
    fpspin_count(args, 0, end - start);
}
