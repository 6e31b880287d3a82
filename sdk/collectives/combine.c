/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combine: applies an operator of spin_reduce.h to two vectors in a packet, and returns the result to the sender.
 *
 * The data of a packet (spin_data.h defines their place) are the vectors a and b, of equal length. The reply has a op b
 * in place of a. Tests and measurements of the operators use this handler.
 *
 * Build it with -DTYPE=SPIN_FLOAT16 -DOP=SPIN_PROD, or another type and operator.
 * Memory: the packet in L1 only. Cost: about 60 cycles, plus the cycles of the operator.
 *
 *     spinet run sdk/collectives/combine.c --traffic 'udp:size=1068,count=100,payload=random' -D TYPE=SPIN_INT8
 */
#include <handler.h>
#include <spin_data.h>
#include "spin_reduce.h"

#ifndef TYPE
#define TYPE SPIN_FLOAT32
#endif
#ifndef OP
#define OP SPIN_SUM
#endif

__handler__ void combine_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    const uint32_t bytes = data.size / 16 * 8;
#ifndef EMPTY /* the difference in cycles is the cost of the operator */
    spin_reduce(TYPE, OP, data.data, data.data, data.data + bytes, bytes);
#endif
    spin_data_udp(task)->checksum = 0;
    spin_data_turn_round(task);
    spin_cmd_t sent;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}
