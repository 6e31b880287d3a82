/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP ping-pong without checks: swaps addresses and ports at their fixed offsets in a UDP packet over IPv4.
 *
 * ping_pong.c looks at every header first. Here the context's match did (`udp && ipv4.header_words == 5`), so this is the
 * lowest cost of an answer. It shows the cost of sending a packet, and if L1 or L2 delivers it faster.
 *
 * Memory: the packet in L1. With -DFROM_L2 the NIC reads the unchanged packet from L2 packet memory: a word written
 * there costs 20 cycles, so the swap stays in L1, and the sent packet is not swapped.
 * Cost: 40 instructions, 7 of them the command. Packets of PsPIN's drivers (-DSPIN_PSPIN_PACKETS) have no Ethernet: 31.
 */
#include <handler.h>
#include <spin_data.h>

__handler__ void udp_ping_pong_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    if (task->pkt_mem_size < SPIN_DATA_OFFSET) {
        return;
    }
    spin_data_turn_round(task);
#ifdef FROM_L2
    void *packet = task->l2_pkt_mem;
#else
    void *packet = task->pkt_mem;
#endif
    spin_cmd_t sent;
    spin_send_packet(packet, task->pkt_mem_size, &sent);
}
