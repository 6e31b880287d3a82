/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ICMP echo that computes the checksum over the whole message, with FPsPIN's counters (see udp_echo.c).
 *
 * Without options the HPU reads the message byte by byte, as FPsPIN did in 2023. -DHALVES reads 16 bits at a time, with
 * the SDK's sum; FPsPIN did so in 2024 with a plain loop. With -DDO_HOST the host computes the checksum.
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
/* The sum of big-endian halves, which are read byte by byte. Each carry is added immediately. */
static uint16_t checksum(const void *message, uint32_t size)
{
    const uint8_t *byte = (const uint8_t *)message;
    uint32_t sum = 0xffff;
    for (uint32_t i = 0; i + 1 < size; i += 2) {
        sum += (uint32_t)byte[i] << 8 | byte[i + 1];
        if (sum > 0xffff) {
            sum -= 0xffff;
        }
    }
    if (size % 2 != 0) {
        sum += (uint32_t)byte[size - 1] << 8;
        if (sum > 0xffff) {
            sum -= 0xffff;
        }
    }
    return spin_htons((uint16_t)~sum);
}
#endif

__handler__ void icmp_echo_ph(handler_args_t *args)
{
    uint32_t start = spin_now32();
    fpspin_count(args, 2, 1);

    task_t *task = args->task;
    headers_t *headers = (headers_t *)task->pkt_mem;
    uint32_t size = task->pkt_mem_size;
    spin_eth_swap(&headers->eth);
    spin_ipv4_swap(&headers->ip);
#ifdef DO_HOST
    (void)checksum;
    uint32_t leaves = spin_now32();
    size = fpspin_offload(args, headers, size);
    fpspin_count(args, 1, spin_now32() - leaves);
#else
    uint32_t length = spin_ntohs(headers->ip.total_length);
    headers->icmp.type = SPIN_ICMP_ECHO_REPLY;
    headers->icmp.checksum = 0;
    headers->icmp.checksum = checksum(&headers->icmp, length - sizeof headers->ip);
    size = length + sizeof headers->eth;
#endif
    spin_cmd_t sent;
    spin_send_packet(headers, size, &sent);
    spin_cmd_wait(sent);

    uint32_t end = spin_now32();
    fpspin_count(args, 0, end - start);
}
