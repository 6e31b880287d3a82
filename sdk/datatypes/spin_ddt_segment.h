/* SPDX-License-Identifier: Apache-2.0 */
/*
 * General handling of types: loops, and segments that walk over them.
 *
 * A type is a tree of loops. A loop is a row of blocks, a block is a row of elements, and an element is another loop.
 * The blocks of innermost loops are bytes. A segment is a position in the message: the current block and element of
 * each loop, from the outermost to the innermost. Segments walk forward only. To skip bytes, they step over whole
 * elements and blocks: with a division where these have one size, one by one where a table has their sizes.
 *
 * A segment depends on the type only, so the same segment is valid for all messages and slots.
 */
#ifndef SPIN_DDT_SEGMENT_H
#define SPIN_DDT_SEGMENT_H

#include "spin_ddt.h"

/* Kinds of loops. */
enum {
    SPIN_DDT_CONTIG,       /* one block */
    SPIN_DDT_VECTOR,       /* blocks of one length, with a stride */
    SPIN_DDT_BLOCKINDEXED, /* blocks of one length; a table has their offsets */
    SPIN_DDT_INDEXED,      /* a table has offset and length of each block */
    SPIN_DDT_STRUCT,       /* a table has a spin_ddt_block_t for each block */
};

/* A block: `count` elements, `extent` bytes from one to the next. Without a loop it is `count` bytes. */
typedef struct {
    uint32_t offset; /* in the element to which the loop belongs */
    uint32_t count;
    uint32_t loop;   /* the loop of its elements; 0 if it is bytes */
    uint32_t extent; /* bytes from one element to the next */
    uint32_t size;   /* data of an element, bytes */
} spin_ddt_block_t;

typedef struct {
    uint32_t kind;
    uint32_t n_blocks;
    uint32_t stride; /* stride of a vector, bytes */
    uint32_t table;
    spin_ddt_block_t block; /* the first block; the kind says how the others differ */
} spin_ddt_loop_t;

typedef struct {
    uint32_t loop;
    uint32_t block;   /* the current one */
    uint32_t element; /* of the block */
    uint32_t base;    /* where the loop's element begins in the slot */
} spin_ddt_level_t;

typedef struct {
    uint32_t at;   /* position in the message */
    uint32_t top;  /* the innermost level in use */
    uint32_t done; /* bytes before the position in its block of bytes */
    uint32_t is_valid;
    spin_ddt_level_t levels[];
} spin_ddt_segment_t;

static inline const spin_ddt_loop_t *spin_ddt_loop(const spin_ddt_t *type, uint32_t loop)
{
    return (const spin_ddt_loop_t *)((const uint8_t *)type + loop);
}

/* A block of a loop. 10 to 20 cycles. */
static inline spin_ddt_block_t spin_ddt_block(const spin_ddt_t *type, const spin_ddt_loop_t *loop, uint32_t index)
{
    spin_ddt_block_t block = loop->block;
    const uint32_t *table = (const uint32_t *)((const uint8_t *)type + loop->table);
    switch (loop->kind) {
    case SPIN_DDT_CONTIG:
        break;
    case SPIN_DDT_VECTOR:
        block.offset += index * loop->stride;
        break;
    case SPIN_DDT_BLOCKINDEXED:
        block.offset = table[index];
        break;
    case SPIN_DDT_INDEXED:
        block.offset = table[2 * index];
        block.count = table[2 * index + 1];
        break;
    default:
        block = ((const spin_ddt_block_t *)table)[index];
    }
    return block;
}

/*
 * From the level's current block on, step over the blocks that lie in the next `left` bytes; returns the bytes that are
 * left. One division if the blocks have one size, otherwise about 10 cycles a block. The level may then be behind its
 * last block.
 */
static inline uint32_t spin_ddt_step(const spin_ddt_t *type, spin_ddt_level_t *level, uint32_t left)
{
    const spin_ddt_loop_t *loop = spin_ddt_loop(type, level->loop);
    uint32_t index = level->block;
    const uint32_t n_blocks = loop->n_blocks;
    if (loop->kind < SPIN_DDT_INDEXED) {
        uint32_t bytes = loop->block.count * loop->block.size;
        if (left >= bytes && index < n_blocks) {
            uint32_t steps = MIN(left / bytes, n_blocks - index);
            index += steps;
            left -= steps * bytes;
        }
    } else {
        const uint32_t *table = (const uint32_t *)((const uint8_t *)type + loop->table);
        const bool is_struct = loop->kind == SPIN_DDT_STRUCT;
        const uint32_t words = is_struct ? sizeof(spin_ddt_block_t) / sizeof(uint32_t) : 2;
        for (const uint32_t *entry = table + index * words; index < n_blocks; index++, entry += words) {
            uint32_t bytes = entry[1] * (is_struct ? entry[4] : loop->block.size);
            if (left < bytes) {
                break;
            }
            left -= bytes;
        }
    }
    level->block = index;
    return left;
}

/*
 * Go down from the top level's current element to the block of bytes that is `left` bytes further. The current block
 * has more than `left` bytes of data. About 30 cycles a level.
 */
static inline void spin_ddt_descend(const spin_ddt_t *type, spin_ddt_segment_t *segment, uint32_t left)
{
    spin_ddt_level_t *level = &segment->levels[segment->top];
    for (;;) {
        spin_ddt_block_t block = spin_ddt_block(type, spin_ddt_loop(type, level->loop), level->block);
        if (block.loop == 0) {
            segment->done = left;
            return;
        }
        if (left >= block.size) {
            uint32_t steps = left / block.size;
            level->element += steps;
            left -= steps * block.size;
        }
        level[1] = (spin_ddt_level_t){block.loop, 0, 0, level->base + block.offset + level->element * block.extent};
        level++;
        segment->top++;
        if (left > 0) {
            left = spin_ddt_step(type, level, left);
        }
    }
}

/*
 * From the end of the innermost block, go to the block of bytes that is `left` bytes further. Not for the end of the
 * message. About 30 cycles for each loop that ends.
 */
static inline SPIN_DDT_NOINLINE void spin_ddt_next(const spin_ddt_t *type, spin_ddt_segment_t *segment, uint32_t left)
{
    spin_ddt_level_t *level = &segment->levels[segment->top];
    level->block++;
    for (;;) {
        if (left > 0) {
            left = spin_ddt_step(type, level, left);
        }
        if (level->block < spin_ddt_loop(type, level->loop)->n_blocks) {
            break;
        }
        level--;
        segment->top--;
        spin_ddt_block_t block = spin_ddt_block(type, spin_ddt_loop(type, level->loop), level->block);
        uint32_t bytes = (block.count - ++level->element) * block.size;
        if (left < bytes) {
            break;
        }
        left -= bytes;
        level->element = 0;
        level->block++;
    }
    spin_ddt_descend(type, segment, left);
}

/* Walk over the next `size` bytes without moving them; they end before the end of the message. */
static inline void spin_ddt_skip(const spin_ddt_t *type, spin_ddt_segment_t *segment, uint32_t size)
{
    if (size == 0) {
        return;
    }
    const spin_ddt_level_t *level = &segment->levels[segment->top];
    uint32_t in_block = spin_ddt_block(type, spin_ddt_loop(type, level->loop), level->block).count - segment->done;
    segment->at += size;
    if (size <= in_block) {
        segment->done += size; /* perhaps to the end of the block: the next one is looked up when it is needed */
    } else {
        spin_ddt_next(type, segment, size - in_block);
    }
}

/* Move the part, which begins at the segment's position. About 50 cycles a block. */
static inline void spin_ddt_process(const spin_ddt_t *type, spin_ddt_segment_t *segment, spin_ddt_part_t *part)
{
    segment->at += part->left;
    while (part->left > 0) {
        spin_ddt_level_t *level = &segment->levels[segment->top];
        const spin_ddt_loop_t *loop = spin_ddt_loop(type, level->loop);
        spin_ddt_block_t block = spin_ddt_block(type, loop, level->block);
        uint32_t done = segment->done;
        if (done == block.count) {
            spin_ddt_next(type, segment, 0);
            continue;
        }
        /* Move the blocks of this loop, with all values in registers. */
        const uint32_t *entry = (const uint32_t *)((const uint8_t *)type + loop->table);
        const uint32_t kind = loop->kind, stride = loop->stride, base = level->base, n_blocks = loop->n_blocks;
        uint32_t index = level->block, to = base + block.offset, count = block.count;
        entry += kind == SPIN_DDT_INDEXED ? 2 * index : index;
        for (;;) {
            uint32_t size = MIN(part->left, count - done);
            spin_ddt_move(part, to + done, size);
            done += size;
            if (part->left == 0 || kind == SPIN_DDT_STRUCT || index + 1 == n_blocks) {
                break;
            }
            done = 0;
            index++;
            if (kind == SPIN_DDT_VECTOR) {
                to += stride;
            } else if (kind == SPIN_DDT_BLOCKINDEXED) {
                to = base + *++entry;
            } else {
                entry += 2;
                to = base + entry[0];
                count = entry[1];
            }
        }
        level->block = index;
        segment->done = done;
    }
}

/* Start a segment from a checkpoint: a load and a store for each word; 4 words, and 4 for each open loop. */
static inline void spin_ddt_restore(spin_ddt_segment_t *segment, const spin_ddt_segment_t *checkpoint)
{
    uint32_t top = checkpoint->top;
    segment->at = checkpoint->at;
    segment->top = top;
    segment->done = checkpoint->done;
    segment->is_valid = 1;
    for (uint32_t level = 0; level <= top; level++) {
        segment->levels[level] = checkpoint->levels[level];
    }
}

/* Checkpoint `index` of the type, in this cluster's scratchpad. */
static inline const spin_ddt_segment_t *spin_ddt_checkpoint(const spin_ddt_t *type, uint32_t index)
{
    return (const spin_ddt_segment_t *)((const uint8_t *)type + type->checkpoints + index * type->segment_bytes);
}

/* Segment `index` of this core, in this cluster's scratchpad. */
static inline spin_ddt_segment_t *spin_ddt_own_segment(const handler_args_t *args, const spin_ddt_t *type,
                                                       uint32_t index)
{
    uint8_t *l1 = (uint8_t *)args->task->scratchpad[args->cluster_id];
    return (spin_ddt_segment_t *)(l1 + type->work + args->hpu_id * type->work_bytes + index * type->segment_bytes);
}

#endif
