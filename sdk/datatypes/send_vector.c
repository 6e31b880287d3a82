/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send a vector: blocks of one size with a stride, and repetitions of such vectors.
 *
 * The position of a packet in the message gives its first block, as for the receiver (vector.c).
 * Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_send.h"

#include "spin_ddt_blocks.h"

static void send(const handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_ordered(args, type, &part)) {
        return;
    }
    const spin_ddt_vector_t vector = {type->block, type->stride, type->blocks, type->extent};
    spin_ddt_move_vector(&part, &vector, type->first, part.at, part.left);
    spin_ddt_send(args, type, &part);
}

__handler__ void send_vector_hh(handler_args_t *args)
{
    spin_ddt_begin(args);
    if (spin_ddt_place(args->task) == SPIN_DDT_FIRST) {
        send(args);
    }
}

__handler__ void send_vector_ph(handler_args_t *args)
{
    if (spin_ddt_place(args->task) == 0) {
        send(args);
    }
}

__handler__ void send_vector_th(handler_args_t *args)
{
    send(args);
    spin_ddt_end(args);
}
