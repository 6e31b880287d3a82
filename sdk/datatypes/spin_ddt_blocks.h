/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialised handling of types whose elements consist of blocks: the first block of a packet follows from the packet's
 * position, without state. Packets may begin and end within a block.
 */
#ifndef SPIN_DDT_BLOCKS_H
#define SPIN_DDT_BLOCKS_H

#include "spin_ddt.h"

/* Blocks of one size with a stride. */
typedef struct {
    uint32_t block;
    uint32_t stride;
    uint32_t blocks; /* in an element */
    uint32_t extent; /* bytes from one element to the next */
} spin_ddt_vector_t;

/* An entry of an indexed type. The entry behind the last has `begin` = element_bytes. */
typedef struct {
    uint32_t begin;  /* bytes of the element's data before this block */
    uint32_t offset; /* place of the block in host memory, from the start of the element */
} spin_ddt_entry_t;

/* A member of a struct: a vector at an offset. The member behind the last has `begin` = element_bytes. */
typedef struct {
    uint32_t begin;
    uint32_t offset;
    spin_ddt_vector_t vector;
} spin_ddt_member_t;

/*
 * Move `size` bytes of the part to or from a vector at `offset`, from byte `at` of the vector's data on. Two divisions, about
 * 30 cycles each; then 30 cycles a block.
 */
static inline void spin_ddt_move_vector(spin_ddt_part_t *part, const spin_ddt_vector_t *vector, uint32_t offset,
                                       uint32_t at, uint32_t size)
{
    const uint32_t block = vector->block, stride = vector->stride, blocks = vector->blocks;
    uint32_t index = at / block, in_block = at - index * block, in_element = index;
    if (index >= blocks) {
        uint32_t element = index / blocks;
        offset += element * vector->extent;
        in_element = index - element * blocks;
    }
    uint32_t to = offset + in_element * stride;
    if (in_block != 0) { /* the rest of a block that began in an earlier packet */
        uint32_t piece = MIN(size, block - in_block);
        spin_ddt_move(part, to + in_block, piece);
        size -= piece;
        to += stride;
        in_element++;
    }
    for (;; to += stride, in_element++) {
        if (in_element == blocks) {
            in_element = 0;
            offset += vector->extent;
            to = offset;
        }
        if (size < block) {
            break;
        }
        spin_ddt_move(part, to, block);
        size -= block;
    }
    if (size > 0) { /* the start of a block that ends in a later packet */
        spin_ddt_move(part, to, size);
    }
}

/* Index of the last of `count` words, `step` apart, that is at most `at`. Binary search: about 12 cycles a step. */
static inline uint32_t spin_ddt_search(const uint32_t *begins, uint32_t step, uint32_t count, uint32_t at)
{
    uint32_t low = 0;
    while (count > 1) {
        uint32_t half = count / 2;
        low = begins[(low + half) * step] <= at ? low + half : low;
        count -= half;
    }
    return low;
}

#endif
