/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive a vector: blocks of one size with a stride, and repetitions of such vectors.
 *
 * The position of a packet in the message gives its first block; no state is needed, so any core can take any packet.
 * Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_blocks.h"

__handler__ void vector_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void vector_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    const spin_ddt_vector_t vector = {type->block, type->stride, type->blocks, type->extent};
    spin_ddt_move_vector(&part, &vector, type->first, part.at, part.left);
}

__handler__ void vector_th(handler_args_t *args) { spin_ddt_end(args); }
