/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive an indexed type: blocks of any sizes at any offsets, and repetitions of such elements.
 *
 * A table says for each block where its data begins in the element and where it goes. A binary search finds the first
 * block of a packet. Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_blocks.h"

__handler__ void indexed_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void indexed_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    const spin_ddt_entry_t *entries = (const spin_ddt_entry_t *)((const uint8_t *)type + type->table);
    const uint32_t blocks = type->blocks, element_bytes = type->element_bytes;
    uint32_t element = part.at < element_bytes ? 0 : part.at / element_bytes;
    uint32_t at = part.at - element * element_bytes, first = type->first + element * type->extent;
    uint32_t index = spin_ddt_search(&entries->begin, sizeof *entries / sizeof(uint32_t), blocks, at);
    uint32_t in_block = at - entries[index].begin;
    while (part.left > 0) {
        uint32_t size = entries[index + 1].begin - entries[index].begin - in_block;
        spin_ddt_move(&part, first + entries[index].offset + in_block, MIN(part.left, size));
        in_block = 0;
        if (++index == blocks) {
            index = 0;
            first += type->extent;
        }
    }
}

__handler__ void indexed_th(handler_args_t *args) { spin_ddt_end(args); }
