/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive a struct: members of different types, each a vector, and repetitions of such structs.
 *
 * A table says where each member's data begins. A binary search finds the first member of a packet, and the member is
 * then received as a vector. Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_blocks.h"

__handler__ void struct_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void struct_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    const spin_ddt_member_t *members = (const spin_ddt_member_t *)((const uint8_t *)type + type->table);
    const uint32_t count = type->blocks, element_bytes = type->element_bytes;
    uint32_t element = part.at < element_bytes ? 0 : part.at / element_bytes;
    uint32_t at = part.at - element * element_bytes, first = type->first + element * type->extent;
    uint32_t index = spin_ddt_search(&members->begin, sizeof *members / sizeof(uint32_t), count, at);
    while (part.left > 0) {
        const spin_ddt_member_t *member = &members[index];
        uint32_t size = MIN(part.left, member[1].begin - at);
        spin_ddt_move_vector(&part, &member->vector, first + member->offset, at - member->begin, size);
        at += size;
        if (++index == count) {
            index = 0;
            at = 0;
            first += type->extent;
        }
    }
}

__handler__ void struct_th(handler_args_t *args) { spin_ddt_end(args); }
