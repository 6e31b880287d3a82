/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive a blockindexed type: blocks of one size at any offsets, and repetitions of such elements.
 *
 * The position of a packet gives the number of its first block; a table has the offset of each block.
 * Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_blocks.h"

__handler__ void blockindexed_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void blockindexed_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    const uint32_t *offsets = (const uint32_t *)((const uint8_t *)type + type->table);
    const uint32_t block = type->block, blocks = type->blocks, extent = type->extent;
    uint32_t index = part.at / block, in_block = part.at - index * block;
    uint32_t element = index < blocks ? 0 : index / blocks;
    uint32_t first = type->first + element * extent;
    index -= element * blocks;
    while (part.left > 0) {
        uint32_t size = MIN(part.left, block - in_block);
        spin_ddt_move(&part, first + offsets[index] + in_block, size);
        in_block = 0;
        if (++index == blocks) {
            index = 0;
            first += extent;
        }
    }
}

__handler__ void blockindexed_th(handler_args_t *args) { spin_ddt_end(args); }
