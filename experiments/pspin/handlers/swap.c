/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's UDP ping-pong: exchanges IP addresses and UDP ports, with one command; it has 26 instructions, the paper's has 27.
 * sdk/examples/udp_ping_pong.c exchanges the addresses of Ethernet too and checks the length, which takes 40 and makes
 * cores the limit at 64 bytes.
 */
#include <handler.h>

/* Offsets in a UDP packet over IPv4 without options, the only traffic of these experiments. */
#define IP_SRC 26
#define IP_DST 30
#define UDP_SRC 34
#define UDP_DST 36

static inline uint32_t *word(uint8_t *packet, uint32_t at) { return (uint32_t *)(void *)(packet + at); }
static inline uint16_t *half(uint8_t *packet, uint32_t at) { return (uint16_t *)(void *)(packet + at); }

__handler__ void swap_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint8_t *packet = task->pkt_mem;
    uint32_t src = *word(packet, IP_SRC), dst = *word(packet, IP_DST);
    *word(packet, IP_SRC) = dst;
    *word(packet, IP_DST) = src;
    uint16_t src_port = *half(packet, UDP_SRC), dst_port = *half(packet, UDP_DST);
    *half(packet, UDP_SRC) = dst_port;
    *half(packet, UDP_DST) = src_port;
#ifdef FROM_L2
    void *from = task->l2_pkt_mem; /* the packet as it arrived */
#else
    void *from = packet;
#endif
    spin_cmd_t sent;
    spin_send_packet(from, task->pkt_mem_size, &sent);
}
