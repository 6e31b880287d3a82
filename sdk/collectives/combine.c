/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combine: a packet brings two vectors and gets back their combination by an operator of spin_reduce.h.
 *
 * The data of a packet (spin_data.h says where) is the vectors a and b, of equal length. The answer has a op b in the
 * place of a, and goes back to the sender. This is the handler with which the operators are tested and measured.
 *
 * Build it with -DTYPE=SPIN_FLOAT16 -DOP=SPIN_PROD, or another type and operator.
 * Memory: the packet in L1 only. Cost: about 60 cycles, and those of the operator.
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
#ifndef EMPTY /* the difference is the cost of the operator */
    spin_reduce(TYPE, OP, data.data, data.data, data.data + bytes, bytes);
#endif
    spin_data_udp(task)->checksum = 0;
    spin_data_turn_round(task);
    spin_cmd_t sent;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}
