/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ICMP echo that computes the checksum over the whole message, with FPsPIN's counters (see udp_echo.c).
 *
 * Without options the HPU turns each 16 bits into the host's order and adds the carry immediately, as FPsPIN did in 2023.
 * -DHALVES adds them as they are, with the SDK's sum; FPsPIN did so in 2024 with a plain loop. With -DDO_HOST the host
 * computes the checksum.
 *
 * A NIC would rather update the checksum (sdk/examples/icmp_echo.c); this program does the same work as FPsPIN's.
 */
#include "fpspin.h"

typedef struct __attribute__((__packed__)) {
    spin_eth_t eth;
    spin_ipv4_t ip;
    spin_icmp_t icmp;
} headers_t;

#ifdef HALVES
static uint16_t checksum(const void *message, uint32_t size) { return spin_fold(spin_sum(0, message, size)); }
#else
/* The sum of halves in the order of the network. Each carry is added immediately. */
static uint16_t checksum(const void *message, uint32_t size)
{
    const spin_be16_t *half = message, *end = half + size / 2;
    uint32_t sum = 0xffff;
    for (; half < end; half++) {
        sum += spin_ntohs(*half);
        if (sum > 0xffff) {
            sum -= 0xffff;
            __asm__ volatile(""); /* keeps the branch, which gcc keeps by itself and clang does not */
        }
    }
    if (size % 2 != 0) {
        sum += (uint32_t)*(const uint8_t *)end << 8;
        if (sum > 0xffff) {
            sum -= 0xffff;
        }
    }
    return spin_htons((uint16_t)~sum);
}
#endif

__handler__ void icmp_echo_ph(handler_args_t *args)
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
#ifdef DO_HOST
    const bool on_host = fpspin_has_host(args);
#else
    const bool on_host = false;
#endif
    if (on_host) {
        uint32_t leaves = spin_now32();
        size = (uint16_t)fpspin_offload(args, headers, size);
        fpspin_count(args, 1, spin_now32() - leaves);
    } else {
        uint32_t length = MIN(spin_ntohs(headers->ip.total_length), size - sizeof headers->eth);
        if (length < sizeof headers->ip + sizeof headers->icmp) {
            return;
        }
        headers->icmp.type = SPIN_ICMP_ECHO_REPLY;
        headers->icmp.checksum = 0;
        headers->icmp.checksum = checksum(&headers->icmp, length - sizeof headers->ip);
        size = (uint16_t)(length + sizeof headers->eth);
    }
    spin_cmd_t sent;
    spin_send_packet(headers, size, &sent);
    spin_cmd_wait(sent);

    uint32_t end = spin_now32();
    fpspin_count(args, 0, end - start);
}
